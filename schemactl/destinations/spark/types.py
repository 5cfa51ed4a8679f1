"""Spark's types and dlt's, both ways, nested ones among them, and DDL of types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T

from schemactl.destinations._catalogue import unknown
from schemactl.destinations._types import TypeSystem, decimal, integer, is_type, keeps_unknown_types, parse_type
from schemactl.engine.spark.sql import quoted
from schemactl.kernel.stored import decimal_size
from schemactl.schema import types
from schemactl.schema.nested_types import (
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    leaf_properties,
    structure_in,
    structure_of,
    write_type,
)
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import DataType

_FIXED_TYPES: Final[dict[DataType, T.DataType]] = {
    DataType.TEXT: T.StringType(),
    DataType.JSON: T.StringType(),
    DataType.DOUBLE: T.DoubleType(),
    DataType.BOOL: T.BooleanType(),
    DataType.BINARY: T.BinaryType(),
    DataType.DATE: T.DateType(),
    DataType.TIME: T.TimeType(6),
}
_INTEGERS: Final = {8: T.ByteType(), 16: T.ShortType(), 32: T.IntegerType()}


def stored_type(column: types.Column) -> T.DataType:
    """Return the Spark type that a complete column is stored as (docs/dlt.md §9.3, as DuckDB has it).

    Raises:
        ValueError: the column has no data type.
    """
    match column.data_type:
        case DataType.BIGINT:
            bits = column.properties.get("precision") or 64
            return next((kind for limit, kind in _INTEGERS.items() if bits <= limit), T.LongType())
        case DataType.DECIMAL | DataType.WEI:
            return T.DecimalType(*decimal_size(column))
        case DataType.TIMESTAMP:
            return T.TimestampNTZType() if column.is_naive else T.TimestampType()
        case None:
            raise ValueError(f"the column `{column.name}` has no data type")
        case data_type:
            return _FIXED_TYPES[data_type]


def structure_type(of: NestedType) -> T.DataType:
    """Return the Spark type that a structure is stored as."""
    match of:
        case Struct(fields):
            return T.StructType([T.StructField(name, structure_type(inner)) for name, inner in fields])
        case ListOf(element):
            return T.ArrayType(structure_type(element))
        case MapOf(of_keys):
            return T.MapType(T.StringType(), structure_type(of_keys))
        case Json():
            return T.StringType()
        case Leaf(name):
            properties = leaf_properties(name) or {}
            is_time = properties.get("data_type") == DataType.TIME
            return T.TimeType(properties["precision"]) if is_time else stored_type(types.Column(name, properties))


def ddl_of(of: NestedType) -> str:
    """Return Spark's DDL of the type that a structure is stored as."""
    return sql_type(structure_type(of))


def sql_type(of: T.DataType) -> str:
    """Return Spark's DDL of a type, whatever its fields are called; ``simpleString`` does not quote them."""
    match of:
        case T.StructType():
            fields = (f"{quoted(inner.name)}: {sql_type(inner.dataType)}" for inner in of.fields)
            return f"struct<{', '.join(fields)}>"
        case T.ArrayType():
            return f"array<{sql_type(of.elementType)}>"
        case T.MapType():
            return f"map<{sql_type(of.keyType)}, {sql_type(of.valueType)}>"
        case _:
            return of.simpleString()


def column_type(column: types.Column) -> str:
    """Return the type that a complete column is created with, in SQL; raises as ``stored_type``."""
    structure = structure_of(column)
    return stored_type(column).simpleString() if structure is None else ddl_of(structure)


def spark_type(column: types.Column) -> str:
    """Return the type of a column in SQL, the catalog's if dlt has no such type; raises as ``stored_type``."""
    return str(column.properties.get(DATABASE_TYPE) or column_type(column))


_PLAIN: Final[Mapping[str, types.Properties]] = {
    "STRING": {"data_type": "text"},
    "VARCHAR": {"data_type": "text"},
    "CHAR": {"data_type": "text"},
    "BOOLEAN": {"data_type": "bool"},
    "FLOAT": {"data_type": "double"},
    "DOUBLE": {"data_type": "double"},
    "DATE": {"data_type": "date"},
    "BINARY": {"data_type": "binary"},
    "TIMESTAMP": {"data_type": "timestamp"},
    "TIMESTAMP_NTZ": {"data_type": "timestamp", "timezone": False},
    "TIME": {"data_type": "time"},
}

_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def kind_of(written: str) -> types.Properties:
    """Return dlt's type for a type of Spark, as its catalog writes it."""
    structure = structure_in(written)
    # The schema's DDL has only one size of integers and floats: for ``array<int>`` it would name another type.
    if structure is not None and ddl_of(structure) == written:
        return unknown(write_type(structure, has_comments=False))
    data_type = parse_type(written)
    if data_type is None:
        return unknown(written)
    if data_type.name in _BITS:
        return integer(_BITS[data_type.name])
    if data_type.name == "DECIMAL" and len(data_type.sizes) == 2:
        precision, scale = data_type.sizes
        return {"data_type": "wei"} if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _PLAIN.get(data_type.name) or unknown(written)


_NATIVE: Final = re.compile(
    r"void|variant|(var)?char\(\d+\)|interval (year|month|year to month|day|hour|minute|second"
    r"|day to (hour|minute|second)|hour to (minute|second)|minute to second)"
)
"""Types of Spark that dlt does not have, as its catalogs write them."""


def own_type(written: str) -> str | None:
    """Return a type as Spark's catalog writes it; None for a text that is no type of Spark, or one that dlt has."""
    if "<" in written:
        return written if is_type(written, "spark") or structure_in(written) is not None else None
    return written.lower() if _NATIVE.fullmatch(written.lower()) else None


settle: Final = TypeSystem("Spark", "spark", unknown, own_type).settle


@keeps_unknown_types
def stored(column: types.Column) -> types.Properties:
    """Return such a column as Spark's catalog has it; all columns may be null."""
    column = settle(column)
    if DATABASE_TYPE in column.properties:
        return kind_of(column.properties[DATABASE_TYPE])
    if (structure := structure_of(column)) is not None:
        return unknown(write_type(structure, has_comments=False))
    return kind_of(stored_type(column).simpleString())
