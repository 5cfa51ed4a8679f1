"""What a step is about, in the names that hold before an earlier step of the same plan has run.

Values are counted before the first step, when a column still has its old name, or is not there yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)

Countable = ChangeType | SetNotNull | AddUnique | Backfill | DropColumn


@dataclass(frozen=True, slots=True)
class _Name:
    table: str
    column: str


def traced(steps: Sequence[Step], place: int) -> Countable | None:
    """Return the step at ``place`` as it would be before the first one.

    Returns:
        None where its table or column is not there yet, or nothing of it can be counted.
    """
    step = steps[place]
    if not isinstance(step, Countable):
        return None
    name = _before(_Name(step.table, _column(step)), steps[:place])
    return None if name is None else _renamed(step, name)


def traced_table(steps: Sequence[Step], place: int) -> str | None:
    """Return the name that the table of a ``DropTable`` has before the first step; None where it is not there yet."""
    step = steps[place]
    if not isinstance(step, DropTable):
        return None
    name = _before(_Name(step.table.name, ""), steps[:place])
    return name.table if name else None


def _before(name: _Name, steps: Sequence[Step]) -> _Name | None:
    for step in reversed(steps):
        match step:
            case CreateTable() if step.table.name == name.table:
                return None
            case RenameTable() if step.after == name.table:
                name = replace(name, table=step.before)
            case AddColumn() if (step.table, step.column.name) == (name.table, name.column):
                return None
            case RenameColumn() if (step.table, step.after) == (name.table, name.column):
                name = replace(name, column=step.before)
            case _:
                pass
    return name


def _column(step: Countable) -> str:
    match step:
        case ChangeType():
            return step.before.name
        case SetNotNull() | DropColumn():
            return step.column.name
        case AddUnique():
            return step.column
        case Backfill():
            return step.source.name


def _renamed(step: Countable, name: _Name) -> Countable:
    match step:
        case ChangeType():
            before, after = (replace(column, name=name.column) for column in (step.before, step.after))
            return replace(step, table=name.table, before=before, after=after)
        case SetNotNull() | DropColumn():
            return replace(step, table=name.table, column=replace(step.column, name=name.column))
        case AddUnique():
            return replace(step, table=name.table, column=name.column)
        case Backfill():
            return replace(step, table=name.table, source=replace(step.source, name=name.column))
