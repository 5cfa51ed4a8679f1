"""Model the effect of steps on tables and names, to render statements, to check a run, and to resume it.

If a run was killed before it could record a step, the tables show whether the step is done (``are_done``). Values are
counted before the first step, when a column still has its old name, or does not exist yet (``traced``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    BaseStep,
    ChangeType,
    CreateTable,
    DropColumn,
    DropPrimaryKey,
    DropTable,
    FoldVariant,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.structure import Stored
from schemactl.schema.types import Table
from schemactl.schema.widening import is_wider


def apply_to_model(tables: dict[str, Table], steps: Iterable[Step]) -> None:
    """Apply steps to a model of the tables, in place. Raises ``StepDoesNotFit``, as they do."""
    for step in steps:
        after = step.apply_to(tables.get(step.table_name))
        tables.pop(step.table_name, None)
        if after is not None:
            if after.name in tables:
                raise StepDoesNotFit(f"table `{after.name}` already exists")
            tables[after.name] = after


def are_done(steps: Sequence[Step], tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether tables show the effect of steps about one table that are done together, or not at all.

    They are done if they cannot be done again, or would change nothing. A step that only writes values or descriptions
    shows nothing: if all steps are of that kind, they run again, with the same result.
    """
    visible_steps = [step for step in steps if step.shows_in_catalog]
    table = tables.get(steps[0].table_name)
    if not visible_steps:
        return False
    if isinstance(visible_steps[0], DropTable | RenameTable):
        return table is None
    if isinstance(visible_steps[0], CreateTable) or table is None:
        return table is not None
    after: Table | None = table
    try:
        for step in visible_steps:
            after = step.apply_to(after)
    except StepDoesNotFit:  # the column to add exists, or the one to drop or rename is gone
        return True
    return after is not None and _stored_columns(after, stored) == _stored_columns(table, stored)


def _stored_columns(table: Table, stored: Stored) -> dict[str, tuple[object, ...]]:
    """Return the properties of a table's columns that the destination keeps."""
    return {
        name: (dict(stored(column)), *(bool(column.properties.get(key)) for key in ("unique", "primary_key")))
        for name, column in table.columns.items()
    }


def widening_of(step: Step) -> tuple[FullType, FullType] | None:
    """Return the types between which a step makes a column wider, in place or by a new column; None if it does not."""
    if isinstance(step, ChangeType):
        before, after = full_type(step.before.properties), full_type(step.after.properties)
    elif type(step) is Backfill and step.taken is Taken.FITTING:
        before, after = full_type(step.source.properties), full_type(step.target.properties)
    else:
        return None
    return None if before is None or after is None or not is_wider(before, after) else (before, after)


# --- names that are in use before earlier steps of the same plan have run ---

Countable = ChangeType | SetNotNull | AddUnique | AddPrimaryKey | Backfill | DropColumn | RestoreColumn


S = TypeVar("S", bound=BaseStep)

ColumnPlace = tuple[str, str]
"""A table and a column; an empty column means the rows of the table, or all columns of a key."""


def traced(steps: Sequence[Step], index: int) -> Countable | None:
    """Return the step at ``index`` as it would be before the first one.

    Returns:
        None if its table or column does not exist yet, or nothing of it can be counted.
    """
    step = steps[index]
    if not isinstance(step, Countable):
        return None
    if isinstance(step, AddPrimaryKey):
        if any(_is_folded_into(AddUnique(step.table, column), steps[:index]) for column in step.columns):
            return None
        places = [place_before((step.table, column), steps[:index]) for column in step.columns]
        existing = [column_place for column_place in places if column_place is not None]
        if len(existing) < len(places):
            return None
        return replace(step, table=existing[0][0], columns=tuple(column for _, column in existing))
    if _is_folded_into(step, steps[:index]):
        return None
    first_place = place_before((step.table_name, step.column_before or ""), steps[:index])
    if isinstance(step, FoldVariant):
        target_place = place_before((step.table, step.target.name), steps[:index], heeds_backfills=True)
        if target_place is None:
            return None
        step = replace(step, target=replace(step.target, name=target_place[1]))
    return None if first_place is None else _in_names(step, first_place)


def _is_folded_into(step: Step, earlier_steps: Sequence[Step]) -> bool:
    """Return whether a column of a step gets values of a variant before, which count as well."""
    if not isinstance(step, SetNotNull | AddUnique):
        return False
    return any(
        isinstance(earlier, FoldVariant) and (earlier.table, earlier.target.name) == (step.table, step.column_name)
        for earlier in earlier_steps
    )


def _in_names(step: S, column_place: ColumnPlace) -> S:
    is_same = column_place == (step.table_name, step.column_before or "")  # as in most plans
    return step if is_same else step.with_names(*column_place)


def is_counted_late(steps: Sequence[Step], index: int) -> bool:
    """Return whether the values that block a step cannot be counted before the first step has run."""
    step = steps[index]
    if not step.needs_count:
        return False
    if traced(steps, index) is None:
        return True
    if not isinstance(step, AddUnique | AddPrimaryKey):
        return False
    columns = (step.column,) if isinstance(step, AddUnique) else step.columns
    # An earlier conversion may make values equal that were apart: `1`, `01`.
    return any(
        isinstance(earlier, ChangeType) and earlier.table == step.table and earlier.after.name in columns
        for earlier in steps[:index]
    )


def traced_table(steps: Sequence[Step], index: int) -> str | None:
    """Return the name that the table of a ``DropTable`` has before the first step; None if it does not exist yet."""
    step = steps[index]
    if not isinstance(step, DropTable):
        return None
    first_place = place_before((step.table.name, ""), steps[:index])
    return first_place[0] if first_place else None


def in_first_names(steps: Sequence[Step]) -> Iterator[Step | None]:
    """Yield each step in the names of the time before the first step, None if its table does not exist yet.

    A column that does not exist yet has its first name.
    """
    first_tables: dict[str, str | None] = {}
    first_columns: dict[ColumnPlace, str] = {}
    for step in steps:
        table = first_tables.get(step.table_name, step.table_name)
        if table is None:
            yield None
        else:
            column = step.column_before or ""
            traced_step = _in_names(step, (table, first_columns.get((table, column), column)))
            if isinstance(traced_step, AddPrimaryKey | DropPrimaryKey):
                names = tuple(first_columns.get((table, name), name) for name in traced_step.columns)
                traced_step = replace(traced_step, columns=names)
            yield traced_step
            earlier = step.earlier_columns
            first_names = {after: first_columns.get((table, name), name) for after, name in earlier.items()}
            for name in earlier.values():
                first_columns.pop((table, name), None)
            first_columns.update({(table, after): name for after, name in first_names.items()})
        if isinstance(step, CreateTable):
            first_tables[step.table_name] = None
        elif step.table_name_after != step.table_name:
            first_tables.pop(step.table_name, None)
            first_tables[step.table_name_after] = table


def place_before(
    column_place: ColumnPlace, steps: Sequence[Step], *, heeds_backfills: bool = False
) -> ColumnPlace | None:
    """Return the names that a place has before some steps; None if it does not exist yet.

    ``heeds_backfills``: whether a column that was filled counts as the column that its values come from.
    """
    table, column = column_place
    for step in reversed(steps):
        if step.table_name_after != table:
            continue
        if step.creates(column):
            return None
        table = step.table_name
        if heeds_backfills and isinstance(step, Backfill) and step.target.name == column:
            column = step.source.name
        column = step.earlier_columns.get(column, column)
    return table, column
