"""Coerces arrays of values to the type of their column: ``schema.coercion`` for arrays.

For each pair of types, results equal the values that dlt 1.31 stores. Values that cannot be coerced, or that overflow
the stored type, become null. Arrow casts common spellings; all other distinct values are coerced one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.kernel.kinds import KindValues
from schemactl.kernel.stored import (
    CLOCK,
    INSTANT,
    NAIVE,
    cut_to_microseconds,
    decimal_size,
    keeps_nanoseconds,
    stored_type,
    stored_value,
)
from schemactl.schema.coercion import coerce
from schemactl.schema.types import Column, DataType

_MOST_REMEMBERED: Final = 10_000
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
"""Python's calendar, the years 1 to 9999."""
_MICROS: Final = 1_000_000


class Coercion:
    """Coerces the values of one kind to one column.

    With ``is_exact``, values that the column would change (round, cut to its length, move to another kind of time zone)
    count as not coerced.
    """

    def __init__(self, kind: DataType, column: Column, *, is_exact: bool = False) -> None:
        assert column.data_type is not None
        self._kind = kind
        self._column = column
        self._to = column.data_type
        self._is_exact = is_exact and kind is column.data_type
        self._cast = _CASTS.get((kind, column.data_type))
        self._known: dict[Any, Any] = {}

    def __call__(self, values: KindValues) -> pa.Array:
        """Return the values in the column's stored type, null if they cannot be coerced."""
        coerced = self._coerced(values)
        if not self._is_exact:
            return coerced
        return pc.if_else(pc.fill_null(_is_kept(values, coerced, self._column), False), coerced, None)

    def _coerced(self, values: KindValues) -> pa.Array:
        if values.array is None:
            return self._by_python(values.listed)
        array = values.array if keeps_nanoseconds(self._column) else cut_to_microseconds(values.array)
        if values.are_integers and self._to is DataType.DOUBLE:
            # `float` makes an infinity of too many digits, and refuses the integer that they are of.
            return self._by_python([None if digits is None else int(digits) for digits in array.to_pylist()])
        cast_and_odd = self._cast(array, self._column) if self._cast is not None else None
        if cast_and_odd is None:
            return self._array_by_python(array)
        cast, odd = cast_and_odd
        return cast if odd is None else pc.coalesce(cast, self._array_by_python(odd))

    def _array_by_python(self, array: pa.Array) -> pa.Array:
        if array.null_count == len(array):
            return pa.nulls(len(array), stored_type(self._column))
        if pa.types.is_floating(array.type):
            return self._by_python(array.to_pylist())
        array = cut_to_microseconds(array)
        encoded = array.dictionary_encode()
        return self._by_python(encoded.dictionary.to_pylist()).take(encoded.indices)

    def _by_python(self, values: Any) -> pa.Array:
        if self._kind is DataType.JSON:
            stored = [None if value is None else self._one(value) for value in values]
        else:
            remembered, stored = self._known, []
            for value in values:
                if value is None:
                    stored.append(None)
                    continue
                # 0.0 equals -0.0, and 1 equals True
                key = (value, str(value)) if type(value) is float else value
                if key not in remembered:
                    if len(remembered) >= _MOST_REMEMBERED:
                        remembered.clear()
                    remembered[key] = self._one(value)
                stored.append(remembered[key])
        return pa.array(stored, stored_type(self._column))

    def _one(self, value: Any) -> Any:
        kind = self._kind
        if type(value) is int and kind is DataType.WEI:
            value = Decimal(value)
        elif type(value) is int and kind is DataType.TEXT:
            kind = DataType.BIGINT
        try:
            return stored_value(coerce(value, kind, self._to), self._column)
        except (ValueError, OverflowError):  # the latter of timestamps that leave the calendar in UTC
            return None


