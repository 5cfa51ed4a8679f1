"""Avro schemas: a record for each table, several as a union; other properties are in attributes ``x-dlt``.

https://avro.apache.org/docs/1.12.0/specification: a reader passes over attributes that it does not know, and over
logical types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.errors import Location
from schemactl.formats._fields import Codec, hint_item, losses_of
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import data_tables, record, schema_hints, schema_of, table_hints
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.types import DataType, Schema
from schemactl.trees.json_text import read_json
from schemactl.type_systems.fields import HINTS, Field, fields_of, note

ENDINGS: Final = (".avsc", ".avro.json")

SCHEMA_HINTS: Final = f"{HINTS}-schema"
"""On the first record: the schema-level properties."""

NAME: Final = f"{HINTS}-name"
"""The name of a table or column that Avro does not permit as a name."""

_ANY: Final = {"type": "string", "logicalType": "json"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WEI_DIGITS: Final = 78

_LOGICAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "timestamp-millis": {"data_type": "timestamp", "precision": 3},
    "timestamp-micros": {"data_type": "timestamp"},
    "timestamp-nanos": {"data_type": "timestamp", "precision": 9},
    "local-timestamp-millis": {"data_type": "timestamp", "precision": 3, "timezone": False},
    "local-timestamp-micros": {"data_type": "timestamp", "timezone": False},
    "local-timestamp-nanos": {"data_type": "timestamp", "precision": 9, "timezone": False},
    "date": {"data_type": "date"},
    "time-millis": {"data_type": "time", "precision": 3},
    "time-micros": {"data_type": "time"},
    "json": {"data_type": "json"},
}
_PRIMITIVE: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"data_type": "text"}, "boolean": {"data_type": "bool"}, "long": {"data_type": "bigint"},
    "int": {"data_type": "bigint", "precision": 32}, "float": {"data_type": "double"},
    "double": {"data_type": "double"}, "bytes": {"data_type": "binary"},
}  # fmt: skip
_READ: Final = frozenset(("name", "type", "doc", "field-id", HINTS, SCHEMA_HINTS, NAME))
_PARTS: Final = {"record": "record", "error": "record", "array": "array", "map": "map", "enum": "enum"}
_SHAPES: Final[Shapes] = {
    "type": Shape(keys={"type": "type"}, required=("type",), by_type=_PARTS, items="part", is_text=True),
    # Of a union; Avro does not permit a union within a union.
    "part": Shape(keys={"type": "type"}, required=("type",), by_type=_PARTS, is_text=True),
    "record": Shape(keys={"fields": "fields"}, required=("fields",)),
    "fields": Shape(items="field"),
    "field": Shape(keys={"name": "text", "type": "type"}, required=("name", "type")),
    "array": Shape(keys={"items": "type"}, required=("items",)),
    "map": Shape(keys={"values": "type"}, required=("values",)),
    "enum": Shape(keys={"symbols": "symbols"}, required=("symbols",)),
    "symbols": Shape(items="text"),
    "text": TEXT,
}


def recognises(text: str) -> bool:
    """Return whether a text looks as an Avro schema: it describes a record."""
    return re.search(r'"type"\s*:\s*"record"', text) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the Avro schema of the rows of the tables of a schema."""
    records: list[dict[str, Any]] = []
    for table in data_tables(schema):
        fields = [
            {**_name(field.name), **_label(_write(field), (table.name, field.name)), **hint_item(CODEC.hints(field))}
            for field in fields_of(table)
        ]
        more = {**note(table.properties.get("description"), "doc"), **hint_item(table_hints(table))}
        records.append({"type": "record", **_name(table.name), **more, "fields": fields})
    if hints := schema_hints(schema):
        records[:1] = [{**record, SCHEMA_HINTS: hints} for record in records[:1]]
    return f"{json.dumps(records[0] if len(records) == 1 else records, indent=2, ensure_ascii=False)}\n"


def _name(name: str) -> dict[str, Any]:
    """Return a name that Avro permits, with the original name next to it if they differ."""
    if _NAME.fullmatch(name):
        return {"name": name}
    safe = re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match.group()):x}_", name)
    return {"name": safe if _NAME.fullmatch(safe) else f"_{safe}", NAME: name}


def _write(field: Field) -> dict[str, Any]:
    """Return the attributes of the field of a record, without names of records in it."""
    of = _type(field)
    doc = note(field.description, "doc")
    identity = field.properties.get("x-id")
    number = {"field-id": identity} if isinstance(identity, int) and not isinstance(identity, bool) else {}
    return {"type": ["null", of], "default": None, **doc, **number} if field.nullable else {"type": of, **doc, **number}


