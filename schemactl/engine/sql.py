"""Words of Spark SQL: names, texts, fields."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Quote an identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Quote a text."""
    # Spark puts its settings in the place of `${...}`, wherever in SQL that stands.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


def field_of(value: str, key: str) -> str:
    """Return SQL for the field ``key`` of a struct."""
    return f"{value}[{literal(key)}]"
