"""Phrase names, values, keys and numbers for the sentences of findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from schemactl.errors import backquoted
from schemactl.schema.changes import ABSENT
from schemactl.schema.renames import RENAMED_FROM
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

_MOST_NAMES = 5
_SHORT_HASH = 8


def plain(value: Any) -> Any:
    """Return the value as JSON data, None for an absent property."""
    return None if value is ABSENT else value


def quote_value(value: Any) -> str:
    """Return a value for a sentence: text in backquotes, other data as JSON, nothing as ``unset``."""
    plain_value = plain(value)
    if plain_value is None:
        return "unset"
    text = plain_value if isinstance(plain_value, str) else json.dumps(plain_value, ensure_ascii=False, default=str)
    return f"`{text}`"


def from_to(before: Any, after: Any) -> str:
    """Return both values for a sentence."""
    return f"from {quote_value(before)} to {quote_value(after)}"


def listed(names: Sequence[str]) -> str:
    """Return names in backquotes; beyond the first five they are only counted."""
    if len(names) > _MOST_NAMES:
        return f"{backquoted(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return joined([f"`{name}`" for name in names])


def joined(phrases: Sequence[str]) -> str:
    """Return phrases with commas and a last ``and`` between them."""
    return " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))


def with_type(column: Column) -> str:
    """Return the column's name with its data type and that of its database, as far as it has them."""
    type_names = (column.properties.get("data_type"), column.properties.get(DATABASE_TYPE))
    types = ", stored as ".join(f"`{type_name}`" for type_name in type_names if type_name)
    return f"`{column.name}` ({types})" if types else f"`{column.name}`"


def full_name(table: str, column: str | None = None) -> str:
    """Return a table's or a column's full name in backquotes."""
    return f"`{table}`" if column is None else f"`{table}.{column}`"


def key(columns: Iterable[str]) -> str:
    """Return a key's columns in backquotes, all of them, in parentheses."""
    return f"({backquoted(columns)})"


def advice(before: str, after: str) -> str:
    """Return how to declare that a table or column was renamed, and how to declare that it was not."""
    return f"a guess: set `{RENAMED_FROM}: {before}` on `{after}` if it was renamed, `{RENAMED_FROM}: []` if it is new"


def short_hash(text: str) -> str:
    """Return the beginning of a hash, which is enough for people."""
    return text if len(text) <= _SHORT_HASH else f"{text[:_SHORT_HASH]}…"
