"""Read the last day on which an announced table or column, or a silence, holds."""

from __future__ import annotations

from datetime import date
from typing import Any


def read_last_day(stated: Any) -> date | None:
    """Return the day that is stated as a date or as ISO text, None for anything else."""
    try:
        return date.fromisoformat(str(stated))
    except ValueError:
        return None


def is_expired(last_day: date | None, today: date) -> bool:
    """Return whether there is a last day and it is past."""
    return last_day is not None and last_day < today
