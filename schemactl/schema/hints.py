"""A user's hints of tables and columns, from the command line and from files, before there is data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import yaml

from schemactl.errors import InputError, nearest_or_all
from schemactl.schema.contract import PROMOTION_HINT, Promotion, system_prefix
from schemactl.schema.full_types import SIZED
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import Column, DataType, Properties, Schema, Table

FLAGS: Final = (
    *("primary_key", "merge_key", "unique", "partition", "cluster", "sort", "incremental", "hard_delete"),
    *("row_key", "parent_key", "root_key"),
)

_TYPE = re.compile(r"(?P<name>[a-z]+)(?:\((?P<precision>\d+)(?:,\s*(?P<scale>\d+))?\))?")
_COMMA = re.compile(r",(?![^()\[\]{}]*[)\]}])")
_SIZES: Final = ("precision", "scale")
_EXAMPLE: Final = "for example `id:bigint,primary_key` or `lines.price:decimal(10,2),not_null`"


@dataclass(frozen=True, slots=True)
class ColumnHint:
    """The hints of a column.

    Attributes:
        table: the table, possibly named without its parents; None for the root table of the data.
        is_whole_type: whether a type without a size removes the column's size; otherwise a known size stays.
    """

    table: str | None
    name: str
    properties: Properties
    is_whole_type: bool = False


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints of single columns (the last one counts) and of a whole file, which they override."""

    columns: tuple[ColumnHint, ...] = ()
    write_disposition: str | None = None
    schema: Schema | None = None


def parse_column(text: str) -> ColumnHint:
    """Return the hint of ``NAME:TYPE,HINT,...`` or ``TABLE.NAME:...``.

    >>> parse_column("lines.price:decimal(10,2),not_null").properties
    {'data_type': 'decimal', 'precision': 10, 'scale': 2, 'nullable': False}
    """
    target, _, clauses = text.partition(":")
    table, _, name = target.strip().rpartition(".")
    if not name or not clauses.strip():
        raise InputError(f"`{text}` names no column (`--column`)", hint=_EXAMPLE)
    properties: dict[str, Any] = {}
    for clause in map(str.strip, _COMMA.split(clauses)):
        properties |= _property(clause, text)
    return ColumnHint(table or None, name, properties, is_whole_type="data_type" in properties)


def with_hints(schema: Schema, hints: Hints, root: str | None, existing: Schema | None = None) -> Schema:
    """Return a schema with hints for its tables and columns; names follow its naming convention.

    ``root`` is the table of hints without a table, None if all have one; ``existing`` has all tables if ``schema`` has
    only some of them.
    """
    if hints.schema is not None:
        schema = _with_file(schema, hints.schema)
    naming = naming_of(schema)
    tables = existing.tables if existing else {}
    for hint in hints.columns:
        name = naming.normalize_path(hint.name)
        flat = None if hint.table is None else _flattened(tables, naming, hint, root)
        if hint.table is None or flat:
            name, table = flat or name, _table(schema, tables, root, hint.name)
        else:
            schema, table = _with_table(schema, tables, naming, naming.normalize_tables_path(hint.table), root)
        column = table.columns.get(name) or Column(name)
        if hint.is_whole_type:
            column = Column(name, {key: value for key, value in column.properties.items() if key not in _SIZES})
        column = column.with_properties(hint.properties)
        schema = schema.with_table(replace(table, columns={**table.columns, name: column}))
    if hints.write_disposition is not None:
        table = _table(schema, tables, root, "write_disposition")
        properties = {**table.properties, "write_disposition": hints.write_disposition}
        schema = schema.with_table(replace(table, properties=properties))
    return schema


def _property(clause: str, text: str) -> dict[str, Any]:
    key, equals, value = clause.partition("=")
    if equals:
        parsed = _value(value.strip(), text)
        if key.strip() == "x-enum" and not isinstance(parsed, (list, dict)):
            raise InputError(f"`{clause}` is not a list of values (`--column {text}`)", hint="`x-enum=[open,closed]`")
        if key.strip() == PROMOTION_HINT and parsed not in tuple(Promotion):
            modes = nearest_or_all(str(parsed), Promotion)
            raise InputError(f"`{clause}` is not a mode of data types (`--column {text}`)", hint=modes)
        return {key.strip(): parsed}
    if clause in ("not_null", "nullable"):
        return {"nullable": clause == "nullable"}
    if clause in FLAGS:
        # A nullable key is not a key: dlt writes both hints.
        return {clause: True, **({"nullable": False} if clause == "primary_key" else {})}
    match = _TYPE.fullmatch(clause)
    if match is None or match["name"] not in set(DataType):
        words = (*DataType, *FLAGS, "not_null", "nullable")
        raise InputError(f"`{clause}` is not a type or a hint (`--column {text}`)", hint=nearest_or_all(clause, words))
    numbers = {key: int(match[key]) for key in ("precision", "scale") if match[key] is not None}
    if numbers and match["name"] not in SIZED:
        raise InputError(f"`{match['name']}` has no size (`--column {text}`)", hint=f"write `{match['name']}`")
    if "scale" in numbers and match["name"] not in ("decimal", "wei"):
        hint = f"`{match['name']}({match['precision']})`"
        raise InputError(f"`{match['name']}` has no scale (`--column {text}`)", hint=hint)
    if numbers.get("scale", 0) > numbers.get("precision", 0):
        message = f"`{clause}` has a scale larger than its precision (`--column {text}`)"
        raise InputError(message, hint=f"`{match['name']}({match['scale']},{match['scale']})` or more")
    return {"data_type": match["name"], **numbers}


