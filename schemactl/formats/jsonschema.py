"""JSON Schema 2020-12: an object for each table, in ``$defs``; what its keywords do not say stands in ``x-dlt``.

https://json-schema.org/draft/2020-12/json-schema-core and .../json-schema-validation; formats ``int32`` and so on are
those of the OpenAPI registry. With ``--nested`` the objects are the documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import quote, unquote

from schemactl.errors import InputError, Location
from schemactl.formats._fields import HINTS, Codec, Field, fields_of, hinted, losses_of, note
from schemactl.formats._json_tree import parse_json
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import ANY, TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import Record, data_tables, file_table_name, record, schema_hints, schema_of, table_hints
from schemactl.formats._tree import Source, value_of
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.json_schema import DIALECT
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, Schema, Table
from schemactl.schema.validation import storable

ENDINGS: Final = (".jsonschema.json", ".jsonschema", ".schema.json", ".json")

LIMITS: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "x-pattern": ("pattern", str), "x-minimum": ("minimum", (int, float)), "x-maximum": ("maximum", (int, float)),
    "x-exclusive-minimum": ("exclusiveMinimum", (int, float)),
    "x-exclusive-maximum": ("exclusiveMaximum", (int, float)), "x-multiple-of": ("multipleOf", (int, float)),
    "x-min-length": ("minLength", int), "x-min-items": ("minItems", int), "x-max-items": ("maxItems", int),
    "x-unique-items": ("uniqueItems", bool), "x-deprecated": ("deprecated", bool),
}  # fmt: skip
"""Hints that JSON Schema, and data contracts, have keywords for, with the type that their values must have there."""

_ANY: Final = ["object", "array", "string", "number", "boolean"]
_BY_TYPE: Final[Mapping[DataType, Mapping[str, Any]]] = {
    DataType.TEXT: {"type": ["string"]},
    DataType.DOUBLE: {"type": ["number"]},
    DataType.BOOL: {"type": ["boolean"]},
    DataType.TIMESTAMP: {"type": ["string"], "format": "date-time"},
    DataType.BIGINT: {"type": ["integer"]},
    DataType.BINARY: {"type": ["string"], "contentEncoding": "base64"},
    DataType.JSON: {"type": _ANY},
    DataType.DECIMAL: {"type": ["number", "string"], "format": "decimal"},
    DataType.WEI: {"type": ["integer", "string"], "format": "wei"},
    DataType.DATE: {"type": ["string"], "format": "date"},
    DataType.TIME: {"type": ["string"], "format": "time"},
}
_BY_FORMAT: Final = {
    "date-time": "timestamp", "date": "date", "time": "time", "decimal": "decimal", "wei": "wei",
}  # fmt: skip
_BITS: Final = {f"int{bits}": bits for bits in (8, 16, 32)}

_READ: Final = frozenset({
    "type", "format", "properties", "required", "items", "additionalProperties", "description", "enum", "const",
    "$ref", "$defs", "definitions", "$schema", "$id", "$anchor", "anyOf", "oneOf", "allOf", "contentEncoding",
    "maxLength", "title", HINTS, *(word for word, _ in LIMITS.values()),
})  # fmt: skip
_VALUED: Final = frozenset(("enum", "const", "maxLength", *(word for word, _ in LIMITS.values())))
"""Keywords whose values are hints as they are."""

_COUNTED: Final = frozenset(("description", "enum", "const", "pattern", "$anchor", "$id", "required"))
"""Keywords whose values can be long, and that each column states that refers to them."""

_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_KEYWORDS: Final = {
    "type": "types", "properties": "schemas", "$defs": "schemas", "definitions": "schemas", "items": "items",
    "additionalProperties": "schema", "allOf": "parts", "anyOf": "parts", "oneOf": "parts", "$ref": "text",
    "enum": "values",
}  # fmt: skip
_SHAPES: Final[Shapes] = {
    "schema": Shape(keys=_KEYWORDS, is_flag=True),
    "schemas": Shape(keys={}, values="schema"),
    "items": Shape(keys=_KEYWORDS, items="schema", is_flag=True),
    "parts": Shape(items="schema"),
    "types": Shape(items="text", is_text=True),
    "values": Shape(items="value"),
    "value": ANY,
    "text": TEXT,
}
_OWN: Final[Shapes] = {
    "schema": Shape(keys={"$defs": "tables"}, required=("$defs",)),
    "tables": Shape(keys={}, values="table"),
    "table": Shape(keys={}, required=("properties",)),
}


def recognises(text: str) -> bool:
    """Return whether a text looks as a JSON Schema: it says so, or describes an object by its properties."""
    return (
        "json-schema.org" in text
        or re.search(r'^\s*\{(?=.*"type"\s*:\s*"object")(?=.*"properties"\s*:)', text, re.DOTALL) is not None
    )


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the JSON Schema of documents that are rows of the tables of a schema."""
    tables = list(data_tables(schema))
    pointers = (quote(table.name.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@") for table in tables)
    refs = [{"$ref": f"#/$defs/{each}"} for each in pointers]
    root: dict[str, Any] = {"$schema": DIALECT, "title": schema.name, HINTS: schema_hints(schema)}
    if refs:
        root |= refs[0] if len(refs) == 1 else {"anyOf": refs}
    document = {**root, "$defs": {table.name: _table(table) for table in tables}}
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def _table(table: Table) -> dict[str, Any]:
    fields = fields_of(table)
    native = _object(tuple(fields))
    for field in fields:
        native["properties"][field.name] |= hinted(CODEC.hints(field))
    described = note(table.properties.get("description"))
    return {"title": table.name, **described, **native, **hinted(table_hints(table))}


def _object(fields: tuple[Field, ...]) -> dict[str, Any]:
    required = [field.name for field in fields if not field.nullable]
    properties = {field.name: _write(field) for field in fields}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _write(field: Field) -> dict[str, Any]:
    if field.fields:
        native = _object(field.fields)
        types = ["object"]
    elif field.element:
        types, native = ["array"], {"items": _write(field.element)}
    elif field.values:
        types, native = ["object"], {"additionalProperties": _write(field.values)}
    else:
        known = _BY_TYPE[field.data_type]
        types, native = list(known["type"]), {key: value for key, value in known.items() if key != "type"}
        native |= _sizes(field)
    native["type"] = types[0] if len(types) == 1 and not field.nullable else types + ["null"] * field.nullable
    if field.nullable and types == _ANY:
        del native["type"]
    for hint, (word, of) in LIMITS.items():
        value = field.properties.get(hint)
        if isinstance(value, of) and (of is bool or not isinstance(value, bool)):
            native[word] = value
    values = field.properties.get("x-enum")
    if isinstance(values, list) and values and None not in values:
        native["enum"] = [*values, None] if field.nullable else values
    anchor = field.properties.get("x-id")
    if isinstance(anchor, str) and _ANCHOR.fullmatch(anchor):
        native["$anchor"] = anchor
    # The type first, as people write it.
    words = {"type": native.pop("type")} if "type" in native else {}
    return {**words, **note(field.description), **native}


def _sizes(field: Field) -> dict[str, Any]:
    if field.data_type is DataType.BIGINT and field.precision in _BITS.values():
        return {"format": f"int{field.precision}"}
    return {"maxLength": field.precision} if field.data_type is DataType.TEXT and field.precision is not None else {}


def read(text: str, path: str) -> Document:
    """Return the schema that a JSON Schema describes.

    What ``write`` made comes back as its tables. Of others the root object is a table, named after the file, or else
    each object in ``$defs`` is one. Objects and lists in it are columns of nested data.
    """
    source = Source(path, text)
    tree = parse_json(source)
    root = value_of(tree)
    if not isinstance(root, dict):
        raise source.refuse("a JSON Schema is an object", 0)
    check_shape(source, tree, _SHAPES, "schema")
    expansion = Expansion(Location(path), len(text))
    resolve = partial(_resolved_table, root=root, expansion=expansion, path=path)
    definitions = root.get("$defs") or root.get("definitions") or {}
    if HINTS in root:
        check_shape(source, tree, _OWN, "schema")
        found = definitions
    else:
        name = file_table_name(path)
        whole = resolve(root)
        if isinstance(whole.get("items"), dict) and "array" in _types(whole):
            whole = resolve(whole["items"])
        found = {name: whole} if whole.get("properties") else definitions
    tables = {name: resolve(each) for name, each in found.items() if isinstance(each, dict)}
    objects = {name: each for name, each in tables.items() if isinstance(each.get("properties"), dict)}
    fields = {
        name: [_column(column, of, root, expansion) for column, of in each["properties"].items()]
        for name, each in objects.items()
    }
    records = [_record(name, each, root, path) for name, each in objects.items()]
    if not records and HINTS not in root:
        raise source.refuse("this JSON Schema describes no object", 0, "it must have `properties`")
    losses: list[Loss] = []
    normalize = naming_of(new_schema("title")).normalize_table_identifier
    for name, each in tables.items():
        title = each.get("title")
        if isinstance(title, str) and title.strip() and normalize(name) != normalize(title.strip()):
            losses.append(Loss(name, "title", title))
        losses += _unread(name, each)
        losses += losses_of(fields.get(name, ()), name)
    return Document(schema_of(records, root.get(HINTS), path), tuple(losses))


def _resolved_table(native: Any, root: dict[str, Any], expansion: Expansion, path: str) -> dict[str, Any]:
    try:
        return _resolved(native, root, (), expansion)
    except TooManyFieldsError as error:
        message = f"a table is composed of schemas that name each other in {error}"
        raise InputError(message, at=Location(path), hint="write its `properties` out") from error


def _record(name: str, native: dict[str, Any], root: dict[str, Any], path: str) -> Record:
    codec = Codec(_write, lambda name, each: _column(name, each, root))
    columns = []
    required = _required(native)
    for column, each in native["properties"].items():
        own = {key: value for key, value in each.items() if key != HINTS} if isinstance(each, dict) else {}
        hints = each.get(HINTS) if isinstance(each, dict) else None
        properties = codec.restored(column, own, hints, path)
        if column not in required and properties.get("nullable") is False:
            del properties["nullable"]
        columns.append((column, properties))
    return record(name, columns, native.get("description"), native.get(HINTS))


def limits_in(native: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints that keywords state; a number that no schema can hold is left out."""
    stated = {hint: native[word] for hint, (word, of) in LIMITS.items() if isinstance(native.get(word), of)}
    return {hint: value for hint, value in stated.items() if is_storable(value)}


def is_storable(value: Any) -> bool:
    """Return whether a schema can hold a value: integers have 64 bits."""
    return next(storable(value, ()), None) is None


def _required(native: dict[str, Any]) -> frozenset[str]:
    stated = native.get("required")
    return frozenset(each for each in stated if isinstance(each, str)) if isinstance(stated, list) else frozenset()


_NULL: Final = {"type": "null"}


def _resolved(
    native: Any, root: dict[str, Any], seen: tuple[str, ...], expansion: Expansion, level: int = 0
) -> dict[str, Any]:
    """Return a schema without ``$ref``, ``allOf`` and alternatives of which only one is not null.

    What refers to itself is any JSON: a column has an end.

    Raises:
        TooManyFieldsError, InputError: references and parts lead to more schemas than are read.
    """
    if not isinstance(native, dict):
        return {}
    expansion.follow(level)
    reference = native.get("$ref")
    if isinstance(reference, str):
        own = {key: value for key, value in native.items() if key != "$ref"}
        if reference in seen:
            return own
        target = _pointed(root, reference)
        # One that leads nowhere stays, for `_read` to report it.
        return {
            **(native if target is None else _resolved(target, root, (*seen, reference), expansion, level + 1)),
            **own,
        }
    for word in ("allOf", "anyOf", "oneOf"):
        parts = native.get(word)
        if not isinstance(parts, list):
            continue
        own = {key: value for key, value in native.items() if key != word}
        found = [_resolved(part, root, seen, expansion, level + 1) for part in parts if part != _NULL]
        if word == "allOf":
            for part in found:
                own = _merged(own, part)
        elif len(found) == 1:
            own = {**found[0], **own}
            if _NULL in parts and "type" in own:
                own["type"] = list(dict.fromkeys((*_types(own), "null")))
        else:
            continue
        return _resolved(own, root, seen, expansion, level + 1)
    return native


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = {**second, **first}
    if "properties" in first and "properties" in second:
        both["properties"] = {**second["properties"], **first["properties"]}
    if "required" in first and "required" in second:
        both["required"] = list(dict.fromkeys((*second["required"], *first["required"])))
    return both


def _references(native: Any) -> Iterator[str]:
    """Yield the references that a schema follows, those of its alternatives and parts too."""
    if isinstance(native, dict):
        if "$ref" in native:
            yield native["$ref"]
        for word in ("allOf", "anyOf", "oneOf"):
            for part in native.get(word, ()):
                yield from _references(part)


def _pointed(root: Any, reference: str) -> Any:
    """Return the schema that a reference within a document leads to, None where there is none."""
    if not re.match(r"#(?:/|$)", reference):
        return None
    for part in unquote(reference[1:]).split("/")[1:]:
        root = root.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root


def _types(native: dict[str, Any]) -> list[str]:
    stated = native.get("type")
    if stated is None:
        values = native.get("enum") or ([native["const"]] if "const" in native else [])
        if "properties" in native:
            return ["object"]
        return (
            list(dict.fromkeys(_VALUES.get(type(each), "object") for each in values))
            if isinstance(values, list)
            else []
        )
    return [stated] if isinstance(stated, str) else [each for each in stated if isinstance(each, str)]


_VALUES: Final = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def _column(name: str, stated: Any, root: dict[str, Any], expansion: Expansion | None = None) -> Field:
    """Return the column of a property; one of too many nested fields is any JSON."""
    expansion = expansion or Expansion()
    expansion.start_column()
    native: dict[str, Any] = {}
    try:
        native = _resolved(stated, root, (), expansion)
        return _read(name, stated, root, (), expansion, 0)
    except TooManyFieldsError as error:
        properties = {"data_type": "json", "nullable": "null" in _types(native), **note(native.get("description"))}
        return Field(name, properties, unread=(error.lost,))


def _read(
    name: str, stated: Any, root: dict[str, Any], seen: tuple[str, ...], expansion: Expansion, level: int
) -> Field:
    below = level + 1
    native = _resolved(stated, root, seen, expansion)
    expansion.count(level, name, *(value for word, value in native.items() if word in _COUNTED))
    seen = (*seen, *_references(stated))
    types = [each for each in _types(native) if each != "null"]
    is_nullable = "null" in _types(native) or not types
    properties: dict[str, Any] = {"nullable": is_nullable, **note(native.get("description")), **limits_in(native)}
    values = native.get("enum", [native["const"]] if "const" in native else None)
    if isinstance(values, list) and (known := [each for each in values if each is not None]) and is_storable(known):
        properties["x-enum"] = known
    identity = native.get("$anchor", native.get("$id"))
    if isinstance(identity, str):
        properties["x-id"] = identity
    if types == ["object"] and isinstance(native.get("properties"), dict) and native["properties"]:
        required = _required(native)
        fields = [_read(each, inner, root, seen, expansion, below) for each, inner in native["properties"].items()]
        inner = tuple(
            replace(each, properties={**each.properties, "nullable": True}) if each.name not in required else each
            for each in fields
        )
        return Field(name, {"data_type": "json", **properties}, fields=inner)
    if types == ["array"] and isinstance(native.get("items"), dict):
        element = _read("element", native["items"], root, seen, expansion, below)
        return Field(name, {"data_type": "json", **properties}, element=element)
    if types == ["object"] and isinstance(native.get("additionalProperties"), dict):
        value = _read("value", native["additionalProperties"], root, seen, expansion, below)
        return Field(name, {"data_type": "json", **properties}, values=value)
    return Field(name, {**_scalar(types, native), **properties}, unread=tuple(_unknown_type(native)))


def _unknown_type(native: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield a reference that leads nowhere, and types that JSON Schema does not have."""
    if "$ref" in native:
        yield "type", {"$ref": native["$ref"]}, {"data_type": "json"}
    elif not {"array", "object", "null", *_VALUES.values()}.issuperset(_types(native)):
        yield "type", {"type": native["type"]}, {"data_type": "json"}


def _scalar(types: list[str], native: dict[str, Any]) -> dict[str, Any]:
    stated = native.get("format")
    if types in (["integer", "string"], ["number", "string"]) and stated in ("wei", "decimal"):
        return {"data_type": stated}
    match types:
        case ["integer"]:
            bits = _BITS.get(str(stated))
            return {"data_type": "bigint", **({"precision": bits} if bits else {})}
        case ["number"]:
            return {"data_type": "decimal" if stated == "decimal" else "double"}
        case ["integer", "number"] | ["number", "integer"]:
            return {"data_type": "double"}
        case ["boolean"]:
            return {"data_type": "bool"}
        case ["string"]:
            if native.get("contentEncoding") == "base64":
                return {"data_type": "binary"}
            data_type = _BY_FORMAT.get(str(stated), "text")
            longest = native.get("maxLength")
            is_size = isinstance(longest, int) and not isinstance(longest, bool) and is_storable(longest)
            sized = data_type == "text" and is_size
            return {"data_type": data_type, **({"precision": longest} if sized else {})}
    return {"data_type": "json"}


CODEC: Final = Codec(_write, lambda name, native: _column(name, native, {}))


def _unread(place: str, native: Any) -> Iterator[Loss]:
    """Yield the keywords that say something of values for which a column has no property."""
    if not isinstance(native, dict):
        return
    for word, value in native.items():
        is_mixed = word in ("anyOf", "oneOf") and isinstance(value, list) and len([e for e in value if e != _NULL]) > 1
        is_closed = word == "additionalProperties" and isinstance(value, bool)
        is_format = word == "format" and value not in (*_BY_FORMAT, *_BITS, "int64", "double", "float")
        is_tuple = word == "items" and isinstance(value, list)
        is_too_large = word in _VALUED and not is_storable(value)
        if word not in _READ or is_mixed or is_closed or is_format or is_tuple or is_too_large:
            yield Loss(place, word, value)
    properties = native.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        yield from _unread(f"{place}.{name}", each)
    for word in ("items", "additionalProperties"):
        if isinstance(native.get(word), dict):
            yield from _unread(place, native[word])
