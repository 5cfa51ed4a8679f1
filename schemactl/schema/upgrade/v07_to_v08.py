"""Engine 8 remembers the hashes of earlier contents."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Start with no earlier content."""
    stored["previous_hashes"] = []
