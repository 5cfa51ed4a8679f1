"""``iso_date``: a text with a date and no time of day is a date, any four digits but ``0000`` included."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from schemactl.schema.iso8601 import parse
from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``date`` for a text such as ``2024-01-02``, ``2024-W05`` or ``2024``."""
    if not isinstance(value, str):
        return None
    try:
        parsed = parse(value)
    except ValueError:
        return None
    return DataType.DATE if isinstance(parsed, date) and not isinstance(parsed, datetime) else None
