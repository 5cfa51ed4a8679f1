"""Engine 11 keeps ``__`` in the keys of data; schemas from before go on without."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Keep the names that the schema's data already has."""
    stored["normalizers"]["use_break_path_on_normalize"] = False
