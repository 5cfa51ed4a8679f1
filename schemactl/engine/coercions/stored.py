"""The types that columns are stored as, and how plain values get there."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import types as T

from schemactl.engine.coercions.instants import timestamp
from schemactl.schema import types
from schemactl.schema.types import DataType

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
