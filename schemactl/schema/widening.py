"""Find the narrowest type that holds the values of two types exactly: for wider columns, and for variants that fold.

A value survives if the destination gives back the same number, text, bytes or point in time. ``coercion`` converts as
dlt does, which also rounds and truncates; a widening never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.schema.changes import TYPE_PROPERTIES
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit_types
from schemactl.schema.full_types import DEFAULT_DECIMAL, EXACT_BITS, MAX_DIGITS, FullType, digits_of_bits, full_type
from schemactl.schema.types import MICROSECOND_DIGITS, Column, DataType


def widened_types(
    first: FullType, second: FullType, *, scale: int = 0, allow_text: bool = False
) -> tuple[FullType, ...]:
    """Return the types that can hold the values of both types exactly, narrowest first; empty if no type can.

    ``holds_all`` says whether a candidate holds every value of a type. Otherwise the values decide, and the first
    candidate that holds all of them is the answer: a bigint and a double become a double if all values are within
    2^53, else a decimal. The order of the two types does not matter.

    Args:
        first: a type, defaults applied.
        second: another type.
        scale: digits after the point that the values of a double need.
        allow_text: whether a text may hold other scalars in dlt's spelling, if no narrower type holds all values.
    """
    if first == second:
        return (first,)
    low, high = sorted((first, second), key=lambda of: _ORDER.index(of.data_type))
    if low.data_type is high.data_type:
        resized = _RESIZED.get(low.data_type)
        candidates = resized(low, high) if resized else ()
    else:
        candidates = _mixed(low, high, scale)
    text = FullType(DataType.TEXT)
    if allow_text and text not in candidates and DataType.JSON not in (first.data_type, second.data_type):
        return (*candidates, text)
    return candidates


def is_wider(stored: FullType, wider: FullType, *, allow_text: bool = True) -> bool:
    """Return whether a type can hold the values of both types exactly, and is not the stored one.

    ``holds_all`` says whether it holds every value of the stored type; otherwise the values decide.
    """
    return stored != wider and wider in widened_types(stored, wider, scale=wider.scale or 0, allow_text=allow_text)


def holds_all(stored: FullType, wider: FullType) -> bool:
    """Return whether every value of a type is the same value in a wider one."""
    return fit_types(stored, wider).conversion is Conversion.WHOLE


def type_properties(of: FullType) -> dict[str, Any]:
    """Return the properties of a column that has a type; sizes that are dlt's defaults are left out."""
    properties: dict[str, Any] = {"data_type": str(of.data_type)}
    if full_type(properties) == of:
        return properties
    sizes = {"precision": of.precision, "scale": of.scale, "timezone": False if of.timezone is False else None}
    if of.data_type is DataType.TIMESTAMP and of.precision == MICROSECOND_DIGITS:
        del sizes["precision"]
    return properties | {key: value for key, value in sizes.items() if value is not None}


def widened_column(column: Column, wider: FullType) -> Column:
    """Return a column with a wider type; its other properties stay, in their order."""
    sizes = type_properties(wider)
    replaced = {
        key: sizes.get(key, value)
        for key, value in column.properties.items()
        if key not in TYPE_PROPERTIES or key in sizes
    }
    return replace(column, properties={**replaced, **sizes})


_ORDER: Final = (
    *(DataType.BOOL, DataType.BIGINT, DataType.WEI, DataType.DECIMAL, DataType.DOUBLE, DataType.DATE),
    *(DataType.TIMESTAMP, DataType.TIME, DataType.BINARY, DataType.TEXT, DataType.JSON),
)


def _mixed(low: FullType, high: FullType, scale: int) -> tuple[FullType, ...]:
    """Return the candidates for two data types, in the order of ``_ORDER``."""
    match low.data_type, high.data_type:
        case DataType.BIGINT, DataType.DOUBLE:
            return (high,) if (low.precision or 0) <= EXACT_BITS else (high, *_decimal_beside_integers(low, scale))
        case DataType.BIGINT, DataType.WEI:
            return (high,) if high.precision is None else _decimals(_as_decimal(low), high)
        case DataType.BIGINT, DataType.DECIMAL:
            return _decimals(_as_decimal(low), high)
        case DataType.WEI, DataType.DECIMAL:
            return _decimals(low if low.precision is not None else replace(low, precision=MAX_DIGITS), high)
        case DataType.DATE, DataType.TIMESTAMP:
            return (high,)
        case _:
            return ()


def _decimal_beside_integers(integer: FullType, scale: int) -> tuple[FullType, ...]:
    """Return dlt's own decimal, or a decimal with more places if values need them and integers keep their digits."""
    places = max(scale, DEFAULT_DECIMAL[1])
    has_room = digits_of_bits(integer.precision) + places <= MAX_DIGITS
    return (FullType(DataType.DECIMAL, MAX_DIGITS, places),) if has_room else ()


def _as_decimal(integer: FullType) -> FullType:
    return FullType(DataType.DECIMAL, digits_of_bits(integer.precision), 0)


def _decimals(first: FullType, second: FullType) -> tuple[FullType, ...]:
    """Return the decimal, or wei, with the digits of both; with fewer than both have, values decide."""
    assert first.precision is not None
    assert second.precision is not None
    scale = max(first.scale or 0, second.scale or 0)
    integer_digits = max(first.integer_digits or 0, second.integer_digits or 0)
    return (FullType(second.data_type, min(integer_digits + scale, MAX_DIGITS), scale),)


def _wei(first: FullType, second: FullType) -> tuple[FullType, ...]:
    if first.precision is None or second.precision is None:
        return (FullType(DataType.WEI, None, max(first.scale or 0, second.scale or 0)),)
    return _decimals(first, second)


def _longer(first: FullType, second: FullType) -> tuple[FullType, ...]:
    sizes = (first.precision, second.precision)
    return (replace(first, precision=None if None in sizes else max(size for size in sizes if size is not None)),)


def _finer(first: FullType, second: FullType) -> tuple[FullType, ...]:
    """Return the finer of two timestamps or times; points in time without a zone count as UTC, as in dlt."""
    has_zone = None if first.timezone is None else bool(first.timezone or second.timezone)
    return (replace(first, precision=max(first.precision or 0, second.precision or 0), timezone=has_zone),)


_RESIZED: Final[Mapping[DataType, Callable[[FullType, FullType], tuple[FullType, ...]]]] = {
    DataType.BIGINT: _longer,
    DataType.WEI: _wei,
    DataType.DECIMAL: _decimals,
    DataType.TEXT: _longer,
    DataType.BINARY: _longer,
    DataType.TIMESTAMP: _finer,
    DataType.TIME: _finer,
}
