"""Whether a step has been done, by what the catalogue says: where a run was killed before it could tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemactl.destinations import MigrationSession
from schemactl.destinations._migration.records import StepRecord, StepState
from schemactl.flows.migrate.check import tables_now
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.effects import effect
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.steps import Backfill, CreateTable, DropTable, FillColumn, RenameTable, Step, table_of
from schemactl.schema.types import Table


def done_numbers(
    session: MigrationSession, module: MigratingDestination, plan: MigrationPlan, records: Sequence[StepRecord]
) -> tuple[int, ...]:
    """Return the numbers of the steps of a run whose effect is there.

    A step that was begun, forth or back, by a process that was killed counts by what the tables show.

    Args:
        session: where.
        module: of its destination.
        plan: of the run.
        records: the run's lines of the ledger.
    """
    done = [record.number for record in records if record.state is StepState.DONE]
    begun = [record.number for record in records if record.state is StepState.RUNNING]
    if begun:
        tables = tables_now(session, module, plan.target)
        done += [number for number in begun if is_there(plan.steps[number - 1].step, tables, module)]
    return tuple(sorted(done))


def is_there(step: Step, tables: Mapping[str, Table], module: MigratingDestination) -> bool:
    """Return whether tables show the effect of a step that was begun: then it would change nothing more.

    A step that only writes values shows none: it is run again, which gives the same.
    """
    table = tables.get(table_of(step))
    match step:
        case Backfill() | FillColumn():
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


def _kept(table: Table, module: MigratingDestination) -> dict[str, tuple[object, bool]]:
    """Return what the destination tells of a table's columns."""
    return {
        name: (dict(module.stored(column)), bool(column.properties.get("unique")))
        for name, column in table.columns.items()
    }
