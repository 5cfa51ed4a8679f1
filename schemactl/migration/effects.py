"""What a step makes of its table, and of names: the model by which statements are rendered, and a run is checked.

Where a run was killed before it could record a step, the tables show whether it has been done (``are_done``). Values
are counted before the first step, when a column still has its old name, or is not there yet (``traced``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from schemactl.errors import SchemactlError
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    ColumnStep,
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
from schemactl.schema.structure import Stored
from schemactl.schema.types import Column, Properties, Table


class StepDoesNotFit(SchemactlError):
    """A step finds its tables otherwise than it was planned for: something it needs is missing, or a name is taken."""


def effect(table: Table | None, step: Step) -> Table | None:
    """Return a step's table afterwards, perhaps under another name; None where it is gone.

    Raises:
        StepDoesNotFit: the table or the column is not there, or the name is taken.
    """
    if isinstance(step, CreateTable):
        if table is not None:
            raise StepDoesNotFit(f"there is a table `{table.name}` already")
        return step.table
    if table is None:
        raise StepDoesNotFit(f"there is no table `{table_of(step)}`")
    match step:
        case DropTable():
            return None
        case RenameTable():
            return replace(table, name=step.after)
        case DescribeTable():
            return _described(table, step.after)
        case _:
            return replace(table, columns=_columns(table.columns, step))


def apply_to_model(tables: dict[str, Table], steps: Iterable[Step]) -> None:
    """Apply steps to a model of the tables, in place.

    Raises:
        StepDoesNotFit: as ``effect``; a table's new name is taken.
    """
    for step in steps:
        after = effect(tables.get(table_of(step)), step)
        tables.pop(table_of(step), None)
        if after is not None:
            if after.name in tables:
                raise StepDoesNotFit(f"there is a table `{after.name}` already")
            tables[after.name] = after


def are_done(steps: Sequence[Step], tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether tables show the effect of steps about one table that are done together, or not at all.

    They are there where they cannot be done, or would change nothing. What only writes values or descriptions shows
    nothing: where there is nothing else, it is run again, which gives the same.
    """
    shown = [step for step in steps if not isinstance(step, Backfill | FillColumn | Prepare | DescribeTable)]
    table = tables.get(table_of(steps[0]))
    if not shown:
        return False
    if isinstance(shown[0], DropTable | RenameTable):
        return table is None
    if isinstance(shown[0], CreateTable) or table is None:
        return table is not None
    after: Table | None = table
    try:
        for step in shown:
            after = effect(after, step)
    except StepDoesNotFit:  # what it adds is there, or what it drops or renames is gone
        return True
    return after is not None and _kept(after, stored) == _kept(table, stored)


def _kept(table: Table, stored: Stored) -> dict[str, tuple[object, ...]]:
    """Return what the destination says of a table's columns."""
    return {
        name: (dict(stored(column)), *(bool(column.properties.get(key)) for key in ("unique", "primary_key")))
        for name, column in table.columns.items()
    }


def _described(table: Table, texts: Properties) -> Table:
    columns = dict(table.columns)
    for name, text in texts.items():
        if name:
            columns[name] = replace(_find(columns, name), properties=described(columns[name].properties, text))
    properties = described(table.properties, texts[""]) if "" in texts else table.properties
    return replace(table, columns=columns, properties=properties)


def described(properties: Properties, text: str | None) -> Properties:
    """Return the properties of a table or a column with another description; None for none."""
    others = {name: value for name, value in properties.items() if name != "description"}
    return others if text is None else {**others, "description": text}


