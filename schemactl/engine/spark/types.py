"""Spark's types of columns as dlt's: what dlt makes of the same Arrow types, nested ones flattened like documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import types as T

from schemactl.inference.nested_schema import are_distinct_names
from schemactl.inference.widening import MAPS
from schemactl.schema.nested_types import Json, ListOf, MapOf, NestedType, Struct, leaf_of, write_type
from schemactl.schema.paths import ELEMENT, Path
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
    return dict(_columns(row, ()))


def stated_type(of: T.DataType) -> DataType:
    """Return dlt's type of what is neither a struct nor a list."""
    return DataType(_scalar(of)["data_type"])


def _columns(data_type: T.DataType, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    match data_type:
        case T.StructType():
            for field in data_type.fields:
                coarse = {"precision": field.metadata[SECOND_DIGITS]} if SECOND_DIGITS in field.metadata else {}
                of = _IN_NANOSECONDS.get(field.metadata.get(NANOSECONDS, ""), field.dataType)
                for inner, properties in _columns(of, (*path, field.name)):
                    yield inner, {**properties, **coarse}
        case T.ArrayType():
            yield from _columns(data_type.elementType, (*path, ELEMENT))
        case T.MapType():
            kept = _kept(data_type)
            stated = {} if isinstance(kept, Json) else {MAPS: [write_type(kept)]}
            yield path, {"data_type": str(DataType.JSON), **stated}
        case _:
            yield path, {key: str(value) if key == "data_type" else value for key, value in _scalar(data_type).items()}


def is_key(data_type: T.DataType) -> bool:
    """Return whether maps with keys of a type are kept as maps, the keys as texts; bytes need not be any."""
    return isinstance(data_type, T.AtomicType) and not isinstance(data_type, T.BinaryType | T.VariantType)


def _kept(data_type: T.DataType) -> NestedType:
    """Return the type that values within a map are kept in."""
    match data_type:
        case T.StructType():
            fields = tuple((field.name, _kept(field.dataType)) for field in data_type.fields)
            return Struct(fields) if fields and are_distinct_names(data_type.names) else Json()
        case T.ArrayType():
            element = _kept(data_type.elementType)
            return element if isinstance(element, Json) else ListOf(element)
        case T.MapType():
            value = _kept(data_type.valueType) if is_key(data_type.keyType) else Json()
            return value if isinstance(value, Json) else MapOf(value)
        case _:
            return leaf_of(_scalar(data_type))


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
