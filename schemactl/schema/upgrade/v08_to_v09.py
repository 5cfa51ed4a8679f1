"""Engine 9 marks tables that received data."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Mark every table with row keys, since only data brings them."""
    for table in stored["tables"].values():
        if "_dlt_id" in table["columns"]:
            table.setdefault("x-normalizer", {})["seen-data"] = True
