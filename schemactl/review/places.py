"""How sentences name tables, columns and keys."""

from __future__ import annotations

from collections.abc import Iterable


def place(table: str, column: str | None = None) -> str:
    """Return a table's or a column's full name in backquotes."""
    return f"`{table}`" if column is None else f"`{table}.{column}`"


def key(columns: Iterable[str]) -> str:
    """Return a key's columns in backquotes, all of them, in parentheses."""
    return f"({', '.join(f'`{column}`' for column in columns)})"
