"""Engine 2 filters data: by default nothing is left out."""

from __future__ import annotations

from typing import Any


def upgrade(stored: dict[str, Any]) -> None:
    """Add the filters of engine 2, which pass everything."""
    stored["includes"] = []
    stored["excludes"] = []
