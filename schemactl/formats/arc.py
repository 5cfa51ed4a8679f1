"""Arc's schema format: how columns of texts become typed ones (docs/arc.md).

A file is the root table of a schema. What dlt's hints cannot say of a field stands in the column's ``x-typing``, its
metadata in ``x-metadata``, its id in ``x-id``; a column that states no typing is written with Arc's usual one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._arc_fields import attributes, read_typing
from schemactl.formats._fields import file_table_name
from schemactl.formats._losses import Loss
from schemactl.schema.arrow_types import nested_type_of
from schemactl.schema.contract import system_prefix
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.hints import only_root
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType
from schemactl.schema.nested_types import Struct as StructOf
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.schema.typing.model import (
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

ENDINGS: Final = (".arc.json", ".arc.conf", ".arc", ".json", ".conf")

TYPING: Final = "x-typing"
"""The property of a column that has the attributes of its field, as Arc names them."""

ID: Final = "x-id"
METADATA: Final = "x-metadata"

_NULLABLE: Final = re.compile(r"""\bnullable["']?\s*[:=]""")
_FIELD: Final = re.compile(r"""\btype["']?\s*[:=]""")
_HINTED: Final = ("id", "description", "metadata", "nullable")


@dataclass(frozen=True, slots=True)
class Document:
    """An Arc schema that was read: as a schema of one table, and as its own fields."""

    schema: Schema
    typing: Typing
    losses: tuple[Loss, ...] = ()


_OTHERS: Final = re.compile(r"""engine_version|"\$schema"\s*:|^\s*\{\s*"(?:type|fields|title)"\s*:""")
"""What stands in schemas of dlt, of JSON Schema, of Avro and of Spark, and in none of Arc's."""


def recognises(text: str) -> bool:
    """Return whether a text looks as an Arc schema: a list, or an object, of fields with a type and ``nullable``."""
    is_named = _OTHERS.search(text) is not None
    return not is_named and _NULLABLE.search(text) is not None and _FIELD.search(text) is not None


def read(text: str, path: str) -> Document:
    """Return what an Arc schema says; its table is named after the file.

    Raises:
        InputError: it is no Arc schema, with the places of all that is wrong; or two fields become one column.
    """
    typing = read_typing(text, path)
    schema = new_schema("arc")
    naming = naming_of(schema)
    name = naming.normalize_table_identifier(file_table_name(path))
    columns = table_columns(typing, naming, path)
    table = Table(name, columns, {"write_disposition": "append", "resource": name})
    return Document(schema.with_table(table), typing)


def table_columns(typing: Typing, naming: Naming, path: str) -> dict[str, Column]:
    """Return the columns of the fields of a typing, by name; ``path`` names its file in messages.

    Raises:
        InputError: two fields become one column.
    """
    columns: dict[str, Column] = {}
    origins: dict[str, str] = {}
    for field in typing.fields:
        name = naming.normalize_identifier(field.name)
        if name in columns:
            message = f"the fields `{origins[name]}` and `{field.name}` become one column `{name}`"
            raise InputError(message, at=Location(path), hint="rename one of them")
        origins[name] = field.name
        columns[name] = Column(name, _properties(field, name))
    return columns


def _properties(field: Field, name: str) -> dict[str, Any]:
    hints = {"description": field.description, "nullable": field.nullable, ID: field.id}
    typing = {key: value for key, value in attributes(field).items() if key not in _HINTED}
    if field.name == name:
        del typing["name"]
    stated = {**column_type(field.type), **hints, METADATA: dict(field.metadata) or None, TYPING: typing}
    return {key: value for key, value in stated.items() if value is not None}


