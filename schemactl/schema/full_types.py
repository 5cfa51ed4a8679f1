"""A column's type with defaults filled in: precision, scale, timezone as in dlt (docs/dlt.md §6.8, §9.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemactl.errors import InputError
from schemactl.schema.conversions import Conversion, conversion
from schemactl.schema.types import MICROSECOND_DIGITS, DataType, Properties

DEFAULT_DECIMAL: Final = (38, 9)
"""dlt's default decimal: all digits, and the digits after the point."""


def decimal_sizes(properties: Properties) -> tuple[int, int]:
    """Return precision and scale of dlt's decimal, each for itself (docs/dlt.md §9.3)."""
    precision, scale = properties.get("precision"), properties.get("scale")
    return (DEFAULT_DECIMAL[0] if precision is None else precision, DEFAULT_DECIMAL[1] if scale is None else scale)


MAX_DIGITS: Final = 38
"""Digits that decimals have in rows that are loaded, in Spark, in Delta Lake and in Iceberg."""


def check_scale(name: str, precision: int, scale: int, holder: str) -> None:
    """Raise ``InputError`` if a decimal column has a scale larger than its precision.

    ``holder`` is the destination or format without such a type, for the message.
    """
    if scale > precision:
        message = f"{holder} has no decimal({precision},{scale}) (`{name}`): the scale is larger than the precision"
        raise InputError(message, hint="lower the scale in the schema, or raise the precision")


_BITS: Final = 64
_USUAL_PRECISIONS: Final = {
    DataType.BIGINT: _BITS, **dict.fromkeys((DataType.TIMESTAMP, DataType.TIME), MICROSECOND_DIGITS),
}  # fmt: skip
"""The default precision of types."""
_UNITS: Final = {
    **dict.fromkeys((DataType.DECIMAL, DataType.WEI, DataType.TIMESTAMP, DataType.TIME), "digit"),
    **{DataType.BIGINT: "bit", DataType.TEXT: "character", DataType.BINARY: "byte"},
}
SIZED: Final = frozenset(_UNITS)
"""The types that have a size."""


@dataclass(frozen=True, slots=True)
class FullType:
    """A type with defaults applied; properties that make no difference to a type are None.

    Attributes:
        precision: bits of a bigint, digits of a decimal or wei, characters of a text, bytes of a binary, digits of
            the seconds of a timestamp or time; None without a limit.
        scale: digits after the point of a decimal or wei.
    """

    data_type: DataType
    precision: int | None = None
    scale: int | None = None
    timezone: bool | None = None

    @property
    def integer_digits(self) -> int | None:
        """Digits before the point of a decimal or wei; None without a limit, and for other types."""
        if self.precision is None or self.scale is None:
            return None
        return self.precision - self.scale

    @property
    def size(self) -> str:
        """The precision in words."""
        if self.precision is None:
            return "any length"
        return f"{self.precision} {_UNITS[self.data_type]}{'' if self.precision == 1 else 's'}"

    def __str__(self) -> str:
        size = "" if self.precision in (None, _USUAL_PRECISIONS.get(self.data_type)) else f"({self.precision})"
        if self.data_type == DataType.DECIMAL or (self.data_type == DataType.WEI and size and self.scale):
            size = f"({self.precision}, {self.scale})"
        return f"{self.data_type}{size}{' without time zone' if self.timezone is False else ''}"


def full_type(properties: Properties) -> FullType | None:
    """Return the type of a column with all its sizes, None for an incomplete column.

    By default a bigint has 64 bits and a decimal is ``decimal(38, 9)``, each number for itself; a wei has as many
    digits as the destination; a timestamp has six digits of a second and knows its time zone.
    """
    type_name = properties.get("data_type")
    if not type_name:
        return None
    data_type, precision, scale = DataType(type_name), properties.get("precision"), properties.get("scale")
    usual = _USUAL_PRECISIONS.get(data_type)
    match data_type:
        case DataType.BIGINT | DataType.TIME:
            return FullType(data_type, usual if precision is None else precision)
        case DataType.DECIMAL:
            return FullType(data_type, *decimal_sizes(properties))
        case DataType.WEI:
            return FullType(data_type, precision, scale or 0)
        case DataType.TEXT | DataType.BINARY:
            return FullType(data_type, precision)
        case DataType.TIMESTAMP:
            digits = usual if precision is None else precision
            return FullType(data_type, digits, timezone=properties.get("timezone") is not False)
        case _:
            return FullType(data_type)


EXACT_BITS: Final = 53
"""Of integers that a double holds to the last digit."""


def conversion_between(before: FullType, after: FullType, *, counts_seconds: bool = False) -> Conversion:
    """Return the effect on values when their data type changes, including its sizes.

    Like ``conversion`` of the data types, but short integers lose nothing as double, and if all values survive the
    data type, its size may still be too small for them.
    """
    by_data_type = conversion(before.data_type, after.data_type, counts_seconds=counts_seconds)
    if (before.data_type, after.data_type) == (DataType.BIGINT, DataType.DOUBLE):
        return Conversion.WHOLE if (before.precision or _BITS) <= EXACT_BITS else by_data_type
    if by_data_type is Conversion.WHOLE and not has_room(before, after):
        return Conversion.DEPENDS
    return by_data_type


_DIGITS_OF_BITS: Final = ((8, 3), (16, 5), (32, 10), (64, 19))


def digits_of_bits(bits: int | None) -> int:
    """Return the decimal digits of the largest integer of a size; of 64 bits by default."""
    return next((digits for limit, digits in _DIGITS_OF_BITS if (bits or _BITS) <= limit), DEFAULT_DECIMAL[0])


def has_room(before: FullType, after: FullType) -> bool:
    """Return whether a declared size of ``after`` has room for all values of ``before``.

    For data types whose conversion loses nothing. No decimal has room for all doubles: 1e300 has too many digits, and
    dlt's own decimal keeps nine places.
    """
    if after.data_type == DataType.TEXT:
        return after.precision is None
    if after.data_type not in (DataType.DECIMAL, DataType.WEI) or after.precision is None:
        return True
    if before.data_type is DataType.DOUBLE:
        return False
    largest, places = DEFAULT_DECIMAL
    digits = largest - places
    match before.data_type:
        case DataType.BIGINT:
            digits, places = digits_of_bits(before.precision), 0
        case DataType.WEI:
            places = before.scale or 0
            digits = (MAX_DIGITS if before.precision is None else before.precision) - places
    return (after.integer_digits or 0) >= digits and (after.scale or 0) >= places
