"""The function by which work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Is called with the current stage, empty for the last one, and the done fraction (0 to 1, None for unknown)."""


def size_text(size: int) -> str:
    """Return a number of bytes for people.

    >>> [size_text(size) for size in (812, 3_100_000, 12_000_000_000)]
    ['812 bytes', '3.1 MB', '12 GB']
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            count = size / factor
            return f"{count:.1f} {unit}" if count < 10 else f"{count:,.0f} {unit}"
    return f"{size} bytes"


def time_text(seconds: float) -> str:
    """Return a time for people.

    >>> [time_text(seconds) for seconds in (0.04, 3.27, 180.4, 7300)]
    ['0.1 s', '3.3 s', '3 min', '122 min']
    """
    return f"{max(seconds, 0.1):.1f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def no_progress(_what: str, _share: float | None) -> None:
    """Ignore progress."""
