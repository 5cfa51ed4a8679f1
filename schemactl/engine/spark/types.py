"""Spark's column types as dlt's: dlt's types for the same Arrow types, with nested types flattened like documents."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import types as T

from schemactl.engine.declared_columns import TypeReader
from schemactl.schema.paths import Path
from schemactl.schema.types import DataType

_PLAIN: Final[dict[type[T.DataType], dict[str, Any]]] = {
    T.BooleanType: {"data_type": DataType.BOOL},
    T.ByteType: {"data_type": DataType.BIGINT, "precision": 8},
    T.ShortType: {"data_type": DataType.BIGINT, "precision": 16},
    T.IntegerType: {"data_type": DataType.BIGINT, "precision": 32},
    T.LongType: {"data_type": DataType.BIGINT},
    T.FloatType: {"data_type": DataType.DOUBLE},
    T.DoubleType: {"data_type": DataType.DOUBLE},
    T.StringType: {"data_type": DataType.TEXT},
    T.BinaryType: {"data_type": DataType.BINARY},
    T.DateType: {"data_type": DataType.DATE},
    # Spark's timestamps count microseconds.
    T.TimestampType: {"data_type": DataType.TIMESTAMP, "precision": 6},
    T.TimestampNTZType: {"data_type": DataType.TIMESTAMP, "precision": 6, "timezone": False},
    T.TimeType: {"data_type": DataType.TIME},
    T.MapType: {"data_type": DataType.JSON},
    T.VariantType: {"data_type": DataType.JSON},
}

SECOND_DIGITS: Final = "second_digits"
"""In the metadata of a column of timestamps: how many digits of a second its source has, where Spark has more."""

NANOSECONDS: Final = "nanoseconds"
"""In the metadata of a column of integers: it holds timestamps, counted in nanoseconds since 1970; which of Spark's."""
_IN_NANOSECONDS: Final[dict[str, T.DataType]] = {
    "timestamp_ltz": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
}


def column_properties(row: T.StructType) -> dict[Path, dict[str, Any]]:
    """Return dlt's column properties of every column of a row, by path, in the row's order.

    Structs and lists are gone into, maps are kept whole, because their keys are data, and state their own type
    (``widening.MAPS``). Types that dlt has no word for (intervals) become texts.
    """
    properties: dict[Path, dict[str, Any]] = {}
    for field in row.fields:
        coarse = {"precision": field.metadata[SECOND_DIGITS]} if SECOND_DIGITS in field.metadata else {}
        of = _IN_NANOSECONDS.get(field.metadata.get(NANOSECONDS, ""), field.dataType)
        for path, declared in _TYPES.columns(of, (field.name,)):
            properties[path] = {**declared, **coarse}
    return properties


def is_key(data_type: T.DataType) -> bool:
    """Return whether maps with keys of a type are kept as maps, the keys as texts; bytes need not be any."""
    return isinstance(data_type, T.AtomicType) and not isinstance(data_type, T.BinaryType | T.VariantType)


def _scalar(data_type: T.DataType) -> dict[str, Any]:
    match data_type:
        case T.DecimalType():
            return {"data_type": DataType.DECIMAL, "precision": data_type.precision, "scale": data_type.scale}
        case T.CharType() | T.VarcharType():
            return {"data_type": DataType.TEXT, "precision": data_type.length}
        case T.TimeType():
            return {"data_type": DataType.TIME, "precision": data_type.precision}
        case _:
            return _PLAIN.get(type(data_type), {"data_type": DataType.TEXT})


_TYPES: Final[TypeReader[T.DataType]] = TypeReader(
    fields=lambda of: [(field.name, field.dataType) for field in of.fields] if isinstance(of, T.StructType) else None,
    element=lambda of: of.elementType if isinstance(of, T.ArrayType) else None,
    entries=lambda of: (of.valueType, is_key(of.keyType)) if isinstance(of, T.MapType) else None,
    scalar=_scalar,
)
