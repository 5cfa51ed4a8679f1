"""Engine 4 hashes schemas: an empty hash stands for none yet."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Add an empty hash."""
    stored.setdefault("version_hash", "")
