"""The Spark types that columns are stored as, nested ones too, how plain values get there, and DDL of types.

Moments, days and times of day are numbers on their way: whatever the session's time zone, they stay in UTC.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.sql import quoted
from schemactl.schema import types
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct, leaf_properties, structure_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import DataType

MICROS: Final = 1_000_000
DAY_SECONDS: Final = 86_400
FIRST_SECOND: Final = -62_135_596_800
LAST_SECOND: Final = 253_402_300_799
"""Python's calendar, the years 1 to 9999; Spark's goes further."""

_EPOCH: Final = "1970-01-01 00:00:00"


def timestamp(micros: Column, *, naive: bool) -> Column:
    """Return the TIMESTAMP, or TIMESTAMP_NTZ if ``naive``, of microseconds since 1970."""
    if naive:
        return F.timestamp_add("MICROSECOND", micros, F.lit(_EPOCH).cast("timestamp_ntz"))
    return F.timestamp_micros(micros)


def in_calendar(micros: Column) -> Column:
    """Return microseconds since 1970, null outside the years 1 to 9999."""
    return F.when(micros.between(FIRST_SECOND * MICROS, (LAST_SECOND + 1) * MICROS - 1), micros)


def day(micros: Column) -> Column:
    """Return the DATE of microseconds since 1970."""
    whole = micros - F.pmod(micros, F.lit(DAY_SECONDS * MICROS))
    return F.date_from_unix_date(F.call_function("div", whole, F.lit(DAY_SECONDS * MICROS)).cast("int"))


def midnight(date: Column) -> Column:
    """Return microseconds since 1970 of a DATE."""
    return F.unix_date(date).cast("bigint") * F.lit(DAY_SECONDS * MICROS)


DECIMAL_DIGITS: Final = 38
DECIMAL_SCALE: Final = 9

_FIXED_TYPES: Final[dict[DataType, T.DataType]] = {
    DataType.TEXT: T.StringType(),
    DataType.JSON: T.StringType(),
    DataType.DOUBLE: T.DoubleType(),
    DataType.BOOL: T.BooleanType(),
    DataType.BINARY: T.BinaryType(),
    DataType.DATE: T.DateType(),
    DataType.TIME: T.TimeType(6),
}


def stored_type(column: types.Column) -> T.DataType:
    """Return the Spark type that a complete column is stored as (docs/dlt.md §9.3, as DuckDB has it).

    Raises:
        ValueError: the column has no data type yet.
    """
    match column.data_type:
        case DataType.BIGINT:
            return _integer_type(column)
        case DataType.DECIMAL:
            return _decimal_type(column, DECIMAL_SCALE)
        case DataType.WEI:
            return _decimal_type(column, 0)
        case DataType.TIMESTAMP:
            return T.TimestampNTZType() if _is_naive(column) else T.TimestampType()
        case None:
            raise ValueError(f"the column `{column.name}` has no data type yet")
        case data_type:
            return _FIXED_TYPES[data_type]


def store(value: Column, column: types.Column) -> Column:
    """Return a plain value in the column's stored type, null where it is too large for it.

    Digits that a decimal has no room for after its point are rounded, halves away from zero: as DuckDB and PostgreSQL
    round the literals that dlt sends them.

    Args:
        value: a BIGINT for integers, a number or its digits for decimals, microseconds since 1970 for timestamps, the
            stored type for others.
        column: the column, complete.
    """
    match column.data_type:
        case DataType.BIGINT | DataType.DECIMAL | DataType.WEI:
            return value.try_cast(stored_type(column))
        case DataType.TIMESTAMP:
            return timestamp(value, naive=_is_naive(column))
        case _:
            return value


def _is_naive(column: types.Column) -> bool:
    return column.properties.get("timezone") is False


def _integer_type(column: types.Column) -> T.DataType:
    bits = column.properties.get("precision") or 64
    for limit, spark_type in ((8, T.ByteType()), (16, T.ShortType()), (32, T.IntegerType())):
        if bits <= limit:
            return spark_type
    return T.LongType()


def _decimal_type(column: types.Column, default_scale: int) -> T.DecimalType:
    digits, scale = column.properties.get("precision"), column.properties.get("scale")
    return T.DecimalType(digits or DECIMAL_DIGITS, default_scale if scale is None else scale)


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
            stated = leaf_properties(name) or {}
            is_time = stated.get("data_type") == DataType.TIME
            return T.TimeType(stated["precision"]) if is_time else stored_type(types.Column(name, stated))


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
    """Return the type that a complete column is created with, in SQL.

    Raises:
        ValueError: the column has no data type yet.
    """
    structure = structure_of(column)
    return stored_type(column).simpleString() if structure is None else ddl_of(structure)


def spark_type(column: types.Column) -> str:
    """Return the type of a column in SQL, that of the catalog where dlt has none.

    Raises:
        ValueError: the column has neither.
    """
    return str(column.properties.get(DATABASE_TYPE) or column_type(column))
