"""``hexbytes_to_text``: a value of dlt's class ``HexBytes`` is a text.

No JSON value is one; only Python code makes them.
"""

from __future__ import annotations

from typing import Any

from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``text`` for a ``HexBytes``, known by its name because dlt is not imported."""
    if isinstance(value, bytes) and any(base.__name__ == "HexBytes" for base in type(value).__mro__):
        return DataType.TEXT
    return None