def _value(text: str, column: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith(("[", "{")):
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            message = f"`{text}` is neither a list nor a mapping (`--column {column}`)"
            raise InputError(message, hint="for example `x-enum=[open,closed]`") from error
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


def _flattened(tables: Mapping[str, Table], naming: Naming, hint: ColumnHint, root: str | None) -> str | None:
    """Return the root table's column for a field of an object; None if the hint's table is a table."""
    assert hint.table is not None
    prefix = naming.normalize_tables_path(hint.table)
    if root is None or root not in tables or prefix in tables or naming.shorten_fragments(root, prefix) in tables:
        return None
    columns = tables[root].columns
    column = naming.shorten_fragments(prefix, naming.normalize_path(hint.name))
    if column not in columns and prefix in columns:
        message = f"`{prefix}` is a column of `{root}`, and no table"
        raise InputError(message, hint=f"declare that column: `--column {prefix}:TYPE`")
    return column if column in columns else None


def _table(schema: Schema, existing: Mapping[str, Table], name: str | None, source: str) -> Table:
    if name is None:
        raise InputError(f"`{source}` does not name a table, and the schema has several", hint="name it with `--table`")
    return _stated(schema, existing, name) or Table(name, {}, {"write_disposition": "append", "resource": name})


def _stated(schema: Schema, existing: Mapping[str, Table], name: str) -> Table | None:
    """Return the schema's table, or the existing table without its columns; None if neither has it."""
    return schema.tables.get(name) or (replace(existing[name], columns={}) if name in existing else None)


def _with_table(
    schema: Schema, existing: Mapping[str, Table], naming: Naming, name: str, root: str | None
) -> tuple[Schema, Table]:
    """Return a table by its name, or by its place below the root table, with its parents.

    A missing table is nested in the table whose name is a prefix of its name, or else in the root table.
    """
    tables = {**existing, **schema.tables}
    inside = name if root is None or name == root else naming.shorten_fragments(root, name)
    for prefix in (name, inside):
        if prefix in tables:
            return _with_parents(schema, existing, tables[prefix]), _table(schema, existing, prefix, name)
    above = [prefix for prefix in (*tables, root) if prefix and name.startswith(prefix + naming.path_separator)]
    if not above and inside == name:
        return schema, _table(schema, existing, name, name)
    parent = max(above, key=len, default=root)
    assert parent is not None
    nested_table = _table(schema, existing, parent, name)
    for key in naming.break_path(name.removeprefix(parent + naming.path_separator) if above else name):
        schema = schema.with_table(nested_table)
        nested = naming.shorten_fragments(nested_table.name, key)
        nested_table = _stated(schema, existing, nested) or Table(nested, {}, {"parent": nested_table.name})
    return schema, nested_table


def with_stated_table(schema: Schema, existing: Schema, name: str) -> tuple[Schema, Table]:
    """Return a table of a schema, or the existing one without columns, and the schema with its parents."""
    stated_schema = _with_parents(schema, existing.tables, {**existing.tables, **schema.tables}[name])
    return stated_schema, _table(schema, existing.tables, name, name)


def _with_parents(schema: Schema, existing: Mapping[str, Table], table: Table) -> Schema:
    """Return a schema with all parents of a table."""
    parent = table.parent
    while parent is not None and parent not in schema.tables and parent in existing:
        schema = schema.with_table(_table(schema, existing, parent, parent))
        parent = existing[parent].parent
    return schema


def _with_file(schema: Schema, file_schema: Schema) -> Schema:
    prefix = system_prefix(naming_of(schema))
    for table in file_schema.tables.values():
        if not table.name.startswith(prefix):
            existing = schema.tables.get(table.name) or Table(table.name)
            columns = dict(existing.columns)
            for name, column in table.columns.items():
                columns[name] = (columns.get(name) or Column(name)).with_properties(column.properties)
            schema = schema.with_table(Table(table.name, columns, {**existing.properties, **table.properties}))
    return replace(schema, settings=_joined(schema.settings, file_schema.settings))


def _joined(settings: Mapping[str, Any], file_settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings updated by a file's, key by key if both are mappings."""
    joined = dict(settings)
    for key, value in file_settings.items():
        before = settings.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        joined[key] = {**before, **value} if both and before is not None else value
    return joined


def only_root(schema: Schema) -> str | None:
    """Return the only root table of data of a schema; None if the number of root tables is not one."""
    prefix = system_prefix(naming_of(schema))
    roots = [name for name, table in schema.tables.items() if not table.is_nested and not name.startswith(prefix)]
    return roots[0] if len(roots) == 1 else None