def _columns(columns: Mapping[str, Column], step: ColumnStep) -> Mapping[str, Column]:  # noqa: C901, PLR0911, PLR0912
    match step:
        case AddColumn():
            _refuse_taken(columns, step.column.name)
            made = replace(step.column, properties=described(step.column.properties, None))  # by a step of its own
            return {**columns, made.name: made}
        case DropColumn():
            is_key = bool(_find(columns, step.column.name).properties.get("primary_key"))
            left = {name: column for name, column in columns.items() if name != step.column.name}
            return _stating(left, _keyed(left), "primary_key", None) if is_key else left  # the whole key is gone
        case RenameColumn():
            _refuse_taken(columns, step.after)
            return _replaced(columns, {step.before: replace(_find(columns, step.before), name=step.after)})
        case ChangeType():
            text = _find(columns, step.before.name).properties.get("description")
            kept = replace(step.after, properties=described(step.after.properties, text))
            return {**columns, step.after.name: kept}
        case Backfill() | FillColumn():
            for column in (step.source, step.target) if isinstance(step, Backfill) else (step.column,):
                _find(columns, column.name)
            return columns
        case SetNotNull():
            return _stating(columns, (step.column.name,), "nullable", False)
        case DropNotNull():
            return _stating(columns, (step.column.name,), "nullable", None)
        case AddUnique():
            return _stating(columns, (step.column,), "unique", True)
        case DropUnique():
            return _stating(columns, (step.column,), "unique", None)
        case AddPrimaryKey():
            if _keyed(columns):
                raise StepDoesNotFit(f"table `{step.table}` has a primary key already")
            return _stating(columns, step.columns, "primary_key", True)
        case DropPrimaryKey():
            return _stating(columns, step.columns, "primary_key", None)
        case Prepare():
            return columns
        case SwapColumns():
            return _swapped(columns, step)
        case RestoreColumn():
            return _restored(columns, step.swap)
        case _:
            assert_never(step)


def _swapped(columns: Mapping[str, Column], step: SwapColumns) -> Mapping[str, Column]:
    source, target = step.backfill.source.name, step.backfill.target.name
    _refuse_taken(columns, step.kept)
    kept = stating(replace(_find(columns, source), name=step.kept), "nullable", None)
    found = replace(_find(columns, target), name=source)
    found = stating(found, "nullable", False) if step.is_required else found
    found = stating(found, "unique", True) if step.is_unique else found
    return _replaced(columns, {source: kept, target: found})


def _restored(columns: Mapping[str, Column], step: SwapColumns) -> Mapping[str, Column]:
    source, target = step.backfill.source.name, step.backfill.target.name
    _refuse_taken(columns, target)
    found = replace(_find(columns, step.kept), name=source)
    found = stating(found, "nullable", None if step.backfill.source.nullable else False)
    swapped = stating(replace(_find(columns, source), name=target), "nullable", None)
    return _replaced(columns, {step.kept: found, source: swapped})


def _replaced(columns: Mapping[str, Column], others: Mapping[str, Column]) -> Mapping[str, Column]:
    """Return the columns with others in the places of some, by their names from then on."""
    return {each.name: each for each in (others.get(name, column) for name, column in columns.items())}


def stating(column: Column, name: str, value: bool | None) -> Column:
    """Return the column with a property; None leaves it out."""
    others = {key: each for key, each in column.properties.items() if key != name}
    return Column(column.name, others if value is None else {**others, name: value})


def _stating(
    columns: Mapping[str, Column], changed: tuple[str, ...], name: str, value: bool | None
) -> Mapping[str, Column]:
    return {**columns, **{column: stating(_find(columns, column), name, value) for column in changed}}


def _keyed(columns: Mapping[str, Column]) -> tuple[str, ...]:
    return tuple(name for name, column in columns.items() if column.properties.get("primary_key"))


def _find(columns: Mapping[str, Column], name: str) -> Column:
    if name not in columns:
        raise StepDoesNotFit(f"there is no column `{name}`")
    return columns[name]


def _refuse_taken(columns: Mapping[str, Column], name: str) -> None:
    if name in columns:
        raise StepDoesNotFit(f"there is a column `{name}` already")


# --- names that hold before earlier steps of the same plan have run ---

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
    """Yield each step in the names that hold before the first one, None where its table is not there yet.

    A column that is not there yet has its first name.
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

    ``heeds_backfills``: whether a column that was filled is the one that its values come from.
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
