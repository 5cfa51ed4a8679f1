"""``iso_timestamp``: a text with a date and a time of day is a timestamp; dlt's only default detection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from schemactl.schema.iso8601 import parse
from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``timestamp`` for a text such as ``2024-01-02T03:04:05Z`` or ``2024/01/02 3:04``."""
    if not isinstance(value, str):
        return None
    try:
        return DataType.TIMESTAMP if isinstance(parse(value), datetime) else None
    except ValueError:
        return None
