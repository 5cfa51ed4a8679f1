"""From a destination's catalog and a schema to the steps between them, with way, risk, caution and undo of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, assert_never

from schemactl.migration.abilities import Abilities, Lock, Way, way_of
from schemactl.migration.comparison import compare
from schemactl.migration.drafting import draft_steps
from schemactl.migration.effects import stating
from schemactl.migration.options import PlanOptions
from schemactl.migration.remarks import Note, remarks
from schemactl.migration.retyping import fit
from schemactl.migration.steps import (
    LATER,
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    OnlineStep,
    Phase,
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
    Taken,
    is_outside_transaction,
)
from schemactl.schema.changes import Change, TableRenamed
from schemactl.schema.conversions import Conversion
from schemactl.schema.structure import Stored
from schemactl.schema.types import DataType, Schema


class Risk(StrEnum):
    """What a step does to stored data and to others; from harmless to grave."""

    SAFE = "safe"
    BLOCKS = "blocks"
    """Writers wait while the rows are read."""
    REWRITES = "rewrites the table"
    """The rows are written anew; writers wait, on most engines readers too."""
    LOSES_DATA = "loses data"
    """Values are gone afterwards; only where it is allowed (``--allow-destructive``)."""


_OF_WAY: Final = {
    Way.IN_PLACE: Risk.SAFE,
    Way.NONE: Risk.SAFE,
    Way.SCAN: Risk.BLOCKS,
    Way.REWRITE: Risk.REWRITES,
    Way.COPY: Risk.REWRITES,
}


def risk_of(step: Step, way: Way, lock: Lock | None) -> Risk:
    """Return the risk of a step.

    A retype that may lose values is not destructive: it runs only where the data holds no such value. A step of an
    online plan that no reader or writer waits for is safe, however long it takes.
    """
    if isinstance(step, DropTable | DropColumn):
        return Risk.LOSES_DATA
    is_online = isinstance(step, OnlineStep) or is_outside_transaction(step)
    return Risk.SAFE if is_online and lock is not None and not lock.writers_wait else _OF_WAY[way]


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


@dataclass(frozen=True, slots=True)
class Undo:
    """The steps that undo a step.

    Attributes:
        steps: in their order; none where there is nothing to undo, or it cannot be.
        is_possible: whether the tables are afterwards as they were.
        note: why it is not possible, or what is not as before all the same: part of a sentence; may be empty.
    """

    steps: tuple[Step, ...] = ()
    is_possible: bool = True
    note: str = ""


def undo_of(step: Step, abilities: Abilities) -> Undo:
    """Return how a step is undone at a destination; where it cannot take the step back, that is not possible."""
    undo = _undo(step)
    if abilities.copies_file and isinstance(step, DropTable | DropColumn) and not undo.is_possible:
        return replace(undo, note=f"{undo.note}, but for the copy of the file that is made before")
    if any(way_of(each, abilities) is Way.NONE for each in undo.steps):
        return Undo(is_possible=False, note="the destination cannot take it back")
    return undo


def _undo(step: Step) -> Undo:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    match step:
        case CreateTable():
            return Undo((DropTable(step.table),), note="with all rows that were loaded since")
        case DropTable() if step.kept:
            return Undo((CreateTable(step.table, step.kept),), note="until `schemactl migrate clean` drops it")
        case DropTable():
            return Undo(is_possible=False, note="its rows are gone")
        case RenameTable():
            return Undo((RenameTable(step.after, step.before),))
        case DescribeTable():
            return Undo((DescribeTable(step.table, step.after, step.before),))
        case AddColumn():
            return Undo((DropColumn(step.table, step.column),), note="with all values that were loaded since")
        case DropColumn():
            return Undo(is_possible=False, note="its values are gone")
        case RenameColumn():
            return Undo((RenameColumn(step.table, step.after, step.before),))
        case ChangeType():
            # The values that are there came from the type before, so they fit it; what was loaded since may not.
            back = replace(step, before=step.after, after=step.before, conversion=Conversion.DEPENDS, needs_check=True)
            is_read = step.before.data_type is DataType.TEXT and step.after.data_type is not DataType.TEXT
            spelling = "texts come back in their usual spelling, " if is_read else ""
            return Undo((back,), note=f"{spelling}unless values were loaded since that do not fit")
        case Backfill(taken=Taken.UNFIT):
            return Undo(note=f"values stay in `{step.target.name}` where that column was there before")
        case Backfill() | FillColumn():
            return Undo()  # undone with the column that was filled
        case SetNotNull():
            return Undo((DropNotNull(step.table, stating(step.column, "nullable", False)),))
        case DropNotNull():
            unset = SetNotNull(step.table, stating(step.column, "nullable", None))
            return Undo((unset,), note="unless nulls were loaded since")
        case AddUnique():
            return Undo((DropUnique(step.table, step.column),))
        case DropUnique():
            return Undo((AddUnique(step.table, step.column),), note="unless values were loaded twice since")
        case AddPrimaryKey():
            return Undo((DropPrimaryKey(step.table, step.columns),))
        case DropPrimaryKey():
            return Undo((AddPrimaryKey(step.table, step.columns),), note="unless values were loaded twice since")
        case Prepare():
            taken_back = _TAKEN_BACK.get(step.phase)
            return Undo() if taken_back is None else Undo((replace(step, phase=taken_back),))
        case SwapColumns():
            note = "values that were written since are taken over; unless they do not fit"
            return Undo((RestoreColumn(step),), note=note)
        case RestoreColumn():
            return Undo(is_possible=False, note="the plan that swapped the columns does it anew")
        case _:
            assert_never(step)


_TAKEN_BACK: Final = {
    Phase.ADD_CHECK: Phase.DROP_CHECK,
    Phase.BUILD_INDEX: Phase.DROP_INDEX,
    Phase.START_SYNC: Phase.STOP_SYNC,
}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with what is to be known of it before it runs.

    Attributes:
        way: how the destination takes it; ``Way.NONE``: the destination cannot, so the plan cannot be applied.
        statements: what is run, in the destination's language; none before they are rendered.
        undo_statements: what undoes it, by itself.
        done_with: the number, from 1, of the last of the steps next to each other that one ``RewriteTable`` does; None
            where it is done by itself. The last has the statements of all.
        lock: the one that it takes on its table; None where it takes none, or the engine locks no tables.
    """

    step: Step
    reason: Change
    way: Way
    risk: Risk
    undo: Undo
    statements: tuple[str, ...] = ()
    undo_statements: tuple[str, ...] = ()
    done_with: int | None = field(default=None, metadata=LATER)
    lock: Lock | None = field(default=None, metadata=LATER)

    @property
    def is_destructive(self) -> bool:
        """Whether data is lost that no check can save: it runs only where that is allowed."""
        return self.risk is Risk.LOSES_DATA

    @property
    def is_possible(self) -> bool:
        """Whether the destination can take the step."""
        return self.way is not Way.NONE


