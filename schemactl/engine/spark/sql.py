"""Words of Spark SQL: names and texts."""

from __future__ import annotations

from schemactl.schema.quoting import quote


def quoted(name: str) -> str:
    """Quote an identifier."""
    return quote(name, "`")


def literal(text: str) -> str:
    """Quote a text."""
    # Spark replaces `${...}` by its settings anywhere in SQL.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"
