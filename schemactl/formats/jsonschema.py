"""JSON Schema 2020-12: an object for each table, in ``$defs``; other properties are in ``x-dlt``.

https://json-schema.org/draft/2020-12/json-schema-core and .../json-schema-validation; formats such as ``int32`` come
from the OpenAPI registry. With ``--nested``, the objects are the documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from schemactl.errors import InputError, Location
from schemactl.formats._fields import Codec, hint_item, losses_of, mapping
from schemactl.formats._json_schemas import FlatSchema, Resolver, types_of
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import ANY, TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import Record, data_tables, file_table_name, record, schema_hints, schema_of, table_hints
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.json_schema import DIALECT
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, Schema, Table
from schemactl.schema.validation import storable
from schemactl.trees import nodes
from schemactl.trees.json_text import read_json
from schemactl.trees.nodes import Node, Source
from schemactl.type_systems.fields import HINTS, Field, fields_of, note, properties_of

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

_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_KEYWORDS: Final = {
    "type": "types", "properties": "schemas", "$defs": "schemas", "definitions": "schemas", "items": "items",
    "additionalProperties": "schema", "allOf": "parts", "anyOf": "parts", "oneOf": "parts", "$ref": "text",
    "enum": "values",
}  # fmt: skip
_SHAPES: Final[Shapes] = {
    "document": Shape(keys={**_KEYWORDS, "components": "components"}),
    "components": Shape(keys={"schemas": "schemas"}),
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
    """Return whether a text looks like a JSON Schema: it declares it, or describes an object by its properties."""
    return (
        "json-schema.org" in text
        or re.search(r'^\s*\{(?=.*"type"\s*:\s*"object")(?=.*"properties"\s*:)', text, re.DOTALL) is not None
    )


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the JSON Schema of documents that are rows of the tables of a schema."""
    tables = list(data_tables(schema))
    pointers = (quote(table.name.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@") for table in tables)
    refs = [{"$ref": f"#/$defs/{pointer}"} for pointer in pointers]
    root: dict[str, Any] = {"$schema": DIALECT, "title": schema.name, HINTS: schema_hints(schema)}
    if refs:
        root |= refs[0] if len(refs) == 1 else {"anyOf": refs}
    document = {**root, "$defs": {table.name: _table(table) for table in tables}}
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def _table(table: Table) -> dict[str, Any]:
    fields = fields_of(table)
    native = _object(tuple(fields))
    for field in fields:
        native["properties"][field.name] |= hint_item(CODEC.hints(field))
    described = note(table.properties.get("description"))
    return {"title": table.name, **described, **native, **hint_item(table_hints(table))}


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
        usual = _BY_TYPE[field.data_type]
        types, native = list(usual["type"]), {key: value for key, value in usual.items() if key != "type"}
        native |= _sizes(field)
    native["type"] = types[0] if len(types) == 1 and not field.nullable else types + ["null"] * field.nullable
    if field.nullable and types == _ANY:
        del native["type"]
    for hint, (word, value_type) in LIMITS.items():
        value = field.properties.get(hint)
        if isinstance(value, value_type) and (value_type is bool or not isinstance(value, bool)):
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
    """Return the schema that a JSON Schema, or the components of an OpenAPI document, describe.

    A file from ``write`` returns its tables. In other files, the root object is a table, named after the file, or else
    each object in ``$defs``, ``definitions`` or ``components.schemas`` is a table. Objects and lists in it are columns
    of nested data.
    """
    source, tree, root = read_json(text, path)
    if not isinstance(root, dict):
        raise source.refuse("a JSON Schema is an object", 0)
    check_shape(source, tree, _SHAPES, "document")
    if HINTS in root:
        check_shape(source, tree, _OWN, "schema")
    return _Reader(source, tree, root).document()


_STRUCTURE: Final = frozenset((
    "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "type", HINTS,
))  # fmt: skip
"""Keywords that are read of each schema, or that say nothing of its values."""
_TABLE: Final = _STRUCTURE | {"properties", "required", "nullable"}
_DOCUMENT: Final = _STRUCTURE - {"title"} | {"openapi", "swagger", "components"}


_NESTING: Final = frozenset(("properties", "items", "additionalProperties", "$defs", "definitions"))
"""Keywords whose values are read as separate fields."""


class _Reader:
    """Reads the tables of a document."""

    def __init__(self, source: Source, tree: Node, root: dict[str, Any]) -> None:
        self._source, self._root = source, root
        self._expansion = Expansion(Location(source.path), len(source.text))
        self._schemas = Resolver(source, tree, root, self._expansion)
        self._losses: list[Loss] = []

    def document(self) -> Document:
        root = self._root
        definitions = root.get("$defs") or root.get("definitions") or mapping(root.get("components")).get("schemas")
        tables, description = {}, None
        if HINTS not in root and (table := self._root_table()) is not None:
            tables[file_table_name(self._source.path)] = table
        else:
            for name, schema in mapping(definitions).items():
                table = self._flatten_table(schema)
                if isinstance(table.keywords.get("properties"), dict):
                    tables[name] = table
                elif not self._schemas.is_referenced(schema):
                    self._losses.append(Loss("", "definition", name))
            if HINTS not in root:
                description = root.get("description")
                self._losses += [Loss("", *lost) for lost in _unread_keywords(FlatSchema(root), _DOCUMENT)]
                self._losses += [
                    Loss("components", word, value)
                    for word, value in mapping(root.get("components")).items()
                    if word != "schemas"
                ]
        if not tables and HINTS not in root:
            raise self._no_table()
        records = [self._record(name, table) for name, table in tables.items()]
        hints = {**note(description), **mapping(root.get(HINTS))} if HINTS in root or description else None
        return Document(schema_of(records, hints, self._source.path), tuple(self._losses))

    def _root_table(self) -> FlatSchema | None:
        """Return the object that the root describes, or that a list of it contains; None if it describes none."""
        table = self._flatten_table(self._root)
        if isinstance(table.keywords.get("items"), dict) and "array" in types_of(table.keywords):
            rows = self._flatten_table(table.keywords["items"])
            if isinstance(rows.keywords.get("properties"), dict):
                self._losses += [Loss("", *lost) for lost in _unread_keywords(table, _STRUCTURE | {"items"})]
                return rows
        return table if table.keywords.get("properties") else None

    def _flatten_table(self, schema: Any) -> FlatSchema:
        try:
            return self._schemas.flatten(schema)
        except TooManyFieldsError as error:
            message = f"a table is composed of schemas that refer to each other in {error}"
            raise InputError(message, at=Location(self._source.path), hint="write its `properties` out") from error

    def _no_table(self) -> InputError:
        """Return the error for a document without tables; it names a reference that leads out of it."""
        reference = self._flatten_table(self._root).keywords.get("$ref")
        if isinstance(reference, str):
            message = f"`$ref: {reference}` refers to another file, and this file describes no object"
            offset = self._schemas.offset_of(self._root, "$ref")
            return self._source.refuse(message, offset, "put all schemas into one file, below `$defs`")
        return self._source.refuse("this JSON Schema describes no object", 0, "it must have `properties`")

    def _record(self, name: str, table: FlatSchema) -> Record:
        keywords = table.keywords
        title, normalize = keywords.get("title"), naming_of(new_schema("title")).normalize_table_identifier
        if isinstance(title, str) and title.strip() and normalize(name) != normalize(title.strip()):
            self._losses.append(Loss(name, "title", title))
        if set(types_of(keywords)) - {"object", "null"}:
            self._losses.append(Loss(name, "type", {"type": keywords["type"]}))
        self._losses += [Loss(name, *lost) for lost in _unread_keywords(table, _TABLE)]
        self._losses += [Loss(name, *lost) for lost in _unknown_required(keywords)]
        codec = Codec(_write, self.column)
        columns = []
        required = _required(keywords)
        for column, schema in keywords["properties"].items():
            field = self.column(column, schema)
            self._losses += losses_of([field], name)
            properties = properties_of(field)
            if isinstance(schema, dict) and HINTS in schema:
                native = {key: value for key, value in schema.items() if key != HINTS}
                properties = codec.restored(column, native, schema[HINTS], self._source.path)
            if column not in required and properties.get("nullable") is False:
                del properties["nullable"]
            columns.append((column, properties))
        return record(name, columns, keywords.get("description"), keywords.get(HINTS))

    def column(self, name: str, schema: Any) -> Field:
        """Return the column of a property; any JSON if it has too many nested fields."""
        self._expansion.start_column()
        flat = FlatSchema()
        try:
            flat = self._schemas.flatten(schema)
            return self._field(name, schema, frozenset(), 0)
        except TooManyFieldsError as error:
            is_nullable = "null" in types_of(flat.keywords)
            properties = {"data_type": "json", "nullable": is_nullable, **note(flat.keywords.get("description"))}
            return Field(name, properties, unread=(error.lost,))

    def _field(self, name: str, schema: Any, within: frozenset[int], level: int) -> Field:
        """Return a field; ``within`` are the definitions that contain it, ``level`` the fields."""
        flat = self._schemas.flatten(schema, within)
        keywords, within = flat.keywords, within | flat.definitions
        self._expansion.count(level, name, *(value for word, value in keywords.items() if word not in _NESTING))
        types = [type_ for type_ in types_of(keywords) if type_ != "null"]
        is_nullable = "null" in types_of(keywords) or not (types or flat.excludes_null)
        properties = {"nullable": is_nullable, **note(keywords.get("description")), **limits_in(keywords)}
        read_words = {"nullable", *(word for hint, (word, _) in LIMITS.items() if hint in properties)}
        unread: list[tuple[str, Any, Any]] = []
        values = keywords.get("enum", [keywords["const"]] if "const" in keywords else None)
        if isinstance(values, list) and is_storable(values):
            read_words.add("enum" if "enum" in keywords else "const")
            not_null = [value for value in values if value is not None]
            properties |= {"x-enum": not_null} if not_null else {}
        identity = mapping(schema).get("$anchor", mapping(schema).get("$id"))
        properties |= {"x-id": identity} if isinstance(identity, str) else {}
        if is_nullable and keywords.get("default", identity) is None:
            read_words.add("default")  # that of each nullable column
        members: tuple[Field, ...] = ()
        element = value = None
        if types == ["object"] and mapping(keywords.get("properties")):
            read_words |= {"properties", "required"}
            unread += [(*lost, None) for lost in _unknown_required(keywords)]
            members = self._members(keywords, within, level)
        elif types == ["array"] and isinstance(keywords.get("items"), dict):
            read_words.add("items")
            element = self._field("element", keywords["items"], within, level + 1)
        elif types == ["object"] and isinstance(keywords.get("additionalProperties"), dict):
            read_words.add("additionalProperties")
            value = self._field("value", keywords["additionalProperties"], within, level + 1)
        else:
            scalar, scalar_words = _scalar(types, keywords)
            properties = {**scalar, **properties}
            read_words |= scalar_words
            if scalar["data_type"] == "json":
                unread += _lost_types(types, keywords)
                read_words.add("$ref")
        properties = {"data_type": "json", **properties}
        unread += [(*lost, None) for lost in _unread_keywords(flat, _STRUCTURE | read_words)]
        return Field(name, properties, members, element, value, tuple(unread))

    def _members(self, keywords: dict[str, Any], outer: frozenset[int], level: int) -> tuple[Field, ...]:
        required = _required(keywords)
        fields = [self._field(name, schema, outer, level + 1) for name, schema in keywords["properties"].items()]
        return tuple(
            field if field.name in required else replace(field, properties={**field.properties, "nullable": True})
            for field in fields
        )


def limits_in(native: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints that keywords state; a number that no schema can hold is left out."""
    limits = {hint: native[word] for hint, (word, value_type) in LIMITS.items() if _is_of(native.get(word), value_type)}
    return {hint: value for hint, value in limits.items() if is_storable(value)}


def _is_of(value: Any, of: type | tuple[type, ...]) -> bool:
    return isinstance(value, of) and (of is bool or not isinstance(value, bool))


def is_storable(value: Any) -> bool:
    """Return whether a schema can hold a value: integers have 64 bits."""
    return next(storable(value, ()), None) is None


def _required(keywords: Mapping[str, Any]) -> frozenset[str]:
    names = keywords.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _unknown_required(keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names of ``required`` that are not properties."""
    if unknown := sorted(_required(keywords) - keywords["properties"].keys()):
        yield "required", unknown


def _unread_keywords(flat: FlatSchema, read_words: Set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the unread keywords, and overridden values, except for keywords that permit everything."""
    for word, value in flat.keywords.items():
        if word not in read_words and not (value is True and word in _TRUE_BY_DEFAULT):
            yield word, value
    yield from flat.overridden


_TRUE_BY_DEFAULT: Final = frozenset(("items", "additionalProperties", "additionalItems", "unevaluatedProperties"))


def _lost_types(types: list[str], keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the types of a column of any JSON that permits no other values: a mix, an unknown type, another file's."""
    if "$ref" in keywords:
        yield "type", {"$ref": keywords["$ref"]}, {"data_type": "json"}
    if not {"object", "array"}.issuperset(types) and not set(_ANY).issubset(types) and "type" in keywords:
        yield "type", {"type": keywords["type"]}, {"data_type": "json"}


def _scalar(types: list[str], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the type of a column without nested fields, and the keywords, besides ``type``, that determine it."""
    format_ = str(keywords.get("format"))
    by_format = frozenset(("format",))
    match types:
        case ["integer", "string"] | ["number", "string"] if format_ in ("wei", "decimal"):
            return {"data_type": format_}, by_format
        case ["integer"]:
            bits = _BITS.get(format_)
            sized = {"precision": bits} if bits else {}
            return {"data_type": "bigint", **sized}, by_format if bits or format_ == "int64" else frozenset()
        case ["number"]:
            data_type = "decimal" if format_ == "decimal" else "double"
            return {"data_type": data_type}, by_format if format_ in _FLOATS else frozenset()
        case ["integer", "number"] | ["number", "integer"]:
            return {"data_type": "double"}, by_format if format_ in ("double", "float") else frozenset()
        case ["boolean"]:
            return {"data_type": "bool"}, frozenset()
        case ["string"] if keywords.get("contentEncoding") == "base64":
            return {"data_type": "binary"}, frozenset(("contentEncoding",))
        case ["string"] if format_ in _BY_FORMAT:
            return {"data_type": _BY_FORMAT[format_]}, by_format
        case ["string"]:
            longest = keywords.get("maxLength")
            is_size = _is_of(longest, int) and is_storable(longest)
            return {"data_type": "text", **({"precision": longest} if is_size else {})}, (
                frozenset(("maxLength",)) if is_size else frozenset()
            )
    return {"data_type": "json"}, frozenset()


_FLOATS: Final = ("decimal", "double", "float")


CODEC: Final[Codec[dict[str, Any]]] = Codec(
    _write, lambda name, native: _Reader(Source("", ""), nodes.Mapping(0, ()), {}).column(name, native)
)
