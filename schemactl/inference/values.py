"""The type of a value, whether a column of another type takes it, and the size that the column needs for it.

These are dlt's rules, and our own for values that dlt rejects. dlt rejects integers outside -2**63 .. 2**64-1 before it
reads any schema. Here such an integer is a ``wei`` if that has room for it, otherwise a text (docs/differences.md).
Only numbers need larger sizes: texts, bytes and fractions of seconds go to the database unchanged.
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


DECLARED: Final = "typed"
"""The class of values whose type their source declares."""


@dataclass(frozen=True, slots=True)
class DeclaredValue:
    """Represents all values of a column whose type the source itself declares.

    Attributes:
        properties: dlt's column properties: data_type, precision, scale, timezone, nullable.
        room: the properties that an existing column needs for these values; empty if it needs none.
        first_null: position of the first null among the values; None without nulls, or if they were not counted.
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
"""For each column type the types whose values can all be coerced to it (docs/dlt.md §6.3)."""


def kind(value: Any) -> DataType:
    """Return the type that a value has by itself, before detectors and preferred types."""
    if isinstance(value, DeclaredValue):
        return value.data_type
    if is_integer_beyond_dlt(value):
        return DataType.WEI if abs(value) < WEI_STOP else DataType.TEXT
    return type_of(value)


def fits(value: Any, data_type: DataType) -> bool:
    """Return whether a column of ``data_type`` takes ``value``, so that it needs no variant.

    It does if dlt would coerce it, except for numbers that no database can store: floats beyond 64 bits in a
    ``bigint``, integers of more than 38 digits in a ``wei`` or ``decimal``.
    """
    if data_type is DataType.BIGINT and type(value) is float and is_beyond_64_bits(value):
        return False
    if data_type in (DataType.WEI, DataType.DECIMAL) and type(value) is int and abs(value) >= WEI_STOP:
        return False
    return is_coercible(value, data_type)


def is_coercible(value: Any, data_type: DataType) -> bool:
    """Return whether dlt would coerce ``value`` into a column of ``data_type`` rather than make a variant of it."""
    natural_type = kind(value)
    if natural_type is data_type:
        return True
    if isinstance(value, DeclaredValue):
        return natural_type in ALWAYS_FITS.get(data_type, frozenset())
    if is_integer_beyond_dlt(value) and data_type is DataType.BIGINT:
        return False
    if type(value) is int and natural_type is DataType.WEI:
        return can_coerce(Decimal(value), DataType.DECIMAL, data_type)
    if type(value) is int and natural_type is DataType.TEXT:
        # `float` turns a text of too many digits into infinity, but rejects such an integer.
        is_double = data_type is DataType.DOUBLE
        return (
            can_coerce(value, DataType.BIGINT, data_type)
            if is_double
            else can_coerce(str(value), natural_type, data_type)
        )
    return can_coerce(value, natural_type, data_type)


def is_integer_beyond_dlt(value: Any) -> bool:
    """Return whether dlt could not read ``value`` at all."""
    return type(value) is int and is_beyond_64_bits(value)


_BITS: Final = (8, 16, 32, 64)
"""The sizes that integers are stored in."""

_LIMIT: Final = 1e38
"""No decimal has the digits of such a number."""

_EXACT: Final = Context(prec=100)


def room_of(value: Any, column: Properties, class_evidence: ClassEvidence | None) -> Mapping[str, Any]:
    """Return the properties that a column needs for all values of one class; empty if the column has no size.

    ``class_evidence`` is None if the class was not counted.
    """
    if isinstance(value, DeclaredValue):
        return value.room
    if (
        class_evidence is None
        or class_evidence.least is None
        or class_evidence.greatest is None
        or column.get("precision") is None
    ):
        return {}
    return room_for(column, class_evidence.least, class_evidence.greatest)


def room_for(column: Properties, least: float, greatest: float) -> dict[str, Any]:
    """Return the properties that a column needs for numbers of a range; empty if its stored type takes them."""
    full = full_type(column)
    if full is None or full.precision is None or not -_LIMIT < least <= greatest < _LIMIT:
        return {}
    match full.data_type:
        case DataType.BIGINT:
            bits, stored = bits_for(least, greatest), next((b for b in _BITS if full.precision <= b), full.precision)
            return {} if bits <= stored else {"data_type": str(full.data_type), "precision": bits}
        case DataType.DECIMAL | DataType.WEI:
            scale = full.scale or 0
            integer_digits = max(_whole_digits(least, scale), _whole_digits(greatest, scale))
            has_room = integer_digits <= full.precision - scale
            return (
                {}
                if has_room
                else {"data_type": str(full.data_type), "precision": integer_digits + scale, "scale": scale}
            )
        case _:
            return {}


def bits_for(least: float, greatest: float) -> int:
    """Return the smallest integer size, in bits, for a range."""
    return next((bits for bits in _BITS if -(2.0 ** (bits - 1)) <= least and greatest < 2.0 ** (bits - 1)), _BITS[-1])


def _whole_digits(number: float, scale: int) -> int:
    """Return the number of digits before the decimal point after rounding as databases do."""
    rounded = Decimal(repr(number)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return max(rounded.adjusted() + 1, 0) if rounded else 0
