"""The user's decisions about a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class OnUnfit(StrEnum):
    """The treatment of a column whose values may not all survive its new type."""

    REFUSE = "refuse"
    """The column is converted in place after a count shows that no value would be lost."""
    EXPAND = "expand"
    """A new column takes the old name and the values that fit; the old column is kept under another name."""
    VARIANT = "variant"
    """As ``EXPAND``; values that do not fit go into the variant column that dlt would create."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The user's decisions about a plan.

    Attributes:
        on_unfit: the way to change columns whose values may not survive.
        compares_unique: whether unique constraints are planned; dlt creates them on few destinations.
        compares_primary_keys: whether primary keys are planned; dlt creates them on few destinations.
        guesses_renames: whether likely renames count; else only ``x-renamed-from`` counts.
        keeps_removed: whether tables and columns that the schema has lost are reported instead of dropped.
        removed_before: columns, by table, that earlier schemas of the destination had; no columns for a table. If the
            schema has lost one of them, it is dropped, too.
        drops_kept: whether old columns that an earlier plan kept are dropped now.
        is_online: whether other sessions can read and write during the steps.
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
