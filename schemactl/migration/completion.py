"""Whether a step has been done, by what the tables show: where a run was killed before it could record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemactl.migration.effects import effect
from schemactl.migration.steps import (
    Backfill,
    CreateTable,
    DescribeTable,
    DropTable,
    FillColumn,
    Prepare,
    RenameTable,
    Step,
    table_of,
)
from schemactl.schema.structure import Stored
from schemactl.schema.types import Table


def are_done(steps: Sequence[Step], tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether tables show the effect of steps about one table that are done together, or not at all.

    They are there where they cannot be done, or would change nothing. What only writes values shows nothing: where
    there is nothing else, it is run again, which gives the same.
    """
    if len(steps) == 1:
        return is_done(steps[0], tables, stored)
    shown = [step for step in steps if not isinstance(step, Backfill | FillColumn)]
    table = tables.get(table_of(steps[0]))
    if not shown or table is None:
        return False
    after: Table | None = table
    try:
        for step in shown:
            after = effect(after, step)
    except KeyError:
        return True
    return after is not None and _kept(after, stored) == _kept(table, stored)


def is_done(step: Step, tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether tables show the effect of a step that was begun: then it would change nothing more.

    A step that only writes values shows none: it is run again, which gives the same.
    """
    table = tables.get(table_of(step))
    match step:
        case Backfill() | FillColumn() | Prepare() | DescribeTable():
            return False
        case CreateTable():
            return table is not None
        case DropTable() | RenameTable():
            return table is None
        case _:
            return table is not None and not _changes(table, step, stored)


def _changes(table: Table, step: Step, stored: Stored) -> bool:
    try:
        after = effect(table, step)
    except KeyError:  # what it adds is there, or what it drops or renames is gone
        return False
    return after is None or _kept(after, stored) != _kept(table, stored)


def _kept(table: Table, stored: Stored) -> dict[str, tuple[object, ...]]:
    """Return what the destination says of a table's columns."""
    return {
        name: (dict(stored(column)), *(bool(column.properties.get(key)) for key in ("unique", "primary_key")))
        for name, column in table.columns.items()
    }
