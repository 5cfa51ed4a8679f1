"""Quotes names and texts in SQL."""

from __future__ import annotations


def quote(name: str, mark: str = '"') -> str:
    """Return a name as standard SQL quotes it; Spark and MySQL have backticks as the mark.

    >>> quote("order"), quote("a`b", "`")
    ('"order"', '`a``b`')
    """
    return mark + name.replace(mark, mark * 2) + mark


def qualify(dataset: str, name: str) -> str:
    """Return the full name of a table, as standard SQL quotes it."""
    return f"{quote(dataset)}.{quote(name)}"


def literal(text: str) -> str:
    """Return a text as standard SQL writes it; it must hold no NUL."""
    return "'" + text.replace("'", "''") + "'"
