"""Under which condition a step runs, and what it leaves behind."""

from __future__ import annotations

from schemactl.migration.fit import fit
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    RestoreColumn,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.schema.conversions import Conversion


def needs_count(step: Step) -> bool:
    """Return whether the data has to be looked at before the step: it runs only where nothing is counted."""
    match step:
        case ChangeType() | SetNotNull():
            return step.needs_check
        case AddUnique() | AddPrimaryKey() | RestoreColumn():
            return True
        case _:
            return False


def caution(step: Step) -> str:
    """Return what is to be known of a step's values, part of a sentence; empty where there is nothing."""
    match step:
        case ChangeType(needs_check=True):
            lost = fit(step.before, step.after, counts_seconds=step.counts_seconds).lost
            return "only if every stored value survives" + (f" ({lost})" if lost else "")
        case SetNotNull(needs_check=True):
            return "only if no stored value is null"
        case AddUnique():
            return "only if no value is stored twice"
        case AddPrimaryKey():
            return "only if no row has a null there, or what another row has"
        case Backfill(conversion=Conversion.WHOLE):
            return ""
        case Backfill(taken=Taken.UNFIT):
            return "only the values that do not fit, as they are"
        case Backfill():
            lost = fit(step.source, step.target, counts_seconds=step.counts_seconds).lost
            return f"values that do not fit stay null ({lost})"
        case _:
            return ""
