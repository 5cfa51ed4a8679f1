"""Find out whether the values of a column type fit another type, including sizes and time zones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemactl.schema.conversions import Conversion, consequence, conversion
from schemactl.schema.full_types import DEFAULT_DECIMAL, FullType, conversion_between, full_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType


@dataclass(frozen=True, slots=True)
class Fit:
    """The fate of a column's values.

    Attributes:
        lost: the values that do not survive, as part of a sentence; empty if all values survive.
    """

    conversion: Conversion
    lost: str = ""


_WHOLE: Final = Fit(Conversion.WHOLE)


def fit(before: Column, after: Column, *, counts_seconds: bool = False) -> Fit:
    """Return the fate of a column's values when it gets another type."""
    old, new = full_type(before.properties), full_type(after.properties)
    if old is None or new is None:
        known_to_database = before.properties.get(DATABASE_TYPE) or after.properties.get(DATABASE_TYPE)
        return Fit(Conversion.REFUSED, f"dlt has no type `{known_to_database}`")
    return fit_types(old, new, counts_seconds=counts_seconds)


def fit_types(old: FullType, new: FullType, *, counts_seconds: bool = False) -> Fit:
    """Return the fate of values of one type in another type."""
    if old.data_type is new.data_type:
        return _fit_size(old, new)
    verdict = conversion_between(old, new, counts_seconds=counts_seconds)
    if verdict is Conversion.WHOLE:
        return _WHOLE
    if verdict is Conversion.REFUSED:
        return Fit(verdict, f"dlt does not convert {old.data_type} to {new.data_type}")
    if conversion(old.data_type, new.data_type, counts_seconds=counts_seconds) is Conversion.WHOLE:
        return Fit(verdict, f"values that do not fit {new} would not survive")
    return Fit(verdict, consequence(old.data_type, new.data_type, counts_seconds=counts_seconds))


def _fit_size(before: FullType, after: FullType) -> Fit:
    """Return the fate of values in a type of another size; times without a zone count as UTC, as in dlt."""
    if after.data_type in (DataType.DECIMAL, DataType.WEI):
        return _decimals(before, after)
    if after.precision is None or (before.precision is not None and after.precision >= before.precision):
        return _WHOLE
    match after.data_type:
        case DataType.TIMESTAMP | DataType.TIME:
            return Fit(Conversion.LOSES, f"fractional seconds are cut to {after.precision} digits")
        case DataType.BIGINT:
            return Fit(Conversion.DEPENDS, f"integers of more than {after.precision} bits would not survive")
        case _:
            return Fit(Conversion.DEPENDS, f"values of more than {after.size} would not survive")


def _decimals(before: FullType, after: FullType) -> Fit:
    (old_whole, old_scale), (new_whole, new_scale) = _digits(before), _digits(after)
    if new_scale < old_scale:
        return Fit(Conversion.LOSES, f"decimal places after the first {new_scale} are lost")
    if new_whole < old_whole:
        return Fit(Conversion.DEPENDS, f"numbers of more than {new_whole} digits before the point would not survive")
    return _WHOLE


def _digits(number: FullType) -> tuple[int, int]:
    """Return digits before and after the point; a wei without a precision has as many as dlt's decimal."""
    places = number.scale or 0
    return (DEFAULT_DECIMAL[0] if number.precision is None else number.precision) - places, places