def _type(field: Field) -> Any:  # noqa: C901, PLR0911 - a case for each type
    if field.fields:
        return {"type": "record", "fields": [{**_name(child.name), **_write(child)} for child in field.fields]}
    if field.element:
        return {"type": "array", "items": ["null", _type(field.element)]}
    if field.values:
        return {"type": "map", "values": ["null", _type(field.values)]}
    match field.data_type:
        case DataType.BIGINT:
            return "int" if (field.precision or 64) <= 32 else "long"
        case DataType.DECIMAL:
            precision, scale = field.precision or 38, field.scale if field.scale is not None else 0
            scale = 9 if field.precision is None and field.scale is None else scale
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": min(scale, precision)}
        case DataType.WEI:
            return {"type": "bytes", "logicalType": "decimal", "precision": _WEI_DIGITS, "scale": 0}
        case DataType.TIMESTAMP:
            local = "local-" if field.properties.get("timezone") is False else ""
            digits = 6 if field.precision is None else field.precision
            unit = "millis" if digits <= 3 else "micros" if digits <= 6 else "nanos"
            return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
        case DataType.TIME:
            is_short = field.precision is not None and field.precision <= 3
            return {"type": "int" if is_short else "long", "logicalType": f"time-{'millis' if is_short else 'micros'}"}
        case DataType.DATE:
            return {"type": "int", "logicalType": "date"}
        case DataType.JSON:
            return dict(_ANY)
    return {"text": "string", "double": "double", "bool": "boolean", "binary": "bytes"}[field.data_type]


def _label(native: Any, path: tuple[str, ...] | None) -> Any:
    """Return a type with unique record names, made from their paths; without names if ``path`` is None."""
    match native:
        case {"type": "record", "fields": list(fields)} if path is None:
            return {"type": "record", "fields": [_label(child, None) for child in fields]}
        case {"type": "record", "fields": list(fields)} if path is not None:
            name = _name(path[-1])["name"]
            space = ".".join(_name(name_part)["name"] for name_part in path[:-1])
            inner = [_label(child, (*path, child["name"])) for child in fields]
            return {"type": "record", "name": name, "namespace": space, "fields": inner}
        case dict():
            parts = {key: _label(value, path) for key, value in native.items() if key in ("type", "items", "values")}
            return {**native, **parts}
        case list():
            return [_label(branch, path) for branch in native]
    return native


def read(text: str, path: str) -> Document:
    """Return the schema that an Avro schema describes: each record at its top is a table."""
    source, tree, root = read_json(text, path)
    types_by_name: dict[str, Any] = {}
    types = [_expand(native, types_by_name, ()) for native in (root if isinstance(root, list) else [root])]
    record_types = [native for native in types if isinstance(native, dict) and native.get("type") == "record"]
    if (not record_types and root != []) or any(not isinstance(native.get("name"), str) for native in record_types):
        raise source.refuse("this Avro schema describes no record", 0, "it must have `type: record` and a `name`")
    check_shape(source, tree, _SHAPES, "type")
    visited = set[int]()
    inner_names = {reference for record_type in record_types for reference in _references(record_type, visited)}

    has_all = len(record_types) == 1 or HINTS in str(root)
    table_types = [native for native in record_types if has_all or native["name"] not in inner_names]
    # A name that is neither a type nor defined here may be a record of another file.
    unknown = [word for word in types if isinstance(word, str) and word not in (*_PRIMITIVE, "null")]
    records, losses = [], [Loss("", "type", {"type": word}, {}) for word in unknown]
    expansion = Expansion(Location(path), len(text))
    for record_type in table_types:
        name = str(record_type[NAME]) if NAME in record_type else record_type["name"].rpartition(".")[2]
        fields = []
        for field in record_type["fields"]:
            bounded, lost_facts = _bounded(field, expansion)
            fields.append(bounded)
            losses += (Loss(f"{name}.{_real_name(field)}", *unread) for unread in lost_facts)
        columns = []
        for field in fields:
            native_type = _label({key: value for key, value in field.items() if key not in ("name", NAME, HINTS)}, None)
            column = _real_name(field)
            columns.append((column, CODEC.restored(column, native_type, field.get(HINTS), path)))
        records.append(record(name, columns, record_type.get("doc"), record_type.get(HINTS)))
        losses += losses_of((_read(_real_name(field), field) for field in fields), name)
    return Document(schema_of(records, table_types[0].get(SCHEMA_HINTS) if table_types else None, path), tuple(losses))


def _real_name(native: dict[str, Any]) -> str:
    return str(native.get(NAME) or native["name"])


def _expand(native: Any, types: dict[str, Any], outer_names: tuple[str, ...]) -> Any:
    """Return a type with its named types inlined; a recursive type is any JSON."""
    match native:
        case str():
            defined_type = types.get(native, types.get(native.rpartition(".")[2]))
            return native if defined_type is None else dict(_ANY) if native in outer_names else defined_type
        case list():
            return [_expand(branch, types, outer_names) for branch in native]
        case {"type": "record" | "error", "fields": list(fields)}:
            name = str(native.get("name") or "")
            _defined(name, _ANY, types)
            names = (*outer_names, name)
            expanded_fields = [
                {**child, "type": _expand(child.get("type"), types, names)} if isinstance(child, dict) else child
                for child in fields
            ]
            return _defined(name, {**native, "type": "record", "fields": expanded_fields}, types)
        case {"type": "enum" | "fixed"}:
            return _defined(str(native.get("name")), native, types)
        case {"type": dict() | list() as inner}:
            return _expand(inner, types, outer_names)
        case dict():
            parts = {key: _expand(native[key], types, outer_names) for key in ("items", "values") if key in native}
            return {**native, **parts}
    return native


