"""``bool``: ``true`` and ``false`` in a text are a ``bool``. For sources that have nothing but texts, such as CSV."""

from __future__ import annotations

from typing import Any

from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``bool`` for these two words, however capitalized; ``no`` and ``f`` may be anything."""
    return DataType.BOOL if isinstance(value, str) and value.lower() in ("true", "false") else None
