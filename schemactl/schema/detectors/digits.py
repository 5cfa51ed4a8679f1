"""``digits``: a text with an integer is a ``bigint``. For sources that have nothing but texts, such as CSV."""

from __future__ import annotations

from typing import Any

from schemactl.schema.coercion import can_coerce
from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``bigint`` for an integer as JSON writes it: ``007`` and ``+5`` are codes, not numbers."""
    if not isinstance(value, str):
        return None
    is_integer = can_coerce(value, DataType.TEXT, DataType.BIGINT) and can_coerce(value, DataType.TEXT, DataType.JSON)
    return DataType.BIGINT if is_integer else None
