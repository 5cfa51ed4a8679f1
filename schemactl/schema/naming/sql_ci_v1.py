"""``sql_cs_v1`` in lower case (docs/dlt.md §4.2)."""

from __future__ import annotations

from schemactl.schema.naming import Convention, sql_cs_v1


def clean(name: str) -> str:
    """Return ``name`` as an SQL identifier in lower case."""
    return sql_cs_v1.clean(name).lower()


CONVENTION = Convention(clean, is_case_sensitive=False)