def loses_nanoseconds(values: KindValues, coerced: pa.Array) -> np.ndarray[Any, Any] | None:
    """Return a mask of values whose nanoseconds are missing in coerced timestamps or times; None if no value loses any.

    dlt's own values have microseconds, so it also cuts the nanoseconds of texts (docs/differences-sources.md).
    """
    is_moment = pa.types.is_timestamp(coerced.type)
    if values.array is None or not (is_moment or pa.types.is_time(coerced.type)):
        return None
    if values.kind is DataType.TEXT:
        longest = pc.max(pc.utf8_length(values.array)).as_py() or 0
        if longest < _SHORTEST_WITH_NANOSECONDS:
            return None
        has_nanoseconds = pc.match_substring_regex(values.array, _HAS_NANOSECONDS)
    elif is_moment and pa.types.is_timestamp(values.array.type) and values.array.type.unit == "ns":
        has_nanoseconds = _past_microseconds(values.array)
    else:
        return None
    is_cut = pc.and_(has_nanoseconds, pc.is_valid(coerced))
    if is_moment and coerced.type.unit == "ns":
        is_cut = pc.and_(is_cut, pc.invert(_past_microseconds(coerced)))
    mask: np.ndarray[Any, Any] = pc.fill_null(is_cut, False).to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _past_microseconds(array: pa.Array) -> pa.Array:
    """Return whether timestamps of nanoseconds have some past their microseconds."""
    return pc.not_equal(array, cut_to_microseconds(array).cast(array.type))


def text_of(value: Any) -> str:
    """Return a value as a text for people."""
    match value:
        case str():
            return value
        case bool() | float() | dict() | list():
            written: str = coerce(value, DataType.JSON, DataType.TEXT)
            return written if type(value) is not float or value == value else "NaN"
        case bytes():
            return value.hex()
        case date() | time() | datetime():
            return str(value).removesuffix("+00:00")
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


def _is_kept(values: KindValues, coerced: pa.Array, column: Column) -> pa.Array:
    """Return whether values of a column's own type are stored unchanged."""
    match column.data_type:
        case DataType.DECIMAL:
            originals = values.array.to_pylist() if values.array is not None else values.listed
            return pa.array(
                [value == stored for value, stored in zip(originals, coerced.to_pylist(), strict=True)], pa.bool_()
            )
        case DataType.TIMESTAMP:
            is_kept = values.array is not None and (values.array.type.tz is None) == (coerced.type.tz is None)
            return pa.array([is_kept] * len(coerced), pa.bool_())
        case DataType.TEXT if (longest := column.properties.get("precision")) is not None:
            return pc.less_equal(pc.utf8_length(coerced), longest)
        case DataType.BINARY if (longest := column.properties.get("precision")) is not None:
            return pc.less_equal(pc.binary_length(coerced), longest)
        case _:
            return pc.is_valid(coerced)


Cast = tuple[pa.Array, pa.Array | None] | None
"""An array in the stored type, and the values that need single coercion; None if all do."""


def _same(array: pa.Array, _: Column) -> Cast:
    return array, None


def _to_stored(array: pa.Array, column: Column) -> Cast:
    return array.cast(stored_type(column)), None


def _narrow(array: pa.Array, column: Column) -> tuple[pa.Array, None]:
    stored = stored_type(column)
    if stored == array.type:
        return array, None
    try:
        return array.cast(stored), None
    except pa.ArrowInvalid:
        limit = 2 ** (stored.bit_width - 1)
        has_room = pc.and_(pc.greater_equal(array, -limit), pc.less(array, limit))
        return pc.if_else(has_room, array, None).cast(stored), None


def _integer_to_decimal(array: pa.Array, column: Column) -> Cast:
    digits, scale = decimal_size(column)
    if not 0 <= scale <= 19:
        return None
    try:
        return array.cast(pa.decimal128(19 + scale, scale)).cast(pa.decimal128(digits, scale)), None
    except pa.ArrowInvalid:
        return None


