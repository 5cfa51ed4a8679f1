"""Iceberg's table metadata (``v1.metadata.json``), or a bare Iceberg schema: one table.

https://iceberg.apache.org/spec/. ``write`` creates the metadata of an empty table of format version 2. Hints are in its
property ``x-dlt``; the numbers of fields, also of nested fields, are ``x-id``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import PurePath
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from schemactl.formats._fields import Codec, entries, is_wide_decimal, losses_of, mapping
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import file_hints, file_table_name, only_table, record, schema_of
from schemactl.schema.full_types import DEFAULT_DECIMAL
from schemactl.schema.types import DataType, Schema
from schemactl.trees.json_text import read_json
from schemactl.type_systems.fields import HINTS, Field, fields_of, note

ENDINGS: Final = (".metadata.json", ".iceberg.json", ".json")
ONE_TABLE: Final = True

_FIRST_PARTITION: Final = 1000
"""Numbers of partition fields start here, as the specification recommends."""

_PLAIN: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"data_type": "text"}, "uuid": {"data_type": "text"}, "long": {"data_type": "bigint"},
    "int": {"data_type": "bigint", "precision": 32}, "double": {"data_type": "double"},
    "float": {"data_type": "double"}, "boolean": {"data_type": "bool"}, "date": {"data_type": "date"},
    "time": {"data_type": "time"}, "timestamptz": {"data_type": "timestamp"},
    "timestamp": {"data_type": "timestamp", "timezone": False}, "binary": {"data_type": "binary"},
    "timestamptz_ns": {"data_type": "timestamp", "precision": 9},
    "timestamp_ns": {"data_type": "timestamp", "precision": 9, "timezone": False},
    "variant": {"data_type": "json"}, "unknown": {},
}  # fmt: skip
_SIZED: Final = re.compile(r"(decimal|fixed)[(\[]\s*(\d+)\s*(?:,\s*(\d+)\s*)?[)\]]")
_READ: Final = frozenset(("id", "name", "type", "required", "doc"))
_SHAPES: Final[Shapes] = {
    "metadata": Shape(
        keys={"schemas": "structs", "schema": "type", "fields": "fields", "identifier-field-ids": "numbers",
              "partition-specs": "specs", "sort-orders": "specs"},
    ),
    "structs": Shape(items="struct", is_optional=True),
    "type": Shape(keys={}, by_type={"struct": "struct", "list": "list", "map": "map"}, is_text=True),
    "struct": Shape(keys={"fields": "fields", "identifier-field-ids": "numbers"}, required=("fields",)),
    "fields": Shape(items="field"),
    "field": Shape(keys={"id": "number", "name": "text", "type": "type"}, required=("name", "type")),
    "list": Shape(keys={"element": "type"}, required=("element",)),
    "map": Shape(keys={"value": "type"}, required=("value",)),
    "numbers": Shape(items="number", is_optional=True),
    "number": Shape(is_number=True),
    "specs": Shape(items="spec", is_optional=True),
    "spec": Shape(keys={"fields": "terms"}),
    "terms": Shape(items="term", is_optional=True),
    "term": Shape(keys={"source-id": "number"}),
    "text": TEXT,
}  # fmt: skip


def recognises(text: str) -> bool:
    """Return whether a text looks as a table's metadata, or as a schema, whose fields are required or not."""
    is_metadata = re.search(r'"format-version"\s*:', text) is not None
    return is_metadata or re.match(r'\s*\{(?=.*"type"\s*:\s*"struct")(?=.*"required"\s*:)', text, re.DOTALL) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the metadata of an empty table with the columns of the only table of a schema."""
    table = only_table(schema)
    fields = fields_of(table)
    natives = {field.name: _write(field) for field in fields}
    numbers = _Numbers(fields)
    ids = {field.name: numbers.of(field) for field in fields}
    written = [{"id": ids[field.name], **_numbered(natives[field.name], field, numbers)} for field in fields]
    columns = {field.name: hints for field in fields if (hints := CODEC.hints(field))}
    partitions = [field.name for field in fields if field.properties.get("partition") is True]
    document = {
        "format-version": 2,
        "table-uuid": str(uuid5(NAMESPACE_URL, f"{schema.name}/{table.name}")),
        "location": table.name,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": numbers.last,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": written}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": [
            {"name": name, "transform": "identity", "source-id": ids[name], "field-id": number}
            for number, name in enumerate(partitions, _FIRST_PARTITION)
        ]}],
        "last-partition-id": _FIRST_PARTITION - 1 + len(partitions),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {
            **note(table.properties.get("description"), "comment"),
            HINTS: json.dumps(file_hints(table, schema, columns), ensure_ascii=False),
        },
        "snapshots": [],
    }  # fmt: skip
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def _write(field: Field) -> dict[str, Any]:
    """Return a field without its number."""
    doc = note(field.description, "doc")
    return {"name": field.name, "required": not field.nullable, "type": _type(field), **doc}


def _type(field: Field) -> Any:
    if field.fields:
        return {"type": "struct", "fields": [_write(child) for child in field.fields]}
    if field.element:
        return {"type": "list", "element-required": False, "element": _type(field.element)}
    if field.values:
        return {"type": "map", "key": "string", "value-required": False, "value": _type(field.values)}
    match field.data_type:
        case DataType.BIGINT:
            return "int" if (field.precision or 64) <= 32 else "long"
        case DataType.DECIMAL if not is_wide_decimal(field, "Iceberg"):
            digits, scale = (field.precision, field.scale or 0) if field.precision else DEFAULT_DECIMAL
            return f"decimal({digits}, {scale})"
        case DataType.WEI:
            return "decimal(38, 0)"
        case DataType.TIMESTAMP:
            return "timestamp" if field.properties.get("timezone") is False else "timestamptz"
    names = {"double": "double", "bool": "boolean", "date": "date", "time": "time", "binary": "binary"}
    return names.get(field.data_type, "string")


class _Numbers:
    """Numbers the fields of a table and all nested fields: by ``x-id`` if it is unique, or else in order."""

    def __init__(self, fields: list[Field]) -> None:
        counts = Counter(number for field in fields for number in _declared_ids(field))
        self._ids = {number for number, times in counts.items() if times == 1}
        self._free = (number for number in count(1) if number not in counts)
        self.last = max(self._ids, default=0)

    def of(self, field: Field) -> int:
        """Return the number of a field."""
        number = field.properties.get("x-id")
        return number if type(number) is int and number in self._ids else self.next()

    def next(self) -> int:
        """Return a number that no field has."""
        number = next(self._free)
        self.last = max(self.last, number)
        return number


def _declared_ids(field: Field) -> Iterator[int]:
    number = field.properties.get("x-id")
    if type(number) is int and number > 0:
        yield number
    for inner in (*field.fields, *filter(None, (field.element, field.values))):
        yield from _declared_ids(inner)


def _numbered(native: Any, field: Field, numbers: _Numbers) -> Any:
    """Return a field, or its type, with numbers for all that is nested in it."""
    match native:
        case {"type": "struct", "fields": list(fields)}:
            inner = [
                {"id": numbers.of(child), **_numbered(native_field, child, numbers)}
                for native_field, child in zip(fields, field.fields, strict=True)
            ]
            return {**native, "fields": inner}
        case {"type": "list", "element": element} if field.element:
            return {**native, "element-id": numbers.next(), "element": _numbered(element, field.element, numbers)}
        case {"type": "map", "value": value} if field.values:
            ids = {"key-id": numbers.next(), "value-id": numbers.next()}
            return {**native, **ids, "value": _numbered(value, field.values, numbers)}
        case {"type": dict() as inner_type}:
            return {**native, "type": _numbered(inner_type, field, numbers)}
    return native


def read(text: str, path: str) -> Document:
    """Return the schema of one table: of metadata the current one, named after its folder, else after the file."""
    source, tree, root = read_json(text, path)
    struct = None
    if isinstance(root, dict):
        check_shape(source, tree, _SHAPES, "metadata")
        schemas = [schema for schema in root.get("schemas") or () if isinstance(schema, dict)]
        current = [schema for schema in schemas if schema.get("schema-id") == root.get("current-schema-id")]
        # Version 1 has `schema`; a bare schema is the root itself.
        struct = next(schema for schema in (*current, root.get("schema"), root) if isinstance(schema, dict))
    if struct is None or "fields" not in struct:
        raise source.refuse("this is not the metadata of an Iceberg table", 0, "it has `schemas` with `fields`")
    properties = mapping(root.get("properties"))
    own_hints = _own_hints(properties)
    name = PurePath(str(root.get("location") or "")).name or file_table_name(path)
    fields = entries(struct["fields"])
    partitions, losses = _partitions(root, fields, name)
    keys = struct.get("identifier-field-ids") or ()
    columns = []
    for field in fields:
        native = {key: value for key, value in field.items() if key in _READ}
        # In a file from `write`, the hints have the numbers that the schema declares.
        native = native if own_hints is None else _unnumbered(native)
        restored = CODEC.restored(field["name"], native, (own_hints or {}).get("columns", {}).get(field["name"]), path)
        restored |= {"primary_key": True} if field.get("id") in keys else {}
        columns.append((field["name"], {**restored, **({"partition": True} if field["name"] in partitions else {})}))
        losses += losses_of([_read(field["name"], field)], name)
    table = record(name, columns, properties.get("comment"), (own_hints or {}).get("table"))
    losses += [Loss(name, key, value) for key, value in properties.items() if key not in (HINTS, "comment")]
    return Document(schema_of([table], (own_hints or {}).get("schema"), path), tuple(losses))


def _own_hints(properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the hints of a file from ``write``, None for other files."""
    try:
        hints = json.loads(properties[HINTS])
    except (KeyError, TypeError, ValueError):
        return None
    return hints if isinstance(hints, dict) and isinstance(hints.get("columns", {}), dict) else None


