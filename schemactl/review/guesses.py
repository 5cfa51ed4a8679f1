"""How a person states or refuses what a review guesses."""

from __future__ import annotations

from schemactl.schema.renames.pairing import RENAMED_FROM


def advice(before: str, after: str) -> str:
    """Return how to say that a table or column was renamed, and how to say that it was not."""
    return f"a guess: state `{RENAMED_FROM}: {before}` on `{after}` if it is so, `{RENAMED_FROM}: []` if it is new"
