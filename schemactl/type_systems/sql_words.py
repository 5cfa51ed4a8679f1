"""SQL's names of types for texts without a dialect (dbt, ODCS, DBML), and for the types of other engines.

Standard SQL's names are written, which most engines know; ``sql_types`` has the words of each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.nested_types import SPARK_TYPE, read_type, structure_in, write_type
from schemactl.schema.types import Column, DataType
from schemactl.type_systems.fields import Field, field_of, properties_of, unread_facts
from schemactl.type_systems.sql_fields import field_of_text, is_unknown

_INTEGERS: Final = {8: "tinyint", 16: "smallint", 32: "integer"}
_WEI: Final = (78, 0)

_GROUPS: Final[tuple[tuple[Mapping[str, Any], str], ...]] = (
    ({"data_type": "text"}, "text, varchar, char, character varying, character, string, nvarchar, nchar, bpchar, clob"),
    ({"data_type": "text"}, "uuid, varchar2, ntext, tinytext, mediumtext, longtext, enum, citext"),
    ({"data_type": "bigint"}, "bigint, int8, int64, long, bigserial, uinteger, uint32"),
    ({"data_type": "bigint", "precision": 32}, "int, integer, int4, int32, serial, mediumint"),
    ({"data_type": "bigint", "precision": 16}, "smallint, int2, int16, short"),
    ({"data_type": "bigint", "precision": 8}, "tinyint, byteint, byte"),
    ({"data_type": "double"}, "double precision, double, float, float4, float8, float64, float32, real"),
    ({"data_type": "bool"}, "boolean, bool, bit"),
    ({"data_type": "decimal"}, "decimal, numeric, number, dec, money"),
    ({"data_type": "wei"}, "bignumeric, bigdecimal, uint64, ubigint"),
    ({"data_type": "timestamp"}, "timestamp, timestamptz, timestamp with time zone, timestamp_tz, timestamp_ltz"),
    ({"data_type": "timestamp"}, "timestamp with local time zone, datetimeoffset"),
    ({"data_type": "timestamp", "timezone": False}, "timestamp without time zone, timestamp_ntz, datetime, datetime2"),
    ({"data_type": "timestamp", "timezone": False}, "smalldatetime"),
    ({"data_type": "date"}, "date"),
    ({"data_type": "time"}, "time, time without time zone, timetz, time with time zone"),
    ({"data_type": "binary"}, "binary, varbinary, bytea, blob, bytes, raw, longblob"),
    ({"data_type": "json"}, "json, jsonb, variant, super, object, array, struct, map"),
)
_NAMES: Final = {name: properties for properties, names in _GROUPS for name in names.split(", ")}

_TYPE: Final = re.compile(
    r"\s*(?P<name>[a-z_0-9]+(?: [a-z]+)*?)\s*(?:\(\s*(?P<first>\d+)\s*(?:,\s*(?P<second>\d+)\s*)?\))?"
    r"(?P<rest>(?: [a-z]+)*)\s*"
)


def write_sql_type(field: Field) -> str:
    """Return the name of a column's type; objects and lists are named as in Spark's DDL."""
    match field.data_type:
        case DataType.TEXT:
            return "text" if field.precision is None else f"varchar({field.precision})"
        case DataType.BIGINT:
            return _INTEGERS.get(field.precision or 64, "bigint")
        case DataType.DECIMAL:
            return "decimal({},{})".format(*decimal_sizes(field.properties))
        case DataType.WEI:
            return "decimal({},{})".format(*_WEI)
        case DataType.TIMESTAMP:
            zone = "without" if field.properties.get("timezone") is False else "with"
            return f"timestamp{_size(field)} {zone} time zone"
        case DataType.TIME | DataType.BINARY:
            return f"{field.data_type}{_size(field)}"
        case DataType.JSON:
            spark_type = properties_of(field).get(SPARK_TYPE)
            return write_type(read_type(spark_type, keeps_sizes=True), has_comments=False) if spark_type else "json"
    return {"double": "double precision", "bool": "boolean", "date": "date"}[field.data_type]


def _size(field: Field) -> str:
    return "" if field.precision is None else f"({field.precision})"


_DIALECTS: Final = (
    "postgres", "duckdb", "clickhouse", "bigquery", "databricks", "mysql", "tsql", "trino", "oracle", "snowflake",
)  # fmt: skip
"""The dialects in which a type is looked up, if no dialect is named."""

_CLICKHOUSE: Final = re.compile(
    r"\b(?:Nullable|LowCardinality|Array|Tuple|Map|Nested|FixedString|U?Int\d+|DateTime(?:64)?|Date32|Enum\d*|"
    r"Decimal\d+)\b(?!<)"
)
"""Types that only ClickHouse spells so."""


def field_of_sql_type(name: str, text: str, dialect: str | None = None) -> Field:
    """Return the field of an SQL type; an unknown type is a text, and ``unread`` has it.

    ``dialect`` is sqlglot's name of the engine. If it is None, words that most engines share have that meaning, and
    other types the meaning of the first dialect that knows them.
    """
    if dialect is not None and not is_unknown(field := field_of_text(name, text, dialect)):
        return field
    if _CLICKHOUSE.search(text) and not is_unknown(field := field_of_text(name, text, "clickhouse")):
        return field
    if (properties := _common_properties(text)) is not None:
        return field_of(Column(name, properties))
    fields = []
    for known_dialect in _DIALECTS:
        fields.append(field_of_text(name, text, known_dialect))
        if not any(unread_facts(fields[-1:], "")):
            return fields[-1]
    return next((field for field in fields if not is_unknown(field)), fields[0])


def read_sql_type(text: str) -> dict[str, Any] | None:
    """Return the properties of a column of an SQL type, None for an unknown type."""
    field = field_of_sql_type("", text)
    return None if is_unknown(field) else properties_of(field)


def _common_properties(text: str) -> dict[str, Any] | None:
    """Return the properties of a type that is spelled as exports spell it, or by a word that needs no dialect."""
    if "<" in text:
        structure = structure_in(text, keeps_sizes=True)
        return None if structure is None else {"data_type": "json", SPARK_TYPE: write_type(structure)}
    match = _TYPE.fullmatch(text.lower())
    if match is None:
        return None
    name = " ".join(f"{match['name']}{match['rest']}".split())
    named_properties = _NAMES.get(name)
    if named_properties is None:
        return None
    first, second = match["first"], match["second"]
    data_type = named_properties["data_type"]
    if name == "bit" and first not in (None, "1"):
        return None
    if first is None or data_type in ("double", "bool", "bigint", "date", "json"):
        return dict(named_properties)
    sizes = {"precision": int(first)}
    if data_type in ("decimal", "wei"):
        if (int(first), int(second or 0)) == _WEI:
            return {"data_type": "wei"}
        return {"data_type": "decimal", **sizes, "scale": int(second or 0)}
    return {**named_properties, **sizes}