def _partitions(root: dict[str, Any], fields: list[dict[str, Any]], table: str) -> tuple[frozenset[str], list[Loss]]:
    """Return the columns whose values partition the table, and losses for other partitions and for sort orders."""
    names = {field.get("id"): field["name"] for field in fields}
    partition_columns, losses = set(), []
    for kind, default, key in (
        ("partition-specs", "default-spec-id", "spec-id"),
        ("sort-orders", "default-sort-order-id", "order-id"),
    ):
        specs = [spec for spec in root.get(kind) or () if isinstance(spec, dict)]
        for item in next((item for item in specs if item.get(key) == root.get(default)), {}).get("fields") or ():
            if kind == "partition-specs" and item.get("transform") == "identity" and item.get("source-id") in names:
                partition_columns.add(names[item["source-id"]])
            else:
                transform = f"{item.get('transform')}({names.get(item.get('source-id'))})"
                losses.append(Loss(table, kind.removesuffix("s"), transform))
    return frozenset(partition_columns), losses


def _unnumbered(native: Any) -> Any:
    match native:
        case {"type": "struct", "fields": list(fields)}:
            return {"type": "struct", "fields": [_unnumbered(child) for child in fields if isinstance(child, dict)]}
        case {"type": "list" | "map"}:
            plain = {key: value for key, value in native.items() if not key.endswith("-id")}
            return {key: _unnumbered(value) if key in ("element", "value") else value for key, value in plain.items()}
        case {"name": _, "type": inner_type}:
            return {**{key: value for key, value in native.items() if key != "id"}, "type": _unnumbered(inner_type)}
    return native


