"""Arrow types that columns and structures are stored as, and how single values get there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.normalization.plan import Plan
from schemactl.schema.coercion import coerce
from schemactl.schema.types import MICROSECOND_DIGITS, Column, DataType
from schemactl.type_systems.arrow_types import to_arrow

DECIMAL_DIGITS: Final = 38
DECIMAL_SCALE: Final = 9

_FIRST_NANOSECOND: Final = datetime(1677, 9, 21, 0, 12, 44, tzinfo=UTC)
_LAST_NANOSECOND: Final = datetime(2262, 4, 11, 23, 47, 16, tzinfo=UTC)
"""The range of timestamps of nanoseconds in 64 bits, in whole seconds."""

INSTANT: Final = pa.timestamp("us", "UTC")
NAIVE: Final = pa.timestamp("us")
CLOCK: Final = pa.time64("us")

FIXED_TYPES: Final[Mapping[DataType, pa.DataType]] = {
    DataType.TEXT: pa.string(),
    DataType.JSON: pa.string(),
    DataType.DOUBLE: pa.float64(),
    DataType.BOOL: pa.bool_(),
    DataType.BINARY: pa.binary(),
    DataType.DATE: pa.date32(),
    DataType.TIME: CLOCK,
}

_EXACT: Final = Context(prec=20_000, Emax=999_999, Emin=-999_999)
_LARGEST_EXPONENT: Final = 38
_SMALLEST_EXPONENT: Final = -100
"""Of decimals: numbers past these have no room in any column, or are zero in all of them."""


def arrow_type(column: Column, table: str, plan: Plan) -> pa.DataType:
    """Return the type that a column of a plan is stored as."""
    structure = plan.structures.get((table, column.name))
    return stored_type(column) if structure is None else to_arrow(structure)


def stored_type(column: Column) -> pa.DataType:
    """Return the type that a complete column is stored as (docs/dlt.md §9.3, as DuckDB has it)."""
    match column.data_type:
        case DataType.BIGINT:
            bits = column.properties.get("precision") or 64
            sizes = ((8, pa.int8()), (16, pa.int16()), (32, pa.int32()))
            return next((size for limit, size in sizes if bits <= limit), pa.int64())
        case DataType.DECIMAL | DataType.WEI:
            return pa.decimal128(*decimal_size(column))
        case DataType.TIMESTAMP:
            unit = "ns" if keeps_nanoseconds(column) else "us"
            return pa.timestamp(unit, None if column.is_naive else "UTC")
        case None:
            raise ValueError(f"the column `{column.name}` has no data type")
        case data_type:
            return FIXED_TYPES[data_type]


_SPARK: Final[tuple[tuple[pa.DataType, str], ...]] = (
    (pa.string(), "string"), (pa.int64(), "long"), (pa.int32(), "integer"), (pa.int16(), "short"), (pa.int8(), "byte"),
    (pa.float32(), "float"), (pa.float64(), "double"), (pa.bool_(), "boolean"), (pa.binary(), "binary"),
    (pa.date32(), "date"), (CLOCK, "time(6)"), (INSTANT, "timestamp"), (NAIVE, "timestamp_ntz"),
)  # fmt: skip
"""Types that have no parts, as Spark's JSON of schemas calls them."""

