"""Whether a step has been done, by what the catalogue says: where a run was killed before it could tell."""

from __future__ import annotations

from collections.abc import Mapping

from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.effects import effect
from schemactl.migration.steps import Backfill, CreateTable, DropTable, FillColumn, RenameTable, Step, table_of
from schemactl.schema.types import Table


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