def _is_set(array: pa.Array, _: Column) -> Cast:
    return pc.not_equal(array, 0), None


def _epoch(array: pa.Array, column: Column) -> Cast:
    limits = pc.min_max(array).as_py()
    if limits["min"] is None or not _FIRST_SECOND <= limits["min"] <= limits["max"] <= _LAST_SECOND:
        return None
    moments = pc.multiply(array, _MICROS).cast(INSTANT)
    if column.data_type is DataType.DATE:
        return moments.cast(pa.date32(), safe=False), None
    return _moment_to_moment(moments, column)


def _whole(array: pa.Array, column: Column) -> Cast:
    is_whole = pc.and_(
        pc.equal(array, pc.trunc(array)), pc.and_(pc.greater_equal(array, -(2.0**63)), pc.less(array, 2.0**63))
    )
    return _narrow(pc.if_else(is_whole, array, None).cast(pa.int64()), column)


def _decimal_to_decimal(array: pa.Array, column: Column) -> Cast:
    stored = stored_type(column)
    if array.type == stored:
        return array, None
    try:
        if array.type.scale > stored.scale:
            array = pc.round(array, stored.scale, round_mode="half_towards_infinity")
        return array.cast(stored), None
    except pa.ArrowInvalid:
        return None


def _moment_to_moment(array: pa.Array, column: Column) -> Cast:
    stored = stored_type(column)
    try:
        return array.cast(pa.timestamp(stored.unit, array.type.tz)).cast(pa.int64()).cast(stored), None
    except pa.ArrowInvalid:  # nanoseconds have no room for them
        return None


def _split(array: pa.Array, usual: str, cast: Callable[[pa.Array], pa.Array]) -> Cast:
    """Cast texts with a usual spelling; Python reads all other texts."""
    is_usual = pc.match_substring_regex(array, usual)
    odd = None
    if pc.all(is_usual, min_count=0).as_py() is not True:
        odd = pc.if_else(is_usual, None, array)
        array = pc.if_else(is_usual, array, None)
    try:
        return cast(array), odd
    except pa.ArrowInvalid:
        return None


_HAS_NANOSECONDS: Final = r":[0-9]{2}[.,][0-9]{6}[0-9]*[1-9]"
_SHORTEST_WITH_NANOSECONDS: Final = len("00:00:00.0000001")

_DAY: Final = (
    "(?:000[2-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"
    "-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
)
"""Years that no offset takes out of the calendar."""
_SECONDS: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_CLOCK: Final = rf"{_SECONDS}(?:\.[0-9]{{1,6}})?"
_CLOCK_OF_NANOSECONDS: Final = rf"{_SECONDS}(?:\.[0-9]{{1,9}})?"
_ZONE: Final = "(?:Z|[+-](?:0[0-9]|1[0-7]):[0-5][0-9])"
_IS_DAY: Final = rf"^{_DAY}\z"
_IS_CLOCK: Final = rf"^{_CLOCK}\z"
_IS_INTEGER: Final = r"^-?[0-9]{1,18}\z"
_IS_DOUBLE: Final = r"^-?[0-9]{1,17}(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?\z"


def _text_to_integer(array: pa.Array, column: Column) -> Cast:
    integers_and_odd = _split(array, _IS_INTEGER, lambda texts: texts.cast(pa.int64()))
    return integers_and_odd and (_narrow(integers_and_odd[0], column)[0], integers_and_odd[1])


def _text_to_decimal(array: pa.Array, column: Column) -> Cast:
    digits, scale = decimal_size(column)
    # Python's context has 28 digits
    digits_before_point = min(digits - scale, 28 - max(scale, 0))
    if digits_before_point < 1 or scale < 0:
        return None
    point = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
    is_decimal = rf"^-?[0-9]{{1,{digits_before_point}}}{point}\z"
    return _split(array, is_decimal, lambda texts: texts.cast(stored_type(column)))


