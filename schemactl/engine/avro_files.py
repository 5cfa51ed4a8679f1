"""Avro files: their headers, and the types of their columns as Spark reads them.

Source: the Avro 1.12 specification ("Object Container Files"), and Spark's conversion of Avro types to its own
(``SchemaConverters``). Values are read without their logical types, as whole numbers and bytes; Arrow adds the
logical types.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import partial
from typing import Any, Final

import fastavro
import pyarrow as pa

from schemactl.engine.input import Input, open_input, read_errors
from schemactl.errors import InputError, Location
from schemactl.grouping import group_by

_CODECS: Final = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_MOST_HEADER_BYTES: Final = 1 << 24
_HEADER: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_PRIMITIVES: Final = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
    "bytes": pa.binary(), "string": pa.string(), "enum": pa.string(), "fixed": pa.binary(), "null": pa.null(),
}  # fmt: skip
_LOGICAL: Final = {
    ("int", "date"): pa.date32(),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
_PYTHON_TYPES: Final = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes, "fixed": bytes,
    "string": str, "enum": str, "array": list, "map": dict, "record": dict,
}  # fmt: skip
_LOGICAL_TYPE: Final = "logical_type"
_EXACT: Final = Context(prec=200)

Convert = Callable[[Any], Any]
"""Converts a value, or None, to a value that pyarrow accepts for its type."""


@dataclass(frozen=True, slots=True)
class AvroHeader:
    """The header of an Avro file: ``sync`` is the mark after every block, ``size`` the bytes of the header."""

    schema: Mapping[str, Any]
    codec: str
    sync: bytes
    size: int

    def plain_bytes(self) -> bytes:
        """Return a header that makes readers ignore logical types in blocks of the file."""
        schema = json.dumps(_without_logical_types(self.schema)).encode()
        meta = {"avro.schema": schema, "avro.codec": self.codec.encode()}
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, _HEADER, {"magic": b"Obj\x01", "meta": meta, "sync": self.sync})
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class AvroColumn:
    """A column of an Avro file.

    Attributes:
        convert: makes values ready for pyarrow; None for values that pyarrow accepts.
    """

    name: str
    type: pa.DataType
    convert: Convert | None = None


def read_header(file: Input) -> AvroHeader:
    """Return the header of a file of this machine."""
    with read_errors(file.path), open_input(file) as stream:
        head = io.BytesIO(stream.read(_MOST_HEADER_BYTES))
    try:
        header: Any = fastavro.schemaless_reader(head, _HEADER, None)
        schema = json.loads(header["meta"]["avro.schema"])
        codec = header["meta"].get("avro.codec", b"null").decode()
    except (EOFError, KeyError, ValueError, IndexError, TypeError, RecursionError) as error:
        hint = "was it written to the end?"
        raise InputError("the file cannot be read: it has no Avro header", at=Location(file.path), hint=hint) from error
    if codec not in _CODECS:
        hint = f"these are read: {', '.join(f'`{name}`' for name in _CODECS)}"
        raise InputError(f"the file is compressed by `{codec}`", at=Location(file.path), hint=hint)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise InputError("the schema of the file is not a record", at=Location(file.path))
    return AvroHeader(schema, codec, header["sync"], head.tell())


def same_columns(headers: Mapping[str, AvroHeader]) -> list[list[str]]:
    """Return the keys of files whose schemas have the same fields, together."""
    return list(group_by(headers, lambda key: json.dumps(headers[key].schema["fields"], sort_keys=True)).values())


def columns_of(header: AvroHeader) -> tuple[AvroColumn, ...]:
    """Return the columns of a file.

    Raises:
        ValueError: the schema is not valid, or Spark reads a type of it otherwise than this function can.
        RecursionError: a record contains itself, which Spark refuses too.
    """
    try:
        record: Any = fastavro.parse_schema(_without_logical_types(header.schema))
        types = _Types(record)
        return tuple(AvroColumn(field["name"], *types.read(field["type"])) for field in record["fields"])
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, KeyError, TypeError) as error:
        raise ValueError(f"the schema of the file is not valid: {error}") from error


class _Types:
    """Reads types of a schema whose names are full (``fastavro.parse_schema``)."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._named = {record["name"]: record}
        self._open = [record["name"]]

    def read(self, schema: Any) -> tuple[pa.DataType, Convert | None]:
        """Return the type of a schema's values, and the function that makes them ready for pyarrow."""
        if isinstance(schema, list):
            return self._union(schema)
        schema = self._definition(schema)
        kind = schema["type"]
        if kind in ("enum", "fixed", "record"):
            self._named[schema["name"]] = schema
        if "spark.sql.catalyst.type" in schema:
            raise ValueError(f"a column has Spark's own type `{schema['spark.sql.catalyst.type']}`")
        match kind:
            case "record":
                return self._record(schema)
            case "array":
                if self._is_empty(schema["items"]):
                    raise ValueError("a column is a list of zero-byte values")
                of, convert = self._nested(schema["items"])
                return pa.list_(pa.field("element", of)), convert and partial(_each, convert)
            case "map":
                of, convert = self._nested(schema["values"])
                return pa.map_(pa.string(), of), partial(_items, convert)
            case "bytes" | "fixed" if schema.get(_LOGICAL_TYPE) == "decimal" and _is_decimal(schema):
                precision, scale = schema["precision"], schema.get("scale", 0)
                of = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(min(precision, 76), scale)
                return of, partial(_decimal, scale)
        return _LOGICAL.get((kind, schema.get(_LOGICAL_TYPE)), _PRIMITIVES[kind]), None

    def _nested(self, schema: Any) -> tuple[pa.DataType, Convert | None]:
        """Return the type of inner values: values that are all null become strings, as in Spark's null type."""
        of, convert = self.read(schema)
        return pa.string() if of == pa.null() else of, convert

    def _definition(self, schema: Any) -> Mapping[str, Any]:
        """Return a schema that is not a union as an object."""
        if isinstance(schema, str):
            return self._named.get(schema, {"type": schema})
        inner = schema["type"]
        if isinstance(inner, list):
            raise ValueError("a column has a union inside of a type")
        return self._definition(inner) if isinstance(inner, dict) else schema

    def _record(self, schema: Mapping[str, Any]) -> tuple[pa.DataType, Convert | None]:
        name = schema["name"]
        if name in self._open:
            raise RecursionError(f"the record `{name}` contains itself")
        self._open.append(name)
        members = {field["name"]: self._nested(field["type"]) for field in schema["fields"]}
        self._open.pop()
        converts = {field: convert for field, (_, convert) in members.items() if convert is not None}
        of = pa.struct([(field, of) for field, (of, _) in members.items()])
        return of, partial(_fields, converts) if converts else None

    def _union(self, schemas: Sequence[Any]) -> tuple[pa.DataType, Convert | None]:
        branches = [schema for schema in schemas if self._definition(schema)["type"] != "null"]
        kinds = [self._definition(schema)["type"] for schema in branches]
        if len(branches) <= 1:
            return self.read(branches[0]) if branches else (pa.null(), None)
        if sorted(kinds) == ["int", "long"]:
            return pa.int64(), None
        if sorted(kinds) == ["double", "float"]:
            return pa.float64(), None
        python_types = [_PYTHON_TYPES[kind] for kind in kinds]
        if len(set(python_types)) < len(branches):
            raise ValueError(f"a column is a union with ambiguous value types: {', '.join(kinds)}")
        members = [self._nested(schema) for schema in branches]
        by_type = {
            python_type: (f"member{number}", convert)
            for number, (python_type, (_, convert)) in enumerate(zip(python_types, members, strict=True))
        }
        of = pa.struct([(f"member{number}", of) for number, (of, _) in enumerate(members)])
        return of, partial(_member, by_type)

    def _is_empty(self, schema: Any) -> bool:
        """Return whether values take no bytes: a short file could have a list of any number of them."""
        if isinstance(schema, list):
            return False
        schema = self._definition(schema)
        match schema["type"]:
            case "null":
                return True
            case "fixed":
                return bool(schema["size"] == 0)
            case "record":
                return all(self._is_empty(field["type"]) for field in schema["fields"])
        return False


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    """Return whether a decimal's values fit: else Avro ignores the logical type."""
    precision, scale = schema.get("precision", 0), schema.get("scale", 0)
    if not 0 <= scale <= precision or precision == 0:
        return False
    return "size" not in schema or 10**precision <= 1 << (8 * schema["size"] - 1)


def _without_logical_types(schema: Any) -> Any:
    """Return a schema whose logical types have another key: fastavro refuses some that Avro ignores."""
    if isinstance(schema, list):
        return [_without_logical_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        _LOGICAL_TYPE if key == "logicalType" else key: value if key == "default" else _without_logical_types(value)
        for key, value in schema.items()
    }


def _each(convert: Convert, values: list[Any] | None) -> list[Any] | None:
    return None if values is None else [convert(value) for value in values]


def _items(convert: Convert | None, values: dict[str, Any] | None) -> list[tuple[str, Any]] | None:
    if values is None or convert is None:
        return None if values is None else list(values.items())
    return [(key, convert(value)) for key, value in values.items()]


def _fields(converts: Mapping[str, Convert], record: dict[str, Any] | None) -> dict[str, Any] | None:
    return record and {**record, **{name: convert(record[name]) for name, convert in converts.items()}}


def _member(by_type: Mapping[type, tuple[str, Convert | None]], value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    name, convert = by_type[type(value)]
    return {name: value if convert is None else convert(value)}


def _decimal(scale: int, value: bytes | None) -> Decimal | None:
    return None if value is None else Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)
