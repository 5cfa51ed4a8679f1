"""Whether a step has been done, by what the tables show: where a run was killed before it could record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemactl.migration.effects import StepDoesNotFit, effect
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


def is_done(step: Step, tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether tables show the effect of a step that was begun; see ``are_done``."""
    return are_done((step,), tables, stored)


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
