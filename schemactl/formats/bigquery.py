"""BigQuery's table schema as JSON, as ``bq show --schema`` prints it and ``bq mk`` reads it: one table.

https://cloud.google.com/bigquery/docs/schemas#creating_a_JSON_schema_file. The format has no room for other hints.
Types are the types of dlt's BigQuery destination.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.formats._fields import losses_of
from schemactl.formats._losses import Document
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import check_case, file_table_name, only_table, record, schema_of
from schemactl.schema.full_types import check_scale, decimal_sizes
from schemactl.schema.naming import Naming
from schemactl.schema.types import DataType, Schema
from schemactl.trees.json_text import read_json
from schemactl.type_systems.fields import Field, field_of, note, plain_properties, properties_of

ENDINGS: Final = (".bigquery.json", ".json")
ONE_TABLE: Final = True
STATES_NAMES: Final = False

_TYPES: Final = {
    DataType.TEXT: "STRING", DataType.DOUBLE: "FLOAT", DataType.BOOL: "BOOLEAN", DataType.TIMESTAMP: "TIMESTAMP",
    DataType.BIGINT: "INTEGER", DataType.BINARY: "BYTES", DataType.JSON: "JSON", DataType.DECIMAL: "NUMERIC",
    DataType.WEI: "BIGNUMERIC", DataType.DATE: "DATE", DataType.TIME: "TIME",
}  # fmt: skip
_DATA_TYPES: Final[Mapping[str, DataType]] = {
    **{word: data_type for data_type, word in _TYPES.items()},
    "INT64": DataType.BIGINT, "FLOAT64": DataType.DOUBLE, "BOOL": DataType.BOOL, "DECIMAL": DataType.DECIMAL,
    "BIGDECIMAL": DataType.WEI, "DATETIME": DataType.TIMESTAMP,
}  # fmt: skip
_WHOLE_DIGITS: Final = 29
"""Digits of NUMERIC before the point; it has nine after the point."""
_MOST_DIGITS: Final = 38
"""Digits that BIGNUMERIC has for certain before the point, and after it; numbers with more are texts."""

_READ: Final = frozenset(("name", "type", "mode", "description", "fields", "maxLength", "precision", "scale"))
_SHAPES: Final[Shapes] = {
    "table": Shape(keys={"fields": "fields", "schema": "schema"}, items="field"),
    "schema": Shape(keys={"fields": "fields"}, required=("fields",)),
    "fields": Shape(items="field"),
    "field": Shape(
        keys={"name": "text", "type": "text"},
        required=("name", "type"),
        by_type=dict.fromkeys(("RECORD", "STRUCT", "record", "struct", "Record", "Struct"), "record"),
    ),
    "record": Shape(keys={"fields": "fields"}, required=("fields",)),
    "text": TEXT,
}


def recognises(text: str) -> bool:
    """Return whether a text looks as a table schema: a list of fields with types in capitals."""
    return re.match(r"\s*\[\s*\{", text) is not None and re.search(r'"type"\s*:\s*"[A-Z][A-Z0-9]+"', text) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the BigQuery schema of the only table of a schema."""
    table = only_table(schema)
    fields = [field_of(column) for column in table.columns.values() if column.is_complete]
    check_case(fields, table.name, "BigQuery")
    return f"{json.dumps(list(map(_write, fields)), indent=2, ensure_ascii=False)}\n"


def _write(field: Field) -> dict[str, Any]:
    description = note(field.description)
    inner = field.element
    # Lists of lists and maps do not exist there.
    if inner is not None and inner.element is None and inner.values is None:
        return {**_write(replace(inner, name=field.name)), "mode": "REPEATED", **description}
    base = {"name": field.name, "type": "RECORD" if field.fields else _type(field)}
    children = {"fields": [_write(child) for child in field.fields]} if field.fields else {}
    return {**base, "mode": "NULLABLE" if field.nullable else "REQUIRED", **description, **_sizes(field), **children}


def _type(field: Field) -> str:
    if field.data_type is DataType.DECIMAL:
        precision, scale = decimal_sizes(field.properties)
        check_scale(field.name, precision, scale, "BigQuery")
        if max(scale, precision - scale) > _MOST_DIGITS:
            return _TYPES[DataType.TEXT]
        return "BIGNUMERIC" if scale > 9 or precision - scale > _WHOLE_DIGITS else "NUMERIC"
    return _TYPES[field.data_type]


def _sizes(field: Field) -> dict[str, str]:
    match field.data_type:
        case DataType.TEXT | DataType.BINARY if field.precision is not None:
            return {"maxLength": str(field.precision)}
        case DataType.DECIMAL if field.precision is not None or field.scale is not None:
            precision, scale = decimal_sizes(field.properties)
            if max(scale, precision - scale) > _MOST_DIGITS:
                return {}
            return {"precision": str(precision), **({"scale": str(scale)} if scale else {})}
    return {}


def read(text: str, path: str, naming: Naming | None = None) -> Document:
    """Return the schema of one table, named after the file."""
    source, tree, root = read_json(text, path)
    if not isinstance(root, list) and not (isinstance(root, dict) and ("fields" in root or "schema" in root)):
        raise source.refuse("this is not a BigQuery table schema", 0, "a list of fields with `name` and `type`")
    check_shape(source, tree, _SHAPES, "table")
    table = root if isinstance(root, list) or "fields" in root else root["schema"]
    native_fields = table if isinstance(table, list) else table["fields"]
    name = file_table_name(path)
    fields = [_read(native_field["name"], native_field) for native_field in native_fields]
    columns = tuple((field.name, plain_properties(properties_of(field))) for field in fields)
    schema = schema_of([record(name, columns, None, None)], None, path, naming)
    return Document(schema, tuple(losses_of(fields, name)))


def _read(name: str, native: dict[str, Any]) -> Field:
    mode = str(native.get("mode") or "NULLABLE").upper()
    properties: dict[str, Any] = {"nullable": mode != "REQUIRED", **note(native.get("description"))}
    if mode == "REPEATED":
        element = {key: value for key, value in native.items() if key not in ("mode", "description")}
        return Field(name, {"data_type": "json", **properties}, element=_read("element", element))
    unread: list[tuple[str, Any, Any]] = [(key, value, None) for key, value in native.items() if key not in _READ]
    if native["type"].upper() in ("RECORD", "STRUCT"):
        inner = tuple(_read(child["name"], child) for child in native["fields"])
        return Field(name, {"data_type": "json", **properties}, fields=inner, unread=tuple(unread))
    if native["type"].upper() not in _DATA_TYPES:
        unread.append(("type", {"type": native["type"]}, {"data_type": "text"}))
    return Field(name, {**_scalar(native), **properties}, unread=tuple(unread))


def _scalar(native: dict[str, Any]) -> dict[str, Any]:
    word = native["type"].upper()
    data_type = _DATA_TYPES.get(word, DataType.TEXT)
    numbers = {key: int(native[key]) for key in ("maxLength", "precision", "scale") if str(native.get(key)).isdecimal()}
    if data_type in (DataType.TEXT, DataType.BINARY):
        return {"data_type": str(data_type), **({"precision": numbers["maxLength"]} if "maxLength" in numbers else {})}
    if data_type in (DataType.DECIMAL, DataType.WEI) and "precision" in numbers:
        return {"data_type": "decimal", "precision": numbers["precision"], "scale": numbers.get("scale", 0)}
    return {"data_type": str(data_type), **({"timezone": False} if word == "DATETIME" else {})}