# --- from a schema ---


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the Arc schema of the root table of a schema, tables that are nested in it as lists.

    Raises:
        InputError: the schema has several root tables, or none.
    """
    name = only_root(schema)
    if name is None:
        hint = "an Arc schema describes one table: export a schema that has one"
        raise InputError(f"the schema `{schema.name}` has several root tables, or none", hint=hint)
    text = json.dumps([attributes(field) for field in typing_of(schema, name).fields], indent=2, ensure_ascii=False)
    return f"{text}\n"


def typing_of(schema: Schema, name: str) -> Typing:
    """Return the typing of a table: as its columns state it, else what texts of their types usually look like.

    Raises:
        InputError: a column states what is no typing.
    """
    return Typing(tuple(_fields(schema, schema.tables[name])))


def _fields(schema: Schema, table: Table) -> Iterator[Field]:
    prefix = system_prefix(naming_of(schema))
    for column in table.columns.values():
        is_data = not column.name.startswith(prefix) and not column.is_variant and not _has_errors(column)
        if column.is_complete and is_data:
            yield _field(column, table.name)
    for nested in schema.tables.values():
        if nested.parent == table.name:
            fields = tuple(_fields(schema, nested))
            is_plain = [field.name for field in fields] == ["value"]
            name = nested.name.removeprefix(f"{table.name}__")
            element = fields[0] if is_plain else Field(name="element", type=Struct(fields), nullable=True)
            yield Field(name=name, type=Array(element), nullable=True)


def _has_errors(column: Column) -> bool:
    """Return whether typing made the column."""
    return all(column.properties.get(name) == value for name, value in ERRORS_COLUMN.items())


def _field(column: Column, table: str) -> Field:
    stated = column.properties.get(TYPING)
    hints = {
        "id": column.properties.get(ID),
        "description": column.properties.get("description"),
        "metadata": column.properties.get(METADATA),
        "nullable": column.nullable,
    }
    given = {key: value for key, value in hints.items() if value is not None}
    if isinstance(stated, dict):
        text = json.dumps([{"name": column.name, **stated, **given}])
        return read_typing(text, f"`{TYPING}` of the column `{table}.{column.name}`").fields[0]
    own = _usual_type(column)
    field = Field(name=column.name, type=own, nullable=column.nullable, trim=not isinstance(own, Struct | Array))
    (usual,) = read_typing(json.dumps([{**attributes(field), **given}]), f"the column `{table}.{column.name}`").fields
    return usual


_DATES: Final = ("uuuu-MM-dd",)
_TIMES: Final = ("HH:mm:ss", "HH:mm:ss.SSSSSS", "HH:mm")
_INSTANTS: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]XXX", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]XXX")
_LOCAL: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm")


def _usual_type(column: Column) -> FieldType:  # noqa: C901, PLR0911 - a case for each type
    properties = column.properties
    match column.data_type:
        case DataType.BIGINT:
            return Integer() if (properties.get("precision") or 64) <= 32 else Long()
        case DataType.DOUBLE:
            return Double()
        case DataType.BOOL:
            return Boolean(("true", "True", "TRUE"), ("false", "False", "FALSE"))
        case DataType.DATE:
            return Date(_DATES)
        case DataType.TIME:
            return Time(_TIMES)
        case DataType.TIMESTAMP:
            return Timestamp((*_INSTANTS, *_LOCAL), "UTC")
        case DataType.BINARY:
            return Binary("base64")
        case DataType.DECIMAL:
            digits, places = decimal_sizes(properties)
            return Decimal(min(digits, 38), places)
        case DataType.WEI:
            return Decimal(38, 0)
        case DataType.JSON:
            return _nested_type(nested_type_of(column) or Json())
    return String()


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
    known: dict[str, FieldType] = {
        "int": Integer(), "smallint": Integer(), "tinyint": Integer(), "bigint": Long(), "double": Double(),
        "float": Double(), "boolean": Boolean(("true",), ("false",)), "date": Date(_DATES), "binary": Binary("base64"),
        "timestamp": Timestamp(_INSTANTS, "UTC"), "timestamp_ntz": Timestamp(_LOCAL, "UTC"),
    }  # fmt: skip
    return Time(_TIMES) if name.startswith("time(") else known.get(name, String())
