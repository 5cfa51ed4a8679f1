"""Where the kinds of integers end that dlt distinguishes (docs/dlt.md §6.2)."""

from __future__ import annotations

from typing import Final

INT64: Final = range(-(2**63), 2**63)
"""What a ``bigint`` holds."""

UINT64_LIMIT: Final = 2**64
"""The first integer past what dlt reads from JSON."""

WEI_LIMIT: Final = 578960446186580977117854925043439539266
"""The greatest integer that dlt's ``large_integer`` detector calls ``wei``."""


def is_beyond_64_bits(number: float) -> bool:
    """Return whether dlt reads no integer of this size from JSON, signed or unsigned; also of a float, NaN included."""
    return not INT64.start <= number < UINT64_LIMIT
