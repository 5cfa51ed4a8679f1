"""What the conventions for SQL names share (docs/dlt.md §4.2)."""

from __future__ import annotations

import re

_NOT_WORD = re.compile(r"[^A-Za-z\d_]+")  # `\d` knows the digits of all scripts, and dlt keeps them
_UNDERSCORES = re.compile("__+")


def only_words(name: str) -> str:
    """Replace each run of characters that are not ASCII letters, digits or ``_`` by one ``_``."""
    return _NOT_WORD.sub("_", name)


def guard_digit(name: str) -> str:
    """Put ``_`` before a leading digit."""
    return f"_{name}" if name[:1].isdecimal() else name


def single_underscores(name: str) -> str:
    """Make one ``_`` of each run, because two are the path separator."""
    return _UNDERSCORES.sub("_", name)
