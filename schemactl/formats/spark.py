"""Spark's StructType as JSON, as ``StructType.json()`` writes it: one table; hints are in the metadata of fields.

https://spark.apache.org/docs/latest/sql-ref-datatypes.html. Comments are the metadata ``comment``, as in
Spark's tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.formats._fields import Codec, entries, hint_item, is_wide_decimal, losses_of, mapping
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import check_case, file_table_name, only_table, record, schema_of
from schemactl.schema.naming import Naming
from schemactl.schema.nested_types import STRING, Leaf, leaf_of, leaf_properties
from schemactl.schema.types import Properties, Schema
from schemactl.trees.json_text import read_json
from schemactl.type_systems.fields import HINTS, Field, fields_of, note

ENDINGS: Final = (".spark.json", ".json")
ONE_TABLE: Final = True
STATES_NAMES: Final = False

_WORDS: Final = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
"""Types whose names differ between JSON and DDL."""

_NAMES: Final[Mapping[str, str]] = {
    **{word: name for name, word in _WORDS.items()},
    **{name: name for name in ("string", "double", "float", "boolean", "binary", "date", "timestamp", "timestamp_ntz")},
}
SHAPES: Final[Shapes] = {
    "type": Shape(keys={}, by_type={"struct": "struct", "array": "array", "map": "map"}, is_text=True),
    "struct": Shape(keys={"fields": "fields"}, required=("fields",)),
    "fields": Shape(items="field"),
    "field": Shape(keys={"name": "text", "type": "type"}, required=("name", "type")),
    "array": Shape(keys={"elementType": "type"}, required=("elementType",)),
    "map": Shape(keys={"valueType": "type"}, required=("valueType",)),
    "text": TEXT,
}
"""The forms of types of Spark."""


def recognises(text: str) -> bool:
    """Return whether a text looks as a StructType."""
    pattern = r'\s*\{(?=.*"type"\s*:\s*"struct")(?=.*"fields"\s*:\s*\[)(?!.*"required"\s*:)'
    return re.match(pattern, text, re.DOTALL) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the StructType of the rows of the only table of a schema, as indented JSON."""
    return f"{json.dumps(struct_of(schema), indent=2, ensure_ascii=False)}\n"


def struct_of(schema: Schema, codec: Codec[dict[str, Any]] | None = None, holder: str = "Spark") -> dict[str, Any]:
    """Return the StructType of the rows of the only table of a schema; ``holder`` is the consumer, for messages."""
    codec, table = codec or CODEC, only_table(schema)
    columns = fields_of(table)
    check_case(columns, table.name, holder)
    fields = []
    for field in columns:
        native = codec.write(field)
        fields.append({**native, "metadata": {**native["metadata"], **hint_item(codec.hints(field))}})
    return {"type": "struct", "fields": fields}


def write_field(field: Field) -> dict[str, Any]:
    """Return a StructField as plain data."""
    metadata = note(field.description, "comment")
    return {"name": field.name, "type": _type(field), "nullable": field.nullable, "metadata": metadata}


def _type(field: Field) -> Any:
    if field.fields:
        return {"type": "struct", "fields": [write_field(child) for child in field.fields]}
    if field.element:
        return {"type": "array", "elementType": _type(field.element), "containsNull": True}
    if field.values:
        return {"type": "map", "keyType": "string", "valueType": _type(field.values), "valueContainsNull": True}
    leaf = leaf_of(field.properties, keeps_sizes=True)
    name = leaf.name if isinstance(leaf, Leaf) and not is_wide_decimal(field, "Spark") else STRING
    return _WORDS.get(name, name)


def read(text: str, path: str, naming: Naming | None = None) -> Document:
    """Return the schema of one table, named after the file."""
    source, tree, root = read_json(text, path)
    if not (isinstance(root, dict) and root.get("type") == "struct" and "fields" in root):
        raise source.refuse("this is not a StructType", 0, "it has `type: struct` and `fields`")
    check_shape(source, tree, SHAPES, "type")
    return table_of(root, path, naming)


def table_of(struct: dict[str, Any], path: str, naming: Naming | None) -> Document:
    """Return the schema of one table, whose rows a StructType describes, named after the file."""
    name = file_table_name(path)
    columns = columns_of(struct, CODEC, path)
    return Document(schema_of([record(name, columns, None, None)], None, path, naming), unread(name, struct))


def columns_of(struct: dict[str, Any], codec: Codec[dict[str, Any]], path: str) -> tuple[tuple[str, Properties], ...]:
    """Return the columns of rows that a StructType describes, with the hints in its metadata."""
    columns = []
    for native in entries(struct.get("fields")):
        metadata = mapping(native.get("metadata"))
        native_type = {**native, "metadata": {key: value for key, value in metadata.items() if key != HINTS}}
        columns.append((native["name"], codec.restored(native["name"], native_type, metadata.get(HINTS), path)))
    return tuple(columns)


def unread(table: str, struct: dict[str, Any]) -> tuple[Loss, ...]:
    """Return the facts of a StructType that the columns of a table lack."""
    return tuple(losses_of((_read(native["name"], native) for native in entries(struct.get("fields"))), table))


def _read(name: str, native: dict[str, Any]) -> Field:
    metadata = mapping(native.get("metadata"))
    properties = {"nullable": native.get("nullable") is not False, **note(metadata.get("comment"))}
    read = _field_of(name, native.get("type"), properties)
    unread = tuple((key, value, None) for key, value in metadata.items() if key not in ("comment", HINTS))
    return replace(read, unread=(*unread, *read.unread))


def _field_of(name: str, native: Any, properties: dict[str, Any]) -> Field:
    json_ = {"data_type": "json", **properties}
    match native:
        case {"type": "struct"} if children := entries(native.get("fields")):
            return Field(name, json_, fields=tuple(_read(child["name"], child) for child in children))
        case {"type": "array"}:
            return Field(name, json_, element=_field_of("element", native.get("elementType"), {}))
        case {"type": "map", "keyType": "string"}:
            return Field(name, json_, values=_field_of("value", native.get("valueType"), {}))
        case str():
            if native in _NAMES or re.fullmatch(r"decimal\(\d+,\d+\)|time\(\d+\)", native):
                return Field(name, {**(leaf_properties(_NAMES.get(native, native)) or {}), **properties})
            sized = re.fullmatch(r"(?:varchar|char)\((\d+)\)", native)
            if sized is not None:
                return Field(name, {"data_type": "text", "precision": int(sized[1]), **properties})
        case {"type": "struct"}:
            return Field(name, json_)
    lost_fact = ("type", {"type": native}, {"data_type": "json"})
    return Field(name, json_, unread=() if native == "variant" else (lost_fact,))


CODEC: Final = Codec(write_field, _read)
