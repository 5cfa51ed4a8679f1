"""ASCII letters, digits and ``_``; upper and lower case kept (docs/dlt.md §4.2)."""

from __future__ import annotations

from schemactl.schema.naming import Convention, guard_digit, only_words, single_underscores


def clean(name: str) -> str:
    """Return ``name`` as an SQL identifier; empty for ``__`` and the like, as in dlt."""
    words = guard_digit(only_words(name))
    return single_underscores(words if words == "_" else words.rstrip("_"))


CONVENTION = Convention(clean, is_case_sensitive=True)
