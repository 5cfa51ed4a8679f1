"""``large_integer``: an integer beyond 64 bits is a ``wei``, one beyond the range of a wei a text."""

from __future__ import annotations

from typing import Any

from schemactl.schema.coercion import INT64, WEI_LIMIT
from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``wei`` or ``text`` for a great integer; negative integers are never too large (docs/dlt.md §6.2)."""
    if not isinstance(value, int) or value < INT64.stop:
        return None
    return DataType.WEI if value <= WEI_LIMIT else DataType.TEXT
