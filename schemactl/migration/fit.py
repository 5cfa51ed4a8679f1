"""Whether the values of one type fit another one, sizes and time zones included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from schemactl.schema.conversions import Conversion, consequence, conversion
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType

_BITS: Final = 64
_DECIMAL: Final = (38, 9)
_SECOND_DIGITS: Final = 6
_DIGITS_OF_BITS: Final = ((8, 3), (16, 5), (32, 10), (64, 19))


@dataclass(frozen=True, slots=True)
class Fit:
    """What becomes of the values of a column.

    Attributes:
        lost: what does not survive, part of a sentence; empty where all values do.
    """

    conversion: Conversion
    lost: str = ""


_WHOLE: Final = Fit(Conversion.WHOLE)


def fit(before: Column, after: Column, *, counts_seconds: bool = False) -> Fit:
    """Return what becomes of the values of a column when it takes on another's type.

    Args:
        before: the column so far, as a catalogue or a schema states it.
        after: the column with its new type.
        counts_seconds: whether numbers are known to be seconds since 1970.
    """
    old, new = before.data_type, after.data_type
    if old is None or new is None:
        known_to_database = before.properties.get(DATABASE_TYPE) or after.properties.get(DATABASE_TYPE)
        return Fit(Conversion.REFUSED, f"dlt has no type for `{known_to_database}`")
    if old is new:
        return _RESIZED.get(new, _unchanged)(before, after)
    found = conversion(old, new, counts_seconds=counts_seconds)
    if found is Conversion.REFUSED:
        return Fit(found, f"dlt takes no {old} as {new}")
    if found is Conversion.WHOLE:
        return _sized(before, after)
    return Fit(found, consequence(old, new, counts_seconds=counts_seconds))


def _unchanged(*_: Column) -> Fit:
    return _WHOLE


def _sized(before: Column, after: Column) -> Fit:
    """Return the verdict on types whose values all survive, but for the size that the new one states."""
    stated = after.properties.get("precision")
    if stated is None:
        return _WHOLE
    if after.data_type in (DataType.DECIMAL, DataType.WEI):
        is_enough = all(has >= needs for has, needs in zip(_digits(after), _needed(before), strict=True))
    else:
        is_enough = after.data_type is not DataType.TEXT
    return _WHOLE if is_enough else Fit(Conversion.DEPENDS, f"what is beyond its size of {stated} would not survive")


def _needed(before: Column) -> tuple[int, int]:
    """Return the digits before and after the point of a number; dlt's own decimal counts as enough for a double."""
    precision, scale = _DECIMAL
    if before.data_type is DataType.BIGINT:
        bits = before.properties.get("precision") or _BITS
        return next((digits for limit, digits in _DIGITS_OF_BITS if bits <= limit), precision), 0
    return precision - scale, 0 if before.data_type is DataType.WEI else scale


def _integers(before: Column, after: Column) -> Fit:
    old, new = (column.properties.get("precision") or _BITS for column in (before, after))
    return _WHOLE if new >= old else Fit(Conversion.DEPENDS, f"integers beyond {new} bits would not survive")


def _decimals(before: Column, after: Column) -> Fit:
    (old_whole, old_scale), (new_whole, new_scale) = _digits(before), _digits(after)
    if new_scale < old_scale:
        return Fit(Conversion.LOSES, f"digits beyond {new_scale} after the point are lost")
    if new_whole < old_whole:
        return Fit(Conversion.DEPENDS, f"numbers of more than {new_whole} digits before the point would not survive")
    return _WHOLE


def _digits(column: Column) -> tuple[int, int]:
    """Return digits before and after the point."""
    precision, scale = column.properties.get("precision"), column.properties.get("scale")
    whole = _DECIMAL[0] if precision is None else precision
    is_wei = column.data_type is DataType.WEI
    places = (0 if is_wei else _DECIMAL[1]) if scale is None else scale
    return whole - places, places


def _lengths(before: Column, after: Column) -> Fit:
    old, new = before.properties.get("precision"), after.properties.get("precision")
    if new is None or (old is not None and new >= old):
        return _WHOLE
    unit = "characters" if after.data_type is DataType.TEXT else "bytes"
    return Fit(Conversion.DEPENDS, f"values of more than {new} {unit} would not survive")


def _moments(before: Column, after: Column) -> Fit:
    # A time zone comes or goes without loss: points in time without one are taken as UTC, as dlt does.
    old, new = before.properties.get("precision"), after.properties.get("precision")
    old, new = (_SECOND_DIGITS if digits is None else digits for digits in (old, new))
    return _WHOLE if new >= old else Fit(Conversion.LOSES, f"fractions of seconds beyond {new} digits are lost")


_RESIZED: Final[Mapping[DataType, Callable[[Column, Column], Fit]]] = {
    DataType.BIGINT: _integers,
    DataType.DECIMAL: _decimals,
    DataType.WEI: _decimals,
    DataType.TEXT: _lengths,
    DataType.BINARY: _lengths,
    DataType.TIMESTAMP: _moments,
    DataType.TIME: _moments,
}
