"""Contracts of the Open Data Contract Standard 3: a schema object for each table; hints are custom properties.

https://bitol-io.github.io/open-data-contract-standard/v3.1.0. Terms, teams, servers and service levels are a
contract's, and no schema's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.formats._fields import Codec, entries, losses_of, mapping
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import (
    Record,
    data_tables,
    logical_hint,
    logical_name,
    record,
    schema_hints,
    schema_of,
    table_hints,
    table_properties,
)
from schemactl.formats.jsonschema import LIMITS, is_storable, limits_in
from schemactl.schema.types import DataType, Schema, Table
from schemactl.trees.json_text import parse_json
from schemactl.trees.nodes import Source, value_of
from schemactl.trees.yaml_text import parse_yaml
from schemactl.type_systems.fields import HINTS, Field, fields_of, note, properties_of
from schemactl.type_systems.sql_fields import is_unknown
from schemactl.type_systems.sql_words import field_of_sql_type, write_sql_type

ENDINGS: Final = (".odcs.yaml", ".odcs.yml", ".yaml", ".yml", ".json")

_LOGICAL: Final = {
    DataType.TEXT: "string", DataType.DOUBLE: "number", DataType.BOOL: "boolean", DataType.TIMESTAMP: "timestamp",
    DataType.BIGINT: "integer", DataType.BINARY: "string", DataType.JSON: "object", DataType.DECIMAL: "number",
    DataType.WEI: "number", DataType.DATE: "date", DataType.TIME: "time",
}  # fmt: skip
_BY_LOGICAL: Final[Mapping[str, str]] = {
    "string": "text", "number": "double", "boolean": "bool", "timestamp": "timestamp", "integer": "bigint",
    "object": "json", "array": "json", "map": "json", "date": "date", "time": "time",
}  # fmt: skip
_SAME: Final = {"classification": "x-classification", "tags": "x-tags", "businessName": "x-business-name"}
"""Words of ODCS that are hints here, as they are."""
_SAME_OF_TABLES: Final = {word: hint for word, hint in _SAME.items() if word != "classification"}

_BESIDE: Final = ("customProperties", "primaryKeyPosition", "partitionKeyPosition")
_READ: Final = frozenset({
    "name", "physicalName", "logicalType", "physicalType", "description", "required", "unique", "primaryKey",
    "properties", "items", "partitioned", "id", "logicalTypeOptions", *_SAME, *_BESIDE,
})  # fmt: skip
_TABLE_READ: Final = frozenset((
    "name", "physicalName", "logicalType", "physicalType", "description", "properties", "customProperties",
    *_SAME_OF_TABLES,
))  # fmt: skip
_ELEMENT: Final = {
    "properties": "fields", "items": "element", "customProperties": "custom", "logicalType": "type",
    "physicalType": "type",
}  # fmt: skip
_SHAPES: Final[Shapes] = {
    "contract": Shape(keys={"schema": "tables", "customProperties": "custom"}, required=("schema",)),
    "tables": Shape(items="table"),
    "table": Shape(
        keys={"name": "text", "physicalName": "type", "properties": "fields", "customProperties": "custom"},
        required=("name",),
    ),
    "fields": Shape(items="field"),
    "field": Shape(keys={"name": "text", "physicalName": "type", **_ELEMENT}, required=("name",)),
    "element": Shape(keys=_ELEMENT),
    "type": Shape(is_text=True, is_optional=True),
    "custom": Shape(items="custom property", is_optional=True),
    "custom property": Shape(keys={}),
    "text": TEXT,
}
_QUALIFIED: Final = re.compile(r"""(?:["`]?\w+["`]?\.)+["`]?(?P<table>\w+)["`]?""")
"""The name of a table, qualified by its database and schema."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


def recognises(text: str) -> bool:
    """Return whether a text looks as a data contract."""
    return re.search(r"""\bkind["']?\s*:\s*["']?DataContract\b""", text) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the data contract of the tables of a schema, as YAML; its status is a draft."""
    from schemactl.formats._yaml_writer import yaml_text

    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": schema.name,
        "name": schema.name,
        "version": str(schema.version),
        "status": "draft",
        **({"description": {"purpose": schema.description}} if schema.description else {}),
        "schema": [_table(table) for table in data_tables(schema)],
        **_custom(schema_hints(schema)),
    }
    return yaml_text(document)


def _custom(hints: dict[str, Any]) -> dict[str, Any]:
    return {"customProperties": [{"property": HINTS, "value": hints}]} if hints else {}


def _table(table: Table) -> dict[str, Any]:
    fields = fields_of(table)
    keys = [field.name for field in fields if field.properties.get("primary_key") is True]
    properties = []
    for field in fields:
        native = _write(field)
        if field.name in keys:
            native["primaryKeyPosition"] = keys.index(field.name) + 1
        properties.append({**native, **_custom(CODEC.hints(field))})
    description = table.properties.get("description")
    same = {
        word: table.properties[hint]
        for word, hint in _SAME_OF_TABLES.items()
        if _is_valid(word, table.properties.get(hint))
    }
    native = {**table_properties(table.name, description), **logical_hint(logical_name(table), table.name)}
    native |= {_SAME[word]: value for word, value in same.items()}
    return {
        **_names(table),
        "logicalType": "object",
        "physicalType": "table",
        **note(description),
        **same,
        "properties": properties,
        **_custom(table_hints(table, native)),
    }


def _names(of: Table | Field) -> dict[str, str]:
    name = logical_name(of)
    return {"name": name, **({"physicalName": of.name} if name != of.name else {})}


def _write(field: Field) -> dict[str, Any]:
    return {**_names(field), **_element(field)}


def _element(field: Field) -> dict[str, Any]:
    logical = "object" if field.fields or field.values else "array" if field.element else _LOGICAL[field.data_type]
    properties = field.properties
    identity = properties.get("x-id")
    return {
        **({"id": identity} if isinstance(identity, str) and _ID.fullmatch(identity) else {}),
        "logicalType": logical,
        "physicalType": write_sql_type(field),
        **note(field.description),
        **({} if field.nullable else {"required": True}),
        **({"primaryKey": True} if properties.get("primary_key") is True else {}),
        **({"unique": True} if properties.get("unique") is True else {}),
        **({"partitioned": True} if properties.get("partition") is True else {}),
        **{word: properties[hint] for word, hint in _SAME.items() if _is_valid(word, properties.get(hint))},
        **({"properties": [_write(child) for child in field.fields]} if field.fields else {}),
        **({"items": _element(field.element)} if field.element and not field.fields else {}),
    }


def _is_valid(word: str, value: Any) -> bool:
    if word == "tags":
        return isinstance(value, list) and all(isinstance(tag, str) for tag in value) and len({*value}) == len(value)
    return isinstance(value, str)


def read(text: str, path: str) -> Document:
    """Return the schema of a data contract."""
    source = Source(path, text)
    tree = parse_json(source) if path.lower().endswith(".json") else parse_yaml(source)
    root = value_of(tree)
    if not isinstance(root, dict) or not str(root.get("apiVersion")).startswith("v3"):
        hint = "it has `kind: DataContract` and `apiVersion: v3...`"
        raise source.refuse("this is not an ODCS 3 data contract", 0, hint)
    check_shape(source, tree, _SHAPES, "contract")
    tables = entries(root["schema"])
    hints = {**note(mapping(root.get("description")).get("purpose")), **(_hints(root) or {})}
    losses = tuple(loss for table in tables for loss in _losses(table))
    return Document(schema_of([_record(table, path) for table in tables], hints, path), losses)


def _hints(native: dict[str, Any]) -> dict[str, Any] | None:
    values = (value for name, value in _custom_properties(native) if name == HINTS)
    return next((value for value in values if isinstance(value, dict)), None)


def _custom_properties(native: dict[str, Any]) -> list[tuple[Any, Any]]:
    items = (item for item in native.get("customProperties") or () if isinstance(item, dict))
    return [(item.get("property"), item.get("value")) for item in items]


def _record(table: dict[str, Any], path: str) -> Record:
    columns = []
    for native in entries(table.get("properties")):
        field_native = {key: value for key, value in native.items() if key not in _BESIDE}
        name = _physical_name(native)
        columns.append((name, CODEC.restored(name, field_native, _hints(native), path)))
    name = _table_name(table)
    properties = {hint: table[word] for word, hint in _SAME_OF_TABLES.items() if _is_valid(word, table.get(word))}
    properties |= logical_hint(table["name"], name)
    return record(name, columns, table.get("description"), _hints(table), **properties)


def _physical_name(native: dict[str, Any]) -> str:
    """Return the name that the database has for a table or a field."""
    return str(native.get("physicalName") or native["name"])


def _table_name(table: dict[str, Any]) -> str:
    """Return the name of a table in the database, without its qualifiers."""
    name = _physical_name(table)
    qualified = _QUALIFIED.fullmatch(name) if table.get("physicalName") else None
    return qualified["table"] if qualified else name


def _read(name: str, native: dict[str, Any]) -> Field:
    properties: dict[str, Any] = {"nullable": native.get("required") is not True}
    properties |= logical_hint(native.get("name", name), name)
    flags = {"primaryKey": "primary_key", "unique": "unique", "partitioned": "partition"}
    properties |= {hint: True for word, hint in flags.items() if native.get(word) is True}
    properties |= {hint: native[word] for word, hint in _SAME.items() if _is_valid(word, native.get(word))}
    properties |= note(native.get("description"))
    if isinstance(native.get("id"), str):
        properties["x-id"] = native["id"]
    options, scalar = mapping(native.get("logicalTypeOptions")), _scalar(native)
    properties |= limits_in(options)
    read_words = {word for hint, (word, _) in LIMITS.items() if hint in properties}
    read_words |= {"maxLength"} if scalar.get("precision") == options.get("maxLength") else set()
    unread: list[tuple[str, Any, Any]] = [(key, value, None) for key, value in native.items() if key not in _READ]
    unread += [(f"logicalTypeOptions.{word}", value, None) for word, value in options.items() if word not in read_words]
    unread += [("customProperties", name, None) for name, _ in _custom_properties(native) if name != HINTS]
    field = Field(name, {"data_type": "json", **properties}, unread=tuple(unread))
    if inner := tuple(_read(_physical_name(child), child) for child in entries(native.get("properties"))):
        return replace(field, fields=inner)
    if isinstance(native.get("items"), dict):
        return replace(field, element=_read("element", native["items"]))
    return replace(field, properties={**scalar, **properties}, unread=(*unread, *_lost_type(native)))


def _scalar(native: dict[str, Any]) -> dict[str, Any]:
    physical = _physical_type(native)
    logical = {"data_type": _BY_LOGICAL.get(str(native.get("logicalType")), "text")}
    properties = logical if physical is None else properties_of(physical)
    longest = mapping(native.get("logicalTypeOptions")).get("maxLength")
    is_size = isinstance(longest, int) and not isinstance(longest, bool) and is_storable(longest)
    sized = properties["data_type"] == "text" and is_size
    return {**({"precision": longest} if sized else {}), **properties}


def _physical_type(native: dict[str, Any]) -> Field | None:
    """Return the field of a physical type, if it has a known one."""
    physical = native.get("physicalType")
    field = field_of_sql_type("", physical) if isinstance(physical, str) else None
    return None if field is None or is_unknown(field) else field


def _lost_type(native: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield a field's type if neither the standard nor SQL has it or it is missing, and the unread parts of a type."""
    logical, physical = native.get("logicalType"), native.get("physicalType")
    field = _physical_type(native)
    if field is not None:
        yield from ((loss.item, loss.before, loss.after) for loss in losses_of([field], ""))
    if logical is not None and logical not in _BY_LOGICAL:
        yield ("type", {"type": logical}, {"data_type": "text"}) if field is None else ("logicalType", logical, None)
    elif logical is None and field is None:
        yield "type", {"type": "unspecified" if physical is None else physical}, {"data_type": "text"}


CODEC: Final = Codec(_write, _read)


def _losses(table: dict[str, Any]) -> Iterator[Loss]:
    name = _table_name(table)
    yield from (Loss(name, key) for key in table if key not in _TABLE_READ)
    if name != _physical_name(table):
        yield Loss(name, "physicalName", table["physicalName"], name)
    custom = (mapping(property_).get("property") for property_ in table.get("customProperties") or ())
    yield from (Loss(name, "customProperties", word) for word in custom if word != HINTS)
    columns = entries(table.get("properties"))
    yield from losses_of((_read(_physical_name(column), column) for column in columns), name)
