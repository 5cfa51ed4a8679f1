"""``large_integer``: an integer beyond 64 bits is a ``wei``, one beyond the range of a wei a text."""

from __future__ import annotations

from typing import Any, Final

from schemactl.schema.types import DataType

_GREATEST_BIGINT: Final = 2**63 - 1
_GREATEST_WEI: Final = 578960446186580977117854925043439539266


def detect(value: Any) -> DataType | None:
    """Return ``wei`` or ``text`` for a great integer; negative integers are never too large (dlt.md §6.2)."""
    if not isinstance(value, int) or value <= _GREATEST_BIGINT:
        return None
    return DataType.WEI if value <= _GREATEST_WEI else DataType.TEXT