def _text_to_moment(array: pa.Array, column: Column) -> Cast:
    stored = stored_type(column)
    clock = _CLOCK if stored.unit == "us" else _CLOCK_OF_NANOSECONDS
    spellings = [(rf"^{_DAY}[T ]{clock}{_ZONE}\z", "UTC"), (rf"^{_DAY}(?:[T ]{clock})?\z", None)]
    first = next((text.as_py() for text in array if text.is_valid), "Z")
    has_zone = first.endswith("Z") or first[-6:-5] in ("+", "-")
    if not has_zone:
        spellings.reverse()
    moments, odd = None, array
    for usual, zone in spellings:
        moment_type = pa.timestamp(stored.unit, zone)

        def cast(texts: pa.Array, moment_type: pa.DataType = moment_type) -> pa.Array:
            return texts.cast(moment_type).cast(pa.int64()).cast(stored)

        split = _split(odd, usual, cast)
        if split is None:
            return None
        moments, odd = split[0] if moments is None else pc.coalesce(moments, split[0]), split[1]
        if odd is None:
            break
    return moments, odd


def _text_to_clock(array: pa.Array, _: Column) -> Cast:
    return _split(
        array, _IS_CLOCK, lambda texts: pc.binary_join_element_wise("1970-01-01T", texts, "").cast(NAIVE).cast(CLOCK)
    )


_CASTS: Final[Mapping[tuple[DataType, DataType], Callable[[pa.Array, Column], Cast]]] = {
    (DataType.TEXT, DataType.TEXT): _same,
    (DataType.TEXT, DataType.BIGINT): _text_to_integer,
    (DataType.TEXT, DataType.DOUBLE): lambda array, _: _split(
        array, _IS_DOUBLE, lambda texts: texts.cast(pa.float64())
    ),
    (DataType.TEXT, DataType.DECIMAL): _text_to_decimal,
    (DataType.TEXT, DataType.WEI): _text_to_decimal,
    (DataType.TEXT, DataType.TIMESTAMP): _text_to_moment,
    (DataType.TEXT, DataType.DATE): lambda array, _: _split(array, _IS_DAY, lambda texts: texts.cast(pa.date32())),
    (DataType.TEXT, DataType.TIME): _text_to_clock,
    (DataType.BIGINT, DataType.BIGINT): _narrow,
    (DataType.BIGINT, DataType.TEXT): _to_stored,
    (DataType.BIGINT, DataType.DOUBLE): lambda array, _: (array.cast(pa.float64(), safe=False), None),
    (DataType.BIGINT, DataType.DECIMAL): _integer_to_decimal,
    (DataType.BIGINT, DataType.WEI): _integer_to_decimal,
    (DataType.BIGINT, DataType.BOOL): _is_set,
    (DataType.BIGINT, DataType.TIMESTAMP): _epoch,
    (DataType.BIGINT, DataType.DATE): _epoch,
    (DataType.DOUBLE, DataType.DOUBLE): _same,
    (DataType.DOUBLE, DataType.BIGINT): _whole,
    (DataType.DOUBLE, DataType.BOOL): _is_set,
    (DataType.DECIMAL, DataType.DECIMAL): _decimal_to_decimal,
    (DataType.DECIMAL, DataType.WEI): _decimal_to_decimal,
    (DataType.BOOL, DataType.BOOL): _same,
    (DataType.BOOL, DataType.TEXT): lambda array, _: (pc.if_else(array, "True", "False"), None),
    (DataType.BINARY, DataType.BINARY): _same,
    (DataType.TIMESTAMP, DataType.TIMESTAMP): _moment_to_moment,
    (DataType.TIMESTAMP, DataType.DATE): _to_stored,
    (DataType.DATE, DataType.DATE): _same,
    (DataType.DATE, DataType.TIMESTAMP): lambda array, column: _moment_to_moment(array.cast(INSTANT), column),
    (DataType.TIME, DataType.TIME): _same,
}
