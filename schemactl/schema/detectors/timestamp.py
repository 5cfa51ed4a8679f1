"""``timestamp``: a number of seconds since 1970 that lies within five years of now is a timestamp."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, Final

from schemactl.schema.types import DataType

_SPAN_SECONDS: Final = 5 * 365 * 24 * 60 * 60


@cache
def window() -> tuple[float, float]:
    """Return the first and the last epoch, in seconds, that count as a timestamp.

    Fixed at the first call: all values of a run meet the same window, however long it takes.
    """
    now = time.time()
    return now - _SPAN_SECONDS, now + _SPAN_SECONDS


def detect(value: Any) -> DataType | None:
    """Return ``timestamp`` for an integer or a float inside the window; booleans are not numbers here."""
    if type(value) is not int and type(value) is not float:
        return None
    first, last = window()
    return DataType.TIMESTAMP if first <= value <= last else None
