"""Engine 7 has schema contracts in place of seals."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Drop the seals; dlt makes no contract of them."""
    stored["settings"].pop("schema_sealed", None)
    for table in stored["tables"].values():
        table.pop("table_sealed", None)
