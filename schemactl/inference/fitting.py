"""Shortens names beyond a destination's limit, from the data's keys.

A full name cannot just be cut: dlt puts a hash of the *key* into the middle of a shortened name, and only evidence
knows the keys. Tables and columns without data are named as dlt names a schema file's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from schemactl.inference.identifiers import Identifiers
from schemactl.inference.relational import LIST_KEY
from schemactl.schema.judgment import base_of
from schemactl.schema.naming import naming_of
from schemactl.schema.paths import ELEMENT, Path, format_path
from schemactl.schema.renames import RENAMED_FROM, origins
from schemactl.schema.settings import NormalizerConfig, with_propagation_tables
from schemactl.schema.types import Column, Properties, Schema, Table

_Named = TypeVar("_Named", Table, Column)

Name = tuple[str, str | None]
"""A table, or one of its columns."""


@dataclass(frozen=True, slots=True)
class DataPaths:
    """The values of a load: its root table as the user names it, all paths, and names for colliding paths."""

    table: str
    paths: Iterable[Path]
    renamed: Mapping[Path, str]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A schema whose names all fit; renamed tables and columns record their old name (``x-renamed-from``).

    ``renamed`` has columns by the old name of their table; a ``max_length`` in characters of None sets no limit.
    """

    schema: Schema
    renamed: Mapping[Name, str]
    max_length: int | None


def fit_names(schema: Schema, data: DataPaths, max_length: int | None) -> Fitted:
    """Give tables and columns with names past a length the names that the data's keys have under that limit.

    A column and its own shortened twin become one column with the properties of both. A schema that was made for a
    destination with a lower limit keeps that limit.
    """
    limit = _find_limit(schema, data, max_length)
    if not limit or not any(_long_names(schema, limit)):
        return Fitted(schema, {}, limit)
    old, new = _identifiers(schema, data, None), _identifiers(schema, data, limit)
    data_names: dict[Name, str] = {}
    roots = old.table(data.table), new.table(data.table)
    for path in sorted(data.paths, key=format_path):
        table, column = place(path, roots[0], old)
        new_table, new_column = place(path, roots[1], new)
        data_names.setdefault((table, None), new_table)
        data_names.setdefault((table, column), new_column)
    renamed = _new_names(schema, limit, data_names)
    return Fitted(with_names(schema, renamed), renamed, limit)


def with_names(schema: Schema, renamed: Mapping[Name, str]) -> Schema:
    """Return a schema with new names of tables and columns, which record the old names (``x-renamed-from``).

    Columns are renamed by the old name of their table.
    """
    renamed_tables = {table.name: _renamed_table(table, renamed) for table in schema.tables.values()}
    normalizers = _with_propagation(schema.normalizers, renamed)
    tables = _twins_joined(
        renamed_tables,
        lambda less, more: Table(more.name, {**less.columns, **more.columns}, _joined_properties(less, more)),
    )
    return replace(schema, tables=tables, normalizers=normalizers)


def _find_limit(schema: Schema, data: DataPaths, max_length: int | None) -> int | None:
    """Return the limit that stored names were cut to, if a name comes from a key of the data; else ``max_length``.

    dlt cuts a name to exactly the limit and includes a hash of the key, so no other name looks like a cut one.
    """
    longest = max(len(name) for table in schema.tables.values() for name in (table.name, *table.columns))
    if max_length is not None and longest >= max_length:
        return max_length
    unlimited, limited = _identifiers(schema, data, None), _identifiers(schema, data, longest)
    root = unlimited.table(data.table)
    for path in data.paths:
        table, column = place(path, root, unlimited)
        if max(len(table), len(column)) > longest:
            cut_table, cut_column = place(path, limited.table(data.table), limited)
            stored = schema.tables.get(cut_table)
            if stored is not None and (len(table) > longest or cut_column in stored.columns):
                return longest
    return max_length


def _identifiers(schema: Schema, data: DataPaths, max_length: int | None) -> Identifiers:
    return Identifiers(naming_of(schema, max_length), NormalizerConfig.of(schema.normalizers), data.renamed)


def without_long_names(schema: Schema, max_length: int | None) -> Schema:
    """Return a schema without the tables and columns whose names do not fit."""
    if not max_length or not any(_long_names(schema, max_length)):
        return schema
    tables = {
        name: replace(table, columns={key: column for key, column in table.columns.items() if len(key) <= max_length})
        for name, table in schema.tables.items()
        if len(name) <= max_length
    }
    return replace(schema, tables=tables)


def _long_names(schema: Schema, max_length: int) -> Iterator[str]:
    for table in schema.tables.values():
        yield from (name for name in (table.name, *table.columns) if len(name) > max_length)


