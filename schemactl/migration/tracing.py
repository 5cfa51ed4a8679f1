"""What a step is about, in the names that hold before an earlier step of the same plan has run.

Values are counted before the first step, when a column still has its old name, or is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

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
    columns_of,
    needs_count,
    table_of,
)

S = TypeVar("S", bound=Step)

Countable = ChangeType | SetNotNull | AddUnique | AddPrimaryKey | Backfill | DropColumn | RestoreColumn


ColumnPlace = tuple[str, str]
"""A table and a column; an empty column stands for the rows of the table, or for all of a key."""


def traced(steps: Sequence[Step], place: int) -> Countable | None:
    """Return the step at ``place`` as it would be before the first one.

    Returns:
        None where its table or column is not there yet, or nothing of it can be counted.
    """
    step = steps[place]
    if not isinstance(step, Countable):
        return None
    if isinstance(step, AddPrimaryKey):
        names = [place_before((step.table, column), steps[:place]) for column in step.columns]
        found = [name for name in names if name is not None]
        is_there = len(found) == len(names)
        return replace(step, table=found[0][0], columns=tuple(column for _, column in found)) if is_there else None
    name = place_before(_place(step), steps[:place])
    return None if name is None else _renamed(step, name)


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
    name = place_before((step.table.name, ""), steps[:place])
    return name[0] if name else None


def in_first_names(steps: Sequence[Step]) -> Iterator[Step | None]:
    """Yield each step in the names that hold before the first one; a column that is not there yet has its first name.

    Yields:
        None where the step's table is not there yet.
    """
    tables: dict[str, str | None] = {}
    columns: dict[tuple[str, str], str] = {}
    for step in steps:
        found, column = _place(step)
        table = tables.get(found, found)
        if table is not None:
            column = columns.get((table, column), column)
        if table is not None and isinstance(step, AddPrimaryKey | DropPrimaryKey):
            step = replace(step, columns=tuple(columns.get((table, each), each) for each in step.columns))
        yield None if table is None else _renamed(step, (table, column))
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


def place_before(place: ColumnPlace, steps: Sequence[Step], *, heeds_backfills: bool = False) -> ColumnPlace | None:
    """Return the names that a place has before some steps; None where it is not there yet.

    Args:
        place: after them.
        steps: in their order.
        heeds_backfills: whether a column that was filled is the one that its values come from.
    """
    table, column = place
    for step in reversed(steps):
        match step:
            case CreateTable() if step.table.name == table:
                return None
            case RenameTable() if step.after == table:
                table = step.before
            case AddColumn() if (step.table, step.column.name) == (table, column):
                return None
            case RenameColumn() if (step.table, step.after) == (table, column):
                column = step.before
            case Backfill() if heeds_backfills and (step.table, step.target.name) == (table, column):
                column = step.source.name
            case SwapColumns() | RestoreColumn() if step.subject.table == table:
                column = _moved(step).get(column, column)
            case _:
                pass
    return table, column


def _moved(step: SwapColumns | RestoreColumn) -> dict[str, str]:
    """Return the names before the step by those after it.

    The values of a column that was filled are those of its source: its name is the source's.
    """
    source = step.subject.source.name
    if isinstance(step, SwapColumns):
        return {step.kept: source}
    return {step.subject.target.name: source, source: step.swap.kept}


def _place(step: Step) -> ColumnPlace:
    """Return the names under which the step finds its table and its column."""
    return table_of(step), columns_of(step)[0] or ""


def _renamed(step: S, place: ColumnPlace) -> S:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    if place == _place(step):
        return step
    table, name = place
    match step:
        case CreateTable() | DropTable():
            return replace(step, table=replace(step.table, name=table))
        case RenameTable():
            return replace(step, before=table)
        case RenameColumn():
            return replace(step, table=table, before=name)
        case ChangeType():
            before, after = (replace(column, name=name) for column in (step.before, step.after))
            return replace(step, table=table, before=before, after=after)
        case AddColumn() | DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return replace(step, table=table, column=replace(step.column, name=name))
        case AddUnique() | DropUnique():
            return replace(step, table=table, column=name)
        case DescribeTable() | AddPrimaryKey() | DropPrimaryKey():
            return replace(step, table=table)
        case Backfill():
            return replace(step, table=table, source=replace(step.source, name=name))
        case Prepare():
            return replace(step, step=_renamed(step.step, place))
        case SwapColumns():
            return replace(step, backfill=_renamed(step.backfill, place))
        case RestoreColumn():
            backfill = replace(step.swap.backfill, table=table)
            return replace(step, swap=replace(step.swap, backfill=backfill, kept=name))
        case _:
            assert_never(step)
