"""What becomes of a column of values in a column of another type: ``schema.coercion`` for Spark.

Values of each pair of types come out as dlt 1.31 stores them. What is not coerced, or what the stored type has no room
for, comes out as null. tests/engine/test_coercion_on_spark.py holds it to ``schema.coercion.coerce``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.coercions import from_numbers, from_text, from_times
from schemactl.engine.coercions.canonical import canonical_json
from schemactl.engine.coercions.stored import DECIMAL_DIGITS, DECIMAL_SCALE, store, stored_type
from schemactl.schema import types
from schemactl.schema.types import DataType

__all__ = ["coerced", "exact", "is_total", "kind_type", "stored_type"]


def _same(value: Column) -> Column:
    return value


def _base64(value: Column) -> Column:
    # Spark breaks lines after 76 characters.
    return F.replace(F.base64(value), F.lit("\r\n"), F.lit(""))


_COERCERS: Final[Mapping[DataType, Mapping[DataType, Callable[[Column], Column]]]] = {
    DataType.TEXT: from_text.COERCERS,
    DataType.BIGINT: from_numbers.OF_BIGINT,
    DataType.DOUBLE: from_numbers.OF_DOUBLE,
    DataType.DECIMAL: from_numbers.OF_DECIMAL,
    DataType.WEI: from_numbers.OF_WEI,
    DataType.BOOL: from_numbers.OF_BOOL,
    DataType.BINARY: {DataType.BINARY: _same, DataType.TEXT: _base64},
    DataType.JSON: {DataType.JSON: _same, DataType.TEXT: canonical_json},
    DataType.TIMESTAMP: from_times.OF_INSTANT,
    DataType.DATE: from_times.OF_DATE,
    DataType.TIME: from_times.OF_TIME,
}

_KIND_TYPES: Final[dict[DataType, T.DataType]] = {
    DataType.TEXT: T.StringType(),
    DataType.BIGINT: T.LongType(),
    DataType.DOUBLE: T.DoubleType(),
    DataType.BOOL: T.BooleanType(),
    DataType.WEI: T.StringType(),
    DataType.DECIMAL: T.DecimalType(DECIMAL_DIGITS, DECIMAL_SCALE),
    DataType.TIMESTAMP: T.TimestampType(),
    DataType.DATE: T.DateType(),
    DataType.TIME: T.TimeType(6),
    DataType.BINARY: T.BinaryType(),
    DataType.JSON: T.StringType(),
}


def kind_type(kind: DataType) -> T.DataType:
    """Return the Spark type in which values of a data type are handed to ``coerced``.

    Integers past 64 bits (``wei``) come as digits, objects and lists (``json``) as JSON texts. Decimals may come with
    any precision and scale, times with any precision.
    """
    return _KIND_TYPES[kind]


def coerced(value: Column, kind: DataType, to: types.Column, *, naive: bool = False) -> Column:
    """Return a value as ``stored_type(to)``: null where dlt would make a variant of it, or where it has no room.

    It needs a projection of its own level (no lambda), as it may call Python. Times of day need Spark's setting
    ``spark.sql.timeType.enabled``.

    Args:
        value: of ``kind_type(kind)``.
        kind: the value's data type.
        to: the column, complete.
        naive: the value is a TIMESTAMP_NTZ.
    """
    spark_type = stored_type(to)
    coercers = from_times.OF_NAIVE if kind == DataType.TIMESTAMP and naive else _COERCERS[kind]
    coerce = coercers.get(to.data_type) if to.data_type else None
    return F.lit(None).cast(spark_type) if coerce is None else store(coerce(value), to)


def exact(value: Column, stated: T.DataType, kind: DataType, to: types.Column) -> Column:
    """Return a value as ``stored_type(to)`` as ``coerced`` does, null also where it is not held there as it is.

    That is asked of values of the column's own data type: no digit may be rounded, no text or bytes be longer than
    stated, and a time zone is neither made up nor dropped.

    Args:
        value: of the type ``stated``.
        stated: by the source.
        kind: the value's data type.
        to: the column, complete.
    """
    is_naive = isinstance(stated, T.TimestampNTZType)
    found = coerced(value, kind, to, naive=is_naive)
    if kind is not to.data_type:
        return found
    match kind:
        case DataType.DECIMAL:
            return F.when(found.try_cast(stated) == value, found)
        case DataType.TIMESTAMP:
            return F.when(F.lit(isinstance(stored_type(to), T.TimestampNTZType) == is_naive), found)
        case DataType.TEXT | DataType.BINARY if (most := to.properties.get("precision")) is not None:
            return F.when(F.length(value) <= most, found)
        case _:
            return found


_TOTAL: Final = {
    DataType.TEXT: {DataType.TEXT},
    DataType.BIGINT: {DataType.TEXT, DataType.DOUBLE, DataType.BOOL},
    DataType.DOUBLE: {DataType.DOUBLE, DataType.TEXT, DataType.BOOL},
    DataType.DECIMAL: {DataType.TEXT, DataType.DOUBLE, DataType.BOOL},
    DataType.WEI: {DataType.TEXT, DataType.DOUBLE, DataType.BOOL},
    DataType.BOOL: {DataType.BOOL, DataType.TEXT},
    DataType.BINARY: {DataType.BINARY, DataType.TEXT},
    DataType.JSON: {DataType.JSON, DataType.TEXT},
    DataType.TIMESTAMP: {DataType.TIMESTAMP, DataType.TEXT, DataType.DATE},
    DataType.DATE: {DataType.DATE, DataType.TEXT, DataType.TIMESTAMP},
    DataType.TIME: {DataType.TIME, DataType.TEXT},
}
_INTEGER_DIGITS: Final = 19


def is_total(kind: DataType, to: types.Column) -> bool:
    """Return whether a column takes every value of a kind, so that ``coerced`` gives no null but for null."""
    if to.data_type in _TOTAL[kind]:
        return True
    match kind, stored_type(to):
        case DataType.BIGINT, T.LongType():
            return True
        case DataType.BIGINT, T.DecimalType() as decimal:
            return decimal.precision - decimal.scale >= _INTEGER_DIGITS
        case _:
            return False