def place(path: Path, root: str, identifiers: Identifiers) -> tuple[str, str]:
    """Return the table and the column that scalars at a path go to."""
    tables: tuple[str, ...] = (root,)
    parts: tuple[str, ...] = ()
    for index, key in enumerate(path):
        source = path[: index + 1]
        if key is not ELEMENT:
            parts = (*parts, identifiers.column_part(key, source))
        elif index and (name := path[index - 1]) is not ELEMENT:
            tables, parts = (*tables, *parts[:-1], identifiers.table_part(name, path[:index])), ()
        else:
            tables, parts = (*tables, identifiers.table_part(LIST_KEY, path[:index])), ()
    column = identifiers.join(*parts) if len(parts) > 1 else next(iter(parts), identifiers.system.value)
    return identifiers.join(*tables), column


def _new_names(schema: Schema, max_length: int, of_data: Mapping[Name, str]) -> dict[Name, str]:
    """Return the new names of too long tables and columns of a schema, by the old names."""
    unlimited, limited = naming_of(schema), naming_of(schema, max_length)

    def column_name(table: Table, column: Column) -> str:
        if data_name := of_data.get((table.name, column.name)):
            return data_name
        base = base_of(column, table, unlimited) if column.is_variant else None
        if base is None:
            return limited.normalize_path(column.name)
        # A variant is named by the name of its column, as it is in the table.
        ending = column.name.removeprefix(base.name).removeprefix(unlimited.path_separator)
        return limited.shorten_fragments(
            base.name if len(base.name) <= max_length else column_name(table, base), ending
        )

    renamed: dict[Name, str] = {}
    for table in schema.tables.values():
        if len(table.name) > max_length:
            data_name = of_data.get((table.name, None))
            renamed[table.name, None] = data_name or limited.normalize_tables_path(table.name)
        long = (column for column in table.columns.values() if len(column.name) > max_length)
        renamed.update({(table.name, column.name): column_name(table, column) for column in long})
    return renamed


def _renamed_table(table: Table, renamed: Mapping[Name, str]) -> Table:
    columns = {}
    for old, column in table.columns.items():
        new = renamed.get((table.name, old), old)
        columns[old] = column if new == old else Column(new, _with_origin(column.properties, old, new))
    properties = dict(table.properties)
    if table.parent is not None:
        properties["parent"] = renamed.get((table.parent, None), table.parent)
    if references := properties.get("references"):
        properties["references"] = [_renamed_reference(table.name, reference, renamed) for reference in references]
    name = renamed.get((table.name, None), table.name)
    named_properties = properties if name == table.name else _with_origin(properties, table.name, name)
    joined = _twins_joined(columns, lambda less, more: Column(more.name, _joined_properties(less, more)))
    return Table(name, joined, named_properties)


def _renamed_reference(table: str, reference: Mapping[str, Any], renamed: Mapping[Name, str]) -> dict[str, Any]:
    other = str(reference.get("referenced_table"))
    sides = (("columns", table), ("referenced_columns", other))
    columns = {key: [renamed.get((owner, name), name) for name in reference.get(key) or ()] for key, owner in sides}
    return {**reference, **columns, "referenced_table": renamed.get((other, None), other)}


def _with_origin(properties: Properties, old: str, new: str) -> Properties:
    """Return properties that record an earlier name, so that ``migrate`` renames tables and columns."""
    earlier = [old, *(name for name in origins(properties) if name not in (old, new))]
    return {**properties, RENAMED_FROM: earlier[0] if len(earlier) == 1 else earlier}


def _twins_joined(items: Mapping[str, _Named], join: Callable[[_Named, _Named], _Named]) -> dict[str, _Named]:
    """Return tables or columns by their new names, joining items that get the same name; ``items`` has old names."""
    joined: dict[str, _Named] = {}
    for old, item in items.items():
        twin = joined.get(item.name)
        if twin is None:
            joined[item.name] = item
        else:
            joined[item.name] = join(twin, item) if old == item.name else join(item, twin)
    return joined


def _joined_properties(less: Table | Column, more: Table | Column) -> Properties:
    # Both exist, so neither is the other's former name.
    return {**{key: value for key, value in less.properties.items() if key != RENAMED_FROM}, **more.properties}


def _with_propagation(normalizers: Properties, renamed: Mapping[Name, str]) -> Properties:
    """Return the section of normalizers with new names of tables and columns that are copied down."""
    stored_tables = NormalizerConfig.of(normalizers).propagation_tables
    tables = {}
    for table, columns in stored_tables.items():
        renamed_columns = {renamed.get((table, column), column): target for column, target in columns.items()}
        tables[renamed.get((table, None), table)] = renamed_columns
    return normalizers if tables == stored_tables else with_propagation_tables(normalizers, tables)
