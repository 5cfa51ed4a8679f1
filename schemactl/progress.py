"""The function by which work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Is called with what is being done, empty for what was said last, and how much of it is (0 to 1, None for unknown)."""


def no_progress(_what: str, _share: float | None) -> None:
    """Receive progress that nobody is shown."""
