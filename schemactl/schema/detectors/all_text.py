"""``all_text``: every value is a text, so that types do not depend on the order of values."""

from __future__ import annotations

from typing import Any

from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``text`` for any scalar."""
    return None if value is None or isinstance(value, dict | list) else DataType.TEXT
