"""Whether a step has been done, by what the catalog says: where a run was killed before it could record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemactl.destinations import MigrationSession, StepRecord, StepState
from schemactl.flows.migrate.check import tables_now
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.effects import effect
from schemactl.migration.plan import MigrationPlan
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
from schemactl.schema.types import Table


def done_numbers(
    session: MigrationSession,
    module: MigratingDestination,
    plan: MigrationPlan,
    records: Sequence[StepRecord],
    *,
    is_undoing: bool = False,
) -> tuple[int, ...]:
    """Return the numbers of the steps of a run whose effect is there.

    A step that was begun, forth or back, by a process that was killed counts by what the tables show.

    Args:
        session: where.
        module: of its destination.
        plan: of the run.
        records: the run's lines of the ledger.
        is_undoing: whether steps that leave something behind where they were killed count, too: it is to go.
    """
    done = [record.number for record in records if record.state is StepState.DONE]
    begun = [record.number for record in records if record.state is StepState.RUNNING]
    if begun:
        tables = tables_now(session, module, plan.target)
        for numbers in _runs(begun):
            steps = [plan.steps[number - 1].step for number in numbers]
            is_left = is_undoing and any(isinstance(step, Prepare) for step in steps)
            done += numbers if is_left or are_there(steps, tables, module) else []
    return tuple(sorted(done))


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers next to each other together: such steps were begun at once."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def are_there(steps: Sequence[Step], tables: Mapping[str, Table], module: MigratingDestination) -> bool:
    """Return whether tables show the effect of steps about one table that are done together, or not at all.

    They are there where they cannot be done, or would change nothing. What only writes values shows nothing: where
    there is nothing else, it is run again, which gives the same.
    """
    if len(steps) == 1:
        return is_there(steps[0], tables, module)
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
    return after is not None and _kept(after, module) == _kept(table, module)


def is_there(step: Step, tables: Mapping[str, Table], module: MigratingDestination) -> bool:
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
            return table is not None and not _changes(table, step, module)


def _changes(table: Table, step: Step, module: MigratingDestination) -> bool:
    try:
        after = effect(table, step)
    except KeyError:  # what it adds is there, or what it drops or renames is gone
        return False
    return after is None or _kept(after, module) != _kept(table, module)


def _kept(table: Table, module: MigratingDestination) -> dict[str, tuple[object, ...]]:
    """Return what the destination says of a table's columns."""
    return {
        name: (dict(module.stored(column)), *(bool(column.properties.get(key)) for key in ("unique", "primary_key")))
        for name, column in table.columns.items()
    }
