"""``snake_case`` for Amazon S3 Tables: no table starts with ``_``, 255 characters at most (docs/dlt.md §4.1)."""

from __future__ import annotations

from schemactl.schema.naming import Convention, snake_case


def without_leading_underscores(identifier: str) -> str:
    """Return a table's identifier as S3 Tables takes it: ``_dlt_loads`` -> ``dlt_loads``."""
    return identifier.lstrip("_")


CONVENTION = Convention(snake_case.clean, is_case_sensitive=False, adapt_table=without_leading_underscores, longest=255)