@dataclass(frozen=True, slots=True)
class Proposal:
    """The steps, not yet rendered.

    Attributes:
        tables: names of the tables that were looked at: a plan is out of date when one of them is another than it
            was, or is there now.
        catalogue: what the destination has, as the steps spell it.
    """

    steps: tuple[PlannedStep, ...]
    notes: tuple[Note, ...]
    tables: tuple[str, ...]
    catalogue: Schema


def plan_steps(
    catalogue: Schema,
    schema: Schema,
    known: Schema | None,
    *,
    stored: Stored,
    abilities: Abilities,
    options: PlanOptions | None = None,
) -> Proposal:
    """Return the steps that bring a destination to a schema.

    Only what ``known`` has and ``schema`` has not was removed on purpose, and is dropped. What neither knows is left
    alone and reported. Tables that wait for their first data are dlt's to make, as are columns without a type.
    ``known`` is the last schema of the destination's ledger; without one nothing is dropped.

    Raises:
        InputError: the destination cannot hold the schema's names.
    """
    chosen = options or PlanOptions()
    comparison = compare(catalogue, schema, known, stored, abilities, chosen)
    drafts = draft_steps(comparison, abilities, chosen)
    renames = (change for change in comparison.changes if isinstance(change, TableRenamed))
    renamed = (name for change in renames for name in (change.before, change.after))
    before = comparison.known.tables if comparison.known else ()
    missing = (table.name for table in comparison.missing)
    return Proposal(
        steps=tuple(_planned(draft.step, draft.reason, abilities) for draft in drafts),
        notes=tuple(remarks(comparison, [draft.step for draft in drafts], abilities, chosen)),
        tables=tuple(sorted({*comparison.schema.tables, *before, *renamed, *missing})),
        catalogue=comparison.catalogue,
    )


def planned_as(planned: PlannedStep, abilities: Abilities) -> PlannedStep:
    """Return a planned step with the way, the risk, the undo and the lock that its step has at a destination."""
    found = _planned(planned.step, planned.reason, abilities)
    return replace(planned, way=found.way, risk=found.risk, undo=found.undo, lock=found.lock)


def _planned(step: Step, reason: Change, abilities: Abilities) -> PlannedStep:
    way, lock = way_of(step, abilities), abilities.lock(step)
    return PlannedStep(step, reason, way, risk_of(step, way, lock), undo_of(step, abilities), lock=lock)
