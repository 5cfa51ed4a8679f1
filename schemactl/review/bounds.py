"""Compares limits of values: whether another one lets more in, and how a sentence says it."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from schemactl.review.hints import is_unset
from schemactl.review.wording import shown
from schemactl.schema.changes import ColumnPropertyChanged


def limit_phrase(change: ColumnPropertyChanged, name: str) -> str:
    """Return what a change does to a limit of this name, as the end of a sentence about the column."""
    if is_unset(change.after):
        return f"has no {name} any more; it was {shown(change.before)}"
    if is_unset(change.before):
        return f"has a {name} now: {shown(change.after)}"
    return f"changes its {name} from {shown(change.before)} to {shown(change.after)}"


def loosens(before: Any, after: Any, *, is_upper: bool) -> bool | None:
    """Return whether a bound lets more in; None where the two are no two numbers or two texts (of dates, say)."""
    if isinstance(before, int | float) and isinstance(after, int | float):
        return (after > before) is is_upper
    if isinstance(before, str) and isinstance(after, str) and len(before) == len(after):
        return (after > before) is is_upper
    return None


def is_multiple(number: Any, of: Any) -> bool:
    """Return whether one number is a whole multiple of another; decimal fractions count as they are written."""
    try:
        return Decimal(str(number)) % Decimal(str(of)) == 0
    except (InvalidOperation, ZeroDivisionError):
        return False
