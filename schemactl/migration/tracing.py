"""What a step is about, in the names that hold before an earlier step of the same plan has run.

Values are counted before the first step, when a column still has its old name, or is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from schemactl.migration.cautions import needs_count
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
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
    table_of,
)

S = TypeVar("S", bound=Step)

Countable = ChangeType | SetNotNull | AddUnique | AddPrimaryKey | Backfill | DropColumn | RestoreColumn


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
    if isinstance(step, AddPrimaryKey):
        return _traced_key(step, steps[:place])
    name = _before(_Name(table_of(step), _column(step)), steps[:place])
    return None if name is None else _renamed(step, name)


def _traced_key(step: AddPrimaryKey, steps: Sequence[Step]) -> AddPrimaryKey | None:
    names = [_before(_Name(step.table, column), steps) for column in step.columns]
    found = [name for name in names if name is not None]
    if len(found) < len(names):
        return None
    return replace(step, table=found[0].table, columns=tuple(name.column for name in found))


def is_counted_late(steps: Sequence[Step], place: int) -> bool:
    """Return whether what stands in the way of a step cannot be seen before the first of them has run."""
    is_seen = traced(steps, place) is not None and not _is_of_converted(steps, place)
    return needs_count(steps[place]) and not is_seen


def _is_of_converted(steps: Sequence[Step], place: int) -> bool:
    """Return whether values that differ may be equal when the step forbids that: `1` and `01` are one number."""
    step = steps[place]
    if not isinstance(step, AddUnique | AddPrimaryKey):
        return False
    columns = (step.column,) if isinstance(step, AddUnique) else step.columns
    return any(
        isinstance(each, ChangeType) and each.table == step.table and each.after.name in columns
        for each in steps[:place]
    )


def traced_table(steps: Sequence[Step], place: int) -> str | None:
    """Return the name that the table of a ``DropTable`` has before the first step; None where it is not there yet."""
    step = steps[place]
    if not isinstance(step, DropTable):
        return None
    name = _before(_Name(step.table.name, ""), steps[:place])
    return name.table if name else None


def in_first_names(steps: Sequence[Step]) -> Iterator[Step | None]:
    """Yield each step in the names that hold before the first one; a column that is not there yet has its first name.

    Yields:
        None where the step's table is not there yet.
    """
    tables: dict[str, str | None] = {}
    columns: dict[tuple[str, str], str] = {}
    for step in steps:
        table, column = tables.get(table_of(step), table_of(step)), _column(step)
        if table is not None:
            column = columns.get((table, column), column)
        if table is not None and isinstance(step, AddPrimaryKey | DropPrimaryKey):
            step = replace(step, columns=tuple(columns.get((table, each), each) for each in step.columns))
        yield None if table is None else _renamed(step, _Name(table, column))
        match step:
            case CreateTable():
                tables[step.table.name] = None
            case RenameTable():
                tables[step.after] = table
                tables.pop(step.before, None)
            case RenameColumn() if table is not None:
                columns.pop((table, step.before), None)
                columns[table, step.after] = column
            case SwapColumns() | RestoreColumn() if table is not None:
                moved = {after: columns.get((table, before), before) for after, before in _moved(step).items()}
                columns.update({(table, after): first for after, first in moved.items()})
            case _:
                pass


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
            case SwapColumns() | RestoreColumn() if step.subject.table == name.table:
                name = replace(name, column=_moved(step).get(name.column, name.column))
            case _:
                pass
    return name


def _moved(step: SwapColumns | RestoreColumn) -> dict[str, str]:
    """Return the names before the step by those after it.

    The values of a column that was filled are those of its source: its name is the source's.
    """
    source = step.subject.source.name
    if isinstance(step, SwapColumns):
        return {step.kept: source}
    return {step.subject.target.name: source, source: step.swap.kept}


def _column(step: Step) -> str:
    """Return the name under which the step finds its column; empty for a step about a whole table, or a key."""
    match step:
        case CreateTable() | DropTable() | RenameTable() | DescribeTable() | AddPrimaryKey() | DropPrimaryKey():
            return ""
        case RenameColumn():
            return step.before
        case ChangeType():
            return step.before.name
        case AddColumn() | DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return step.column.name
        case AddUnique() | DropUnique():
            return step.column
        case Backfill():
            return step.source.name
        case Prepare():
            return _column(step.step)
        case SwapColumns():
            return step.backfill.source.name
        case RestoreColumn():
            return step.swap.kept
        case _:
            assert_never(step)


def _renamed(step: S, name: _Name) -> S:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    if name == _Name(table_of(step), _column(step)):
        return step
    match step:
        case CreateTable() | DropTable():
            return replace(step, table=replace(step.table, name=name.table))
        case RenameTable():
            return replace(step, before=name.table)
        case RenameColumn():
            return replace(step, table=name.table, before=name.column)
        case ChangeType():
            before, after = (replace(column, name=name.column) for column in (step.before, step.after))
            return replace(step, table=name.table, before=before, after=after)
        case AddColumn() | DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return replace(step, table=name.table, column=replace(step.column, name=name.column))
        case AddUnique() | DropUnique():
            return replace(step, table=name.table, column=name.column)
        case DescribeTable() | AddPrimaryKey() | DropPrimaryKey():
            return replace(step, table=name.table)
        case Backfill():
            return replace(step, table=name.table, source=replace(step.source, name=name.column))
        case Prepare():
            return replace(step, step=_renamed(step.step, name))
        case SwapColumns():
            return replace(step, backfill=_renamed(step.backfill, name))
        case RestoreColumn():
            backfill = replace(step.swap.backfill, table=name.table)
            return replace(step, swap=replace(step.swap, backfill=backfill, kept=name.column))
        case _:
            assert_never(step)
