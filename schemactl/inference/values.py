"""The type of a value, whether a column of another type takes it, and the size that the column needs for it.

These are dlt's rules, and ours where dlt fails. dlt refuses integers outside -2**63 .. 2**64-1 before it looks at any
schema. Here such an integer is a ``wei`` where that has room for it, else a text (docs/differences.md). Of sizes, only
numbers ask for more: texts, bytes and fractions of seconds go to the database as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from schemactl.inference.evidence import ClassEvidence
from schemactl.schema.coercion import WEI_STOP, can_coerce, is_beyond_64_bits, type_of
from schemactl.schema.full_types import full_type
from schemactl.schema.types import DataType, Properties

if TYPE_CHECKING:
    from schemactl.inference.evidence import Position


TYPED: Final = "typed"
"""Stands for the class of values whose type their source states."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """Stands for any value of a column whose type the source itself states.

    Attributes:
        properties: dlt's column properties: data_type, precision, scale, timezone, nullable.
        room: what a column that is there has to take, as properties; none where nothing is asked of it.
        first_null: where the first null stands among the values; None where there is none, or none was looked for.
    """

    properties: Mapping[str, Any]
    room: Mapping[str, Any] = field(default_factory=dict)
    first_null: Position | None = None

    @property
    def data_type(self) -> DataType:
        return DataType(self.properties["data_type"])


ALWAYS_FITS: Mapping[DataType, frozenset[DataType]] = {
    DataType.TEXT: frozenset(DataType),
    DataType.DOUBLE: frozenset({DataType.BIGINT, DataType.DECIMAL, DataType.WEI}),
    DataType.DECIMAL: frozenset({DataType.BIGINT, DataType.WEI}),
    DataType.WEI: frozenset({DataType.BIGINT}),
    DataType.BOOL: frozenset({DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI}),
    DataType.TIMESTAMP: frozenset({DataType.DATE}),
    DataType.DATE: frozenset({DataType.TIMESTAMP}),
}
"""For each column type the types of which every value can be coerced (docs/dlt.md §6.3)."""


def kind(value: Any) -> DataType:
    """Return the type that a value has by itself, before detectors and preferred types."""
    if isinstance(value, TypedValue):
        return value.data_type
    if is_integer_beyond_dlt(value):
        return DataType.WEI if abs(value) < WEI_STOP else DataType.TEXT
    return type_of(value)


def fits(value: Any, data_type: DataType) -> bool:
    """Return whether a column of ``data_type`` takes ``value``, so that it needs no variant.

    That is where dlt would coerce it, but for numbers that no database holds in such a column: floats past 64 bits in
    a ``bigint``, integers of more than 38 digits in a ``wei`` or ``decimal``.
    """
    if data_type is DataType.BIGINT and type(value) is float and is_beyond_64_bits(value):
        return False
    if data_type in (DataType.WEI, DataType.DECIMAL) and type(value) is int and abs(value) >= WEI_STOP:
        return False
    return is_coercible(value, data_type)


def is_coercible(value: Any, data_type: DataType) -> bool:
    """Return whether dlt would coerce ``value`` into a column of ``data_type`` rather than make a variant of it."""
    own = kind(value)
    if own is data_type:
        return True
    if isinstance(value, TypedValue):
        return own in ALWAYS_FITS.get(data_type, frozenset())
    if is_integer_beyond_dlt(value) and data_type is DataType.BIGINT:
        return False
    if type(value) is int and own is DataType.WEI:
        return can_coerce(Decimal(value), DataType.DECIMAL, data_type)
    if type(value) is int and own is DataType.TEXT:
        # `float` makes an infinity of too many digits, and refuses the integer that they are of.
        is_double = data_type is DataType.DOUBLE
        return can_coerce(value, DataType.BIGINT, data_type) if is_double else can_coerce(str(value), own, data_type)
    return can_coerce(value, own, data_type)


def is_integer_beyond_dlt(value: Any) -> bool:
    """Return whether dlt could not read ``value`` at all."""
    return type(value) is int and is_beyond_64_bits(value)


_BITS: Final = (8, 16, 32, 64)
"""The sizes that integers are stored in."""

_LIMIT: Final = 1e38
"""No decimal has the digits of such a number."""

_EXACT: Final = Context(prec=100)


def room_of(value: Any, column: Properties, seen: ClassEvidence | None) -> Mapping[str, Any]:
    """Return what a column needs for all values of one class, as properties; nothing where it states no size.

    Nobody has looked at the class where ``seen`` is None.
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
        case DataType.BIGINT:
            bits, stored = bits_for(least, greatest), next((b for b in _BITS if full.precision <= b), full.precision)
            if bits <= stored:
                return {}
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


def _whole_digits(number: float, scale: int) -> int:
    """Return how many digits stand before the point, once the number is rounded as databases do it."""
    places = Decimal(1).scaleb(-scale)
    rounded = Decimal(repr(number)).quantize(places, ROUND_HALF_UP, _EXACT)
    return max(rounded.adjusted() + 1, 0) if rounded else 0
