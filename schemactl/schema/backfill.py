"""``x-backfill``: the value that stored rows get in a new column which may not be null."""

from __future__ import annotations

import math
from typing import Any, Final

from schemactl.schema.coercion import coerce, type_of
from schemactl.schema.types import Column, DataType

BACKFILL: Final = "x-backfill"


def is_scalar(value: Any) -> bool:
    """Return whether a plan can contain a value: a text, a boolean, or a JSON number."""
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def has_backfill(column: Column) -> bool:
    """Return whether a schema sets the value of a column in stored rows."""
    return is_scalar(column.properties.get(BACKFILL))


def backfill_fault(column: Column) -> str | None:
    """Return in words why the column cannot hold its backfill value; None if it can, or without a backfill.

    >>> backfill_fault(Column("id", {"data_type": "bigint", "x-backfill": "abc"}))
    '`abc` is not a `bigint`'
    """
    value, kind = column.properties.get(BACKFILL), column.data_type
    if value is None or kind is None:
        return None
    return value_fault(value, kind) if has_backfill(column) else f"`{value}` is not a string, a number or a Boolean"


def value_fault(value: Any, kind: DataType) -> str | None:
    """Return in words why a value does not have a type; None if it does."""
    try:
        coerce(value, type_of(value), kind)
    except (ValueError, TypeError):
        return f"`{value}` is not a `{kind}`"
    return None