def _read(name: str, native: dict[str, Any]) -> Field:
    number = {"x-id": native["id"]} if type(native.get("id")) is int else {}
    properties = {"nullable": native.get("required") is not True, **note(native.get("doc")), **number}
    read = _field_of(name, native.get("type"), properties)
    unread = tuple((key, value, None) for key, value in native.items() if key not in _READ)
    return replace(read, unread=(*unread, *read.unread))


def _field_of(name: str, native: Any, properties: dict[str, Any]) -> Field:
    json_ = {"data_type": "json", **properties}
    match native:
        case {"type": "struct", "fields": [_, *_] as fields}:
            return Field(name, json_, fields=tuple(_read(str(child.get("name")), child) for child in fields))
        case {"type": "list"}:
            return Field(name, json_, element=_field_of("element", native.get("element"), {}))
        case {"type": "map", "key": "string"}:
            return Field(name, json_, values=_field_of("value", native.get("value"), {}))
        case {"type": "struct", "fields": []}:
            return Field(name, json_)
        case str():
            is_known = native in _PLAIN or _SIZED.fullmatch(native) is not None
            lost_fact = ("type", {"type": native}, {"data_type": "text"})
            return Field(name, {**_scalar(native), **properties}, unread=() if is_known else (lost_fact,))
    return Field(name, json_, unread=(("type", {"type": native}, {"data_type": "json"}),))


def _scalar(of: str) -> Mapping[str, Any]:
    sized = _SIZED.fullmatch(of)
    if sized is None:
        return _PLAIN.get(of, {"data_type": "text"})
    if sized[1] == "fixed":
        return {"data_type": "binary", "precision": int(sized[2])}
    return {"data_type": "decimal", "precision": int(sized[2]), "scale": int(sized[3] or 0)}


CODEC: Final = Codec(_write, _read)