def _defined(name: str, of: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """Register a type under its full name, and under the short name of its namespace; return it."""
    types[name] = types[name.rpartition(".")[2]] = of
    return of


def _bounded(native: dict[str, Any], expansion: Expansion) -> tuple[dict[str, Any], tuple[tuple[str, str, None], ...]]:
    """Return a field, with JSON in place of a type with too many nested fields, and the resulting losses."""
    expansion.start_column()
    try:
        _count_fields(native, expansion, 0)
    except TooManyFieldsError as error:
        is_nullable = isinstance(native["type"], list) and "null" in native["type"]
        return {**native, "type": ["null", _ANY] if is_nullable else _ANY}, (error.lost,)
    return native, ()


def _count_fields(field: dict[str, Any], expansion: Expansion, level: int) -> None:
    field_type = field.get("type")
    branches = field_type if isinstance(field_type, list) else [field_type]
    symbols = (branch["symbols"] for branch in branches if isinstance(branch, dict) and "symbols" in branch)
    expansion.count(level, *symbols, *(value for key, value in field.items() if key != "type"))
    for branch in branches:
        match branch:
            case {"type": "record", "fields": list(fields)}:
                for child in fields:
                    _count_fields(child, expansion, level + 1)
            case {"type": "array", "items": child} | {"type": "map", "values": child}:
                _count_fields({"type": child}, expansion, level + 1)


def _references(native: Any, visited: set[int]) -> Iterator[str]:
    """Yield the names of the records in a record, except within records in ``visited`` (by ``id``)."""
    if id(native) in visited:
        return
    visited.add(id(native))
    match native:
        case {"type": "record", "fields": list(fields)}:
            for child in fields:
                field_type = child.get("type") if isinstance(child, dict) else None
                for branch in field_type if isinstance(field_type, list) else (field_type,):
                    inner_type = branch
                    while isinstance(inner_type, dict) and inner_type.get("type") in ("array", "map"):
                        inner_type = inner_type.get("items", inner_type.get("values"))
                    if isinstance(inner_type, dict) and inner_type.get("type") == "record":
                        yield str(inner_type.get("name"))
                        yield from _references(inner_type, visited)


def _read(name: str, native: dict[str, Any]) -> Field:
    field_type = native.get("type")
    branches = field_type if isinstance(field_type, list) else [field_type]
    value_types = [branch for branch in branches if branch != "null"]
    properties: dict[str, Any] = {"nullable": len(value_types) < len(branches), **note(native.get("doc"))}
    if isinstance(native.get("field-id"), int):
        properties["x-id"] = native["field-id"]
    unread = [(key, value, None) for key, value in native.items() if key not in (*_READ, "default")]
    unread += [("default", native["default"], None)] if native.get("default") is not None else []
    unread += [("union", value_types, None)] if len(value_types) > 1 or not branches else []
    field = _field_of(name, value_types[0] if len(value_types) == 1 else _ANY, properties)
    return replace(field, unread=(*unread, *field.unread))


def _field_of(name: str, native: Any, properties: dict[str, Any]) -> Field:
    json_ = {"data_type": "json", **properties}
    match native:
        case {"type": "record", "fields": list(fields)}:
            inner = tuple(
                _read(_real_name(child), child) for child in fields if isinstance(child, dict) and "name" in child
            )
            return Field(name, json_, fields=inner)
        case {"type": "array"}:
            return Field(name, json_, element=_read("element", {"type": native.get("items")}))
        case {"type": "map"}:
            return Field(name, json_, values=_read("value", {"type": native.get("values")}))
        case {"type": "enum", "symbols": list(symbols)}:
            return Field(name, {"data_type": "text", **properties, "x-enum": symbols})
        case {"logicalType": "decimal", "precision": int(precision)}:
            scale = native.get("scale") or 0
            if precision == _WEI_DIGITS and not scale:
                return Field(name, {"data_type": "wei", **properties})
            return Field(name, {"data_type": "decimal", "precision": precision, "scale": scale, **properties})
        case {"logicalType": str(logical)} if logical in _LOGICAL:
            return Field(name, {**_LOGICAL[logical], **properties})
        case {"type": "fixed", "size": int(size)}:
            return Field(name, {"data_type": "binary", "precision": size, **properties})
        case {"type": str(primitive)} | str(primitive) if primitive in _PRIMITIVE:
            return Field(name, {**_PRIMITIVE[primitive], **properties})
    is_json = native in (_ANY, "null") or (isinstance(native, dict) and native.get("type") == "record")
    return Field(name, json_, unread=() if is_json else (("type", {"type": native}, {"data_type": "json"}),))


CODEC: Final = Codec(_write, _read)
