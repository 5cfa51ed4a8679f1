"""The type that values are to survive in, and the limits of types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemactl.schema.types import DataType

LONGEST_DOUBLE: Final = 24
"""Characters of the longest text that Python makes of a double."""

EXACT_INTEGERS: Final = 2**53
"""Doubles hold every integer up to here."""

MICROSECOND_DIGITS: Final = 6
"""Digits of a second's fraction that a moment has."""


@dataclass(frozen=True, slots=True)
class TargetType:
    """The type that values are to survive in, defaults applied.

    Attributes:
        precision: bits of a bigint, digits of a decimal or wei, characters of a text, bytes of a binary, digits of a
            second's fraction; None for no limit.
        scale: digits after the point of a decimal or wei.
    """

    data_type: DataType
    precision: int | None = None
    scale: int | None = None

    @property
    def integer_digits(self) -> int | None:
        """Digits before the point of a decimal or wei, None for no limit."""
        return None if self.precision is None else self.precision - (self.scale or 0)


def integer_limit(bits: int) -> int:
    """Return the first integer that a signed one of ``bits`` bits does not hold."""
    return 1 << max(bits - 1, 0)
