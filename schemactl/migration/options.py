"""The user's decisions about a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class OnUnfit(StrEnum):
    """The treatment of a column whose values may not all survive its new type."""

    REFUSE = "refuse"
    """It is converted in its place, once no value is counted that would be lost."""
    EXPAND = "expand"
    """A new column takes what fits, and the name; the old one is kept under another name."""
    VARIANT = "variant"
    """As ``EXPAND``, and what does not fit goes into the variant column that dlt would make."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The user's decisions about a plan.

    Attributes:
        on_unfit: what becomes of columns whose values may not survive.
        compares_unique: whether unique constraints are planned; dlt makes none on most destinations.
        compares_primary_keys: whether primary keys are planned; dlt makes none on most destinations.
        guesses_renames: whether what looks like a rename is one; else only ``x-renamed-from`` counts.
        keeps_removed: whether what the schema has no more is left alone, and named, in place of being dropped.
        removed_before: columns, by table, that earlier schemas of the destination had; no column for a table. What the
            schema has no more is dropped if it is one of them, too.
        drops_kept: whether old columns that an earlier plan kept are dropped now.
        is_online: whether steps are done so that others read and write meanwhile.
        empty_tables: names in the destination of tables that hold no rows.
    """

    on_unfit: OnUnfit = OnUnfit.REFUSE
    compares_unique: bool = False
    compares_primary_keys: bool = False
    guesses_renames: bool = False
    keeps_removed: bool = False
    removed_before: frozenset[tuple[str, str | None]] = field(default_factory=frozenset)
    drops_kept: bool = False
    is_online: bool = False
    empty_tables: frozenset[str] = field(default_factory=frozenset)