_ROW_METADATA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""The key in the footer of a Parquet file under which Spark looks for its own form of the schema."""


def notes_of(column: Column) -> dict[str, str] | None:
    """Return a column's notes for people and tools: its description, Arc's ``x-metadata``; None without any."""
    metadata = column.properties.get("x-metadata")
    notes = {str(key): note for key, note in metadata.items()} if isinstance(metadata, Mapping) else {}
    if column.properties.get("description"):
        notes = {"description": column.properties["description"], **notes}
    return {key: note if isinstance(note, str) else json.dumps(note) for key, note in notes.items()} or None


def spark_notes(fields: Sequence[pa.Field]) -> dict[str, str] | None:
    """Return the footer entry that gives Spark columns the notes as metadata, with the description as ``comment``.

    None without notes, or if a column is of a type that Spark lacks (nanoseconds).
    """
    if not any(field.metadata for field in fields):
        return None
    row = _spark_type(pa.struct(fields))
    return None if row is None else {_ROW_METADATA: json.dumps(row)}


def _spark_type(data_type: pa.DataType) -> Any:
    """Return a type as Spark's JSON of schemas has it, with the notes of its fields; None if Spark lacks it."""
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_struct(data_type):
        field_types = [(field, _spark_type(field.type)) for field in data_type]
        fields = [
            {"name": field.name, "type": spark_type, "nullable": True, "metadata": _spark_metadata(field)}
            for field, spark_type in field_types
        ]
        return (
            None if any(spark_type is None for _, spark_type in field_types) else {"type": "struct", "fields": fields}
        )
    if pa.types.is_list(data_type):
        element = _spark_type(data_type.value_type)
        return element and {"type": "array", "elementType": element, "containsNull": True}
    if pa.types.is_map(data_type):
        key, value = _spark_type(data_type.key_type), _spark_type(data_type.item_type)
        return key and value and {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    return next((name for arrow_type, name in _SPARK if arrow_type == data_type), None)


def _spark_metadata(field: pa.Field) -> dict[str, Any]:
    notes = {key.decode(): _note(value.decode()) for key, value in (field.metadata or {}).items()}
    return {**notes, "comment": notes["description"]} if "description" in notes else notes


def _note(text: str) -> Any:
    """Return the original value of a note: numbers, truth values and lists were written as JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, str | dict | None) else value


def keeps_nanoseconds(column: Column) -> bool:
    """Return whether a column of timestamps is stored in nanoseconds."""
    return (column.properties.get("precision") or 0) > MICROSECOND_DIGITS


def python_values(array: pa.Array) -> list[Any]:
    """Return Arrow's values as Python's, timestamps to the microsecond: Python's have no nanoseconds."""
    listed: list[Any] = cut_to_microseconds(array).to_pylist()
    return listed


def cut_to_microseconds(array: pa.Array) -> pa.Array:
    """Return timestamps and times cut to microseconds, other arrays unchanged."""
    if pa.types.is_time64(array.type) and array.type.unit == "ns":
        return array.cast(CLOCK, safe=False)
    if not (pa.types.is_timestamp(array.type) and array.type.unit == "ns"):
        return array
    # Without their zone, whose rules Arrow would look up.
    naive = array.cast(pa.int64()).cast(pa.timestamp("ns"))
    micros = pc.floor_temporal(naive, unit="microsecond").cast(pa.timestamp("us")).cast(pa.int64())
    return micros.cast(pa.timestamp("us", array.type.tz))


def decimal_size(column: Column) -> tuple[int, int]:
    """Return the precision and scale that a column of decimals is stored with."""
    digits, scale = column.properties.get("precision"), column.properties.get("scale")
    default = DECIMAL_SCALE if column.data_type is DataType.DECIMAL else 0
    return digits or DECIMAL_DIGITS, default if scale is None else scale


def stored_value(value: Any, column: Column) -> Any:
    """Return a coerced value as its column stores it, None if it has no room there.

    Digits that a decimal has no room for after its point are rounded, halves away from zero: as DuckDB and PostgreSQL
    round the literals that dlt sends them.
    """
    match column.data_type:
        case DataType.BIGINT:
            bits = stored_type(column).bit_width
            return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None
        case DataType.DECIMAL | DataType.WEI:
            return rounded(Decimal(value), *decimal_size(column))
        case DataType.TIMESTAMP:
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            if keeps_nanoseconds(column) and not _FIRST_NANOSECOND <= moment <= _LAST_NANOSECOND:
                return None
            return moment.replace(tzinfo=None) if column.is_naive else moment
        case DataType.JSON:
            return coerce(value, DataType.JSON, DataType.TEXT)
        case DataType.TEXT:
            return encodable(value)
        case _:
            return value


def encodable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def rounded(number: Decimal, digits: int, scale: int) -> Decimal | None:
    """Return a number with ``scale`` digits after its point, None if it has no room in ``digits``."""
    if not number.is_finite() or (number and number.adjusted() > _LARGEST_EXPONENT):
        return None
    if not number or number.adjusted() < _SMALLEST_EXPONENT:
        return Decimal(0)
    result = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return result if result.copy_abs() < Decimal(10) ** (digits - scale) else None
