"""How a step is undone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, assert_never

from schemactl.migration.abilities import Abilities, Way, way_of
from schemactl.migration.effects import stating
from schemactl.migration.steps import (
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
    Phase,
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
    Taken,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import DataType


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


def _undo(step: Step) -> Undo:
    match step:
        case CreateTable() | DropTable() | RenameTable() | DescribeTable():
            return _of_table(step)
        case AddColumn() | DropColumn() | RenameColumn() | ChangeType() | Backfill() | FillColumn():
            return _of_column(step)
        case SetNotNull() | DropNotNull():
            return _of_nulls(step)
        case AddUnique() | DropUnique() | AddPrimaryKey() | DropPrimaryKey():
            return _of_key(step)
        case Prepare():
            back = _TAKEN_BACK.get(step.phase)
            return Undo() if back is None else Undo((replace(step, phase=back),))
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


def _of_table(step: CreateTable | DropTable | RenameTable | DescribeTable) -> Undo:
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
        case _:
            assert_never(step)


def _of_column(step: AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn) -> Undo:
    match step:
        case AddColumn():
            return Undo((DropColumn(step.table, step.column),), note="with all values that were loaded since")
        case DropColumn():
            return Undo(is_possible=False, note="its values are gone")
        case RenameColumn():
            return Undo((RenameColumn(step.table, step.after, step.before),))
        case ChangeType():
            return _of_retype(step)
        case Backfill(taken=Taken.UNFIT):
            return Undo(note=f"values stay in `{step.target.name}` where that column was there before")
        case Backfill() | FillColumn():
            return Undo()  # undone with the column that was filled
        case _:
            assert_never(step)


def _of_nulls(step: SetNotNull | DropNotNull) -> Undo:
    match step:
        case SetNotNull():
            return Undo((DropNotNull(step.table, stating(step.column, "nullable", False)),))
        case DropNotNull():
            unset = SetNotNull(step.table, stating(step.column, "nullable", None))
            return Undo((unset,), note="unless nulls were loaded since")
        case _:
            assert_never(step)


def _of_key(step: AddUnique | DropUnique | AddPrimaryKey | DropPrimaryKey) -> Undo:
    match step:
        case AddUnique():
            return Undo((DropUnique(step.table, step.column),))
        case DropUnique():
            return Undo((AddUnique(step.table, step.column),), note="unless values were loaded twice since")
        case AddPrimaryKey():
            return Undo((DropPrimaryKey(step.table, step.columns),))
        case DropPrimaryKey():
            return Undo((AddPrimaryKey(step.table, step.columns),), note="unless values were loaded twice since")
        case _:
            assert_never(step)


def _of_retype(step: ChangeType) -> Undo:
    """The values that are there came from the type before, so they fit it; what was loaded since may not."""
    back = replace(step, before=step.after, after=step.before, conversion=Conversion.DEPENDS, needs_check=True)
    notes = ["unless values were loaded since that do not fit"]
    if step.before.data_type is DataType.TEXT and step.after.data_type is not DataType.TEXT:
        notes.insert(0, "texts come back in their usual spelling")
    return Undo((back,), note=", ".join(notes))
