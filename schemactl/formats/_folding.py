"""Folds nested tables and flattened columns back into the documents that they came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from schemactl.formats._tables import data_tables
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import Column, Schema, Table
from schemactl.type_systems.fields import Field, field_of, properties_of

_ANY: Final = {"data_type": "json"}
_LEVELS: Final = 50
"""The depth below which columns stay JSON."""


def fold(schema: Schema) -> Schema:
    """Return the schema of the documents: only root tables, with nested tables as ``x-spark-type`` columns.

    A nested table becomes a list of objects (of values if ``value`` is its only column), and columns ``a__b`` and
    ``a__c`` become an object ``a``. If values of several kinds share a place (variants, a list and an object), it
    becomes JSON. Columns that dlt adds are omitted. The schema decides the names.
    """
    naming = naming_of(schema)
    roots = [table for table in data_tables(schema) if not table.is_nested]
    folded = {}
    for table in roots:
        fields = _document(table, schema, naming, 0)
        columns = {field.name: Column(field.name, properties_of(field)) for field in fields}
        folded[table.name] = replace(table, columns=columns)
    nested = {table.name for table in data_tables(schema) if table.is_nested}
    tables = {name: folded.get(name, table) for name, table in schema.tables.items() if name not in nested}
    return replace(schema, tables=tables)


def _document(table: Table, schema: Schema, naming: Naming, level: int) -> tuple[Field, ...]:
    """Return the fields of the documents whose rows a table holds."""
    prefix = system_prefix(naming)
    places: list[tuple[tuple[str, ...], Field]] = []
    variants: set[str] = set()
    for column in table.columns.values():
        if column.name.startswith(prefix) or not column.is_complete:
            continue
        if column.is_variant:
            variants.add(column.name)
        else:
            places.append((_path(column.name, naming), field_of(column)))
    for nested in schema.tables.values():
        if nested.parent == table.name:
            name = nested.name.removeprefix(f"{table.name}{naming.path_separator}")
            places.append((_path(name, naming), _list(nested, schema, naming, level)))
    marks = {name.rpartition(f"{naming.path_separator}v_")[0] for name in variants}
    mixed = {path for path, _ in places if naming.make_path(*path) in marks}
    return tuple(_grouped([(path, Field("", _ANY) if path in mixed else field) for path, field in places], level))


def _list(table: Table, schema: Schema, naming: Naming, level: int) -> Field:
    fields = _document(table, schema, naming, level + 1) if level < _LEVELS else ()
    # A list in a list is a separate table, with a name from dlt.
    if len(fields) == 1 and (fields[0].name == "value" or (fields[0].name == "list" and fields[0].element)):
        return Field(table.name, _ANY, element=replace(fields[0], name="element"))
    return Field(table.name, _ANY, element=Field("element", _ANY, fields=fields))


def _path(name: str, naming: Naming) -> tuple[str, ...]:
    return naming.break_path(name) or (name,)


def _grouped(paths_and_fields: list[tuple[tuple[str, ...], Field]], level: int) -> Iterator[Field]:
    """Yield the fields of one object from fields with paths, in the order in which names first appear."""
    names = dict.fromkeys(path[0] for path, _ in paths_and_fields)
    for name in names:
        inner_paths = [(path[1:], field) for path, field in paths_and_fields if path[0] == name]
        direct_fields = [field for path, field in inner_paths if not path]
        if len(inner_paths) == 1 and direct_fields:
            yield replace(direct_fields[0], name=name)
        elif direct_fields or level >= _LEVELS:
            yield Field(name, _ANY)
        else:
            fields = tuple(_grouped(inner_paths, level + 1))
            # An object that always has a value in it is always there.
            is_required = any(not field.nullable for field in fields)
            yield Field(name, {**_ANY, "nullable": False} if is_required else _ANY, fields=fields)
