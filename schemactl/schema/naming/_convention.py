"""What a naming convention is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def unchanged(identifier: str) -> str:
    """Return ``identifier`` as it is."""
    return identifier


@dataclass(frozen=True, slots=True)
class Convention:
    """The rules of one naming convention; a plug-in module gives one as ``CONVENTION``.

    Attributes:
        clean: from a name without spaces around it, never blank, to an identifier; shortening comes after it.
        is_case_sensitive: whether identifiers that differ in case only are different.
        path_separator: what stands between the identifiers of a path; ``clean`` must not produce it.
        adapt_table: what is done to the shortened identifier of a table.
        longest: length in characters that no identifier may exceed, None for no limit.
    """

    clean: Callable[[str], str]
    is_case_sensitive: bool
    path_separator: str = "__"
    adapt_table: Callable[[str], str] = unchanged
    longest: int | None = None
