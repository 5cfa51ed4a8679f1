"""What a column whose size is stated has to grow to, so that it takes the numbers that were seen.

Texts, bytes and fractions of seconds of documents ask for nothing: dlt hands them to the database as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from schemactl.inference.evidence import ClassEvidence
from schemactl.inference.values import TypedValue
from schemactl.schema.full_types import full_type
from schemactl.schema.types import DataType, Properties

_BITS: Final = (8, 16, 32, 64)
"""The sizes that integers are stored in."""

_LIMIT: Final = 1e38
"""No decimal has the digits of such a number."""

_EXACT: Final = Context(prec=100)


def room_of(value: Any, column: Properties, seen: ClassEvidence | None) -> Mapping[str, Any]:
    """Return what a column needs for all values of one class, as properties; nothing where it states no size.

    Args:
        value: one of them.
        column: that takes them.
        seen: what was seen of the class; None where nobody has looked.
    """
    if isinstance(value, TypedValue):
        return value.room
    if seen is None or seen.least is None or seen.greatest is None or column.get("precision") is None:
        return {}
    return room_for(column, seen.least, seen.greatest)


def room_for(column: Properties, least: float, greatest: float) -> dict[str, Any]:
    """Return what a column needs for numbers of a range, as properties; nothing where its stored type takes them."""
    full = full_type(column)
    if full is None or full.precision is None or not -_LIMIT < least <= greatest < _LIMIT:
        return {}
    match full.data_type:
        case DataType.BIGINT if (bits := bits_for(least, greatest)) > _stored_bits(full.precision):
            return {"data_type": str(full.data_type), "precision": bits}
        case DataType.DECIMAL | DataType.WEI:
            scale = full.scale or 0
            whole = max(_whole_digits(least, scale), _whole_digits(greatest, scale))
            has_room = whole <= full.precision - scale
            return {} if has_room else {"data_type": str(full.data_type), "precision": whole + scale, "scale": scale}
        case _:
            return {}


def bits_for(least: float, greatest: float) -> int:
    """Return the smallest size of integers that holds a range."""
    return next((bits for bits in _BITS if -(2.0 ** (bits - 1)) <= least and greatest < 2.0 ** (bits - 1)), _BITS[-1])


def _stored_bits(precision: int) -> int:
    return next((bits for bits in _BITS if precision <= bits), precision)


def _whole_digits(number: float, scale: int) -> int:
    """Return how many digits stand before the point, once the number is rounded as databases do it."""
    places = Decimal(1).scaleb(-scale)
    rounded = Decimal(repr(number)).quantize(places, ROUND_HALF_UP, _EXACT)
    return max(rounded.adjusted() + 1, 0) if rounded else 0
