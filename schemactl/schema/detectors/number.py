"""``number``: a text with a number is a ``double``. For sources that have nothing but texts, such as CSV."""

from __future__ import annotations

from typing import Any

from schemactl.schema.coercion import can_coerce
from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``double`` for a number as JSON writes it, ``1.5`` or ``1e3``; ``nan`` is a word."""
    if not isinstance(value, str):
        return None
    is_number = can_coerce(value, DataType.TEXT, DataType.DOUBLE) and can_coerce(value, DataType.TEXT, DataType.JSON)
    return DataType.DOUBLE if is_number else None
