"""Arc's schema files as a format of schemas (docs/arc.md).

A file is the root table of a schema. Attributes of a field that dlt has no hint for are the column's ``x-typing``, its
metadata ``x-metadata``, its id ``x-id``; a column without typing is written with Arc's usual one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from schemactl.arc.fields import (
    ERRORS_COLUMN,
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Field,
    FieldType,
    Integer,
    Long,
    String,
    Struct,
    Time,
    Timestamp,
    Typing,
    column_type,
)
from schemactl.arc.typing_file import attributes, read_typing
from schemactl.arc.typing_file import recognises as recognises
from schemactl.errors import InputError, Location
from schemactl.formats._losses import Document
from schemactl.formats._tables import file_table_name
from schemactl.schema.contract import system_prefix
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.hints import only_root
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, leaf_of
from schemactl.schema.nested_types import Struct as StructOf
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.type_systems.arrow_types import nested_type_of

ENDINGS: Final = (".arc.json", ".arc.conf", ".arc", ".json", ".conf")
STATES_NAMES: Final = False

TYPING: Final = "x-typing"
"""The property of a column that has the attributes of its field, as Arc names them."""

ID: Final = "x-id"
METADATA: Final = "x-metadata"

_HINTS: Final = {"id": ID, "description": "description", "metadata": METADATA}
"""The properties of a column that hold attributes of its field."""


def read(text: str, path: str, naming: Naming | None = None) -> Document:
    """Return the schema of an Arc file; its table is named after the file."""
    typing, schema = read_typing(text, path), new_schema("arc")
    naming = naming or naming_of(schema)
    name = naming.normalize_table_identifier(file_table_name(path))
    columns = table_columns(typing, naming, path)
    return Document(schema.with_table(Table(name, columns, {"write_disposition": "append", "resource": name})))


def table_columns(typing: Typing, naming: Naming, path: str) -> dict[str, Column]:
    """Return the columns of the fields of a typing, named as keys of data are; ``path`` names its file in messages."""
    columns: dict[str, Column] = {}
    origins: dict[str, str] = {}
    for field in typing.fields:
        name = naming.normalize_path(field.name)
        if not name:
            raise InputError(f"the name of the field `{field.name}` is blank", at=Location(path))
        if name in columns:
            message = f"the fields `{origins[name]}` and `{field.name}` both become the column `{name}`"
            raise InputError(message, at=Location(path), hint="rename one of them")
        origins[name] = field.name
        columns[name] = Column(name, _properties(field, name))
    return columns


def _properties(field: Field, name: str) -> dict[str, Any]:
    hints = {"description": field.description, "nullable": field.nullable, ID: field.id}
    typing = {key: value for key, value in attributes(field).items() if key not in ("nullable", *_HINTS)}
    if field.name == name:
        del typing["name"]
    properties = {**column_type(field.type), **hints, METADATA: dict(field.metadata) or None, TYPING: typing}
    return {key: value for key, value in properties.items() if value is not None}


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the Arc schema of the root table of a schema, with nested tables as lists."""
    name = only_root(schema)
    if name is None:
        hint = "an Arc schema describes one table: export a schema with one root table"
        raise InputError(f"the schema `{schema.name}` does not have exactly one root table", hint=hint)
    text = json.dumps([attributes(field) for field in typing_of(schema, name).fields], indent=2, ensure_ascii=False)
    return f"{text}\n"


def typing_of(schema: Schema, name: str) -> Typing:
    """Return the typing that the columns of a table declare, or the usual typing of a column."""
    return Typing(tuple(_fields(schema, schema.tables[name])))


def _fields(schema: Schema, table: Table) -> Iterator[Field]:
    prefix = system_prefix(naming_of(schema))
    for column in table.columns.values():
        has_errors = all(column.properties.get(name) == value for name, value in ERRORS_COLUMN.items())
        is_data = not column.name.startswith(prefix) and not column.is_variant and not has_errors
        if column.is_complete and is_data:
            yield _field(column, table.name)
    for nested in schema.tables.values():
        if nested.parent == table.name:
            fields = tuple(_fields(schema, nested))
            is_list_of_values = [field.name for field in fields] == ["value"]
            element = fields[0] if is_list_of_values else Field(name="element", type=Struct(fields), nullable=True)
            yield Field(name=nested.name.removeprefix(f"{table.name}__"), type=Array(element), nullable=True)


def _field(column: Column, table: str) -> Field:
    typing, origin = column.properties.get(TYPING), f"`{TYPING}` of "
    if not isinstance(typing, dict):
        usual = _usual_type(column)
        is_text = not isinstance(usual, Struct | Array)
        typing, origin = attributes(Field(name=column.name, type=usual, nullable=True, trim=is_text)), ""
    hints = {key: column.properties.get(name) for key, name in _HINTS.items()}
    hints = {key: value for key, value in hints.items() if value is not None}
    text = json.dumps([{"name": column.name, **typing, **hints, "nullable": column.nullable}])
    (field,) = read_typing(text, f"{origin}the column `{table}.{column.name}`").fields
    return field


_TIMES: Final = ("HH:mm:ss", "HH:mm:ss.SSSSSS", "HH:mm")
_INSTANTS: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]XXX", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]XXX")
_LOCAL: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm")


def _usual_type(column: Column) -> FieldType:
    properties = column.properties
    match column.data_type:
        case DataType.BIGINT:
            return Integer() if (properties.get("precision") or 64) <= 32 else Long()
        case DataType.BOOL:
            return Boolean(("true", "True", "TRUE"), ("false", "False", "FALSE"))
        case DataType.TIMESTAMP:
            return Timestamp((*_INSTANTS, *_LOCAL), "UTC")
        case DataType.DECIMAL:
            digits, places = decimal_sizes(properties)
            return Decimal(min(digits, 38), places)
        case DataType.JSON:
            return _nested_type(nested_type_of(column) or Json())
    return _nested_type(leaf_of(properties))


def _nested_type(of: NestedType) -> FieldType:
    match of:
        case StructOf(fields):
            return Struct(tuple(Field(name=name, type=_nested_type(inner), nullable=True) for name, inner in fields))
        case ListOf(element):
            return Array(Field(name="element", type=_nested_type(element), nullable=True))
        case Leaf(name):
            return _leaf_type(name)
        case Json() | MapOf():
            return String()


def _leaf_type(name: str) -> FieldType:
    sized = re.fullmatch(r"decimal\((\d+),(\d+)\)", name)
    if sized is not None:
        return Decimal(int(sized[1]), int(sized[2]))
    types: dict[str, FieldType] = {
        "int": Integer(), "smallint": Integer(), "tinyint": Integer(), "bigint": Long(), "double": Double(),
        "float": Double(), "boolean": Boolean(("true",), ("false",)), "date": Date(("uuuu-MM-dd",)),
        "timestamp": Timestamp(_INSTANTS, "UTC"), "timestamp_ntz": Timestamp(_LOCAL, "UTC"), "binary": Binary("base64"),
    }  # fmt: skip
    return Time(_TIMES) if name.startswith("time(") else types.get(name, String())
