"""``wei_to_double``: a value of dlt's class ``Wei`` is a double.

No JSON value is one; only Python code makes them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from schemactl.schema.types import DataType


def detect(value: Any) -> DataType | None:
    """Return ``double`` for a ``Wei``, known by its name because dlt is not imported."""
    if isinstance(value, Decimal) and any(base.__name__ == "Wei" for base in type(value).__mro__):
        return DataType.DOUBLE
    return None
