"""Migrations of DuckDB files: what DuckDB can do, its statements, and a session on a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, assert_never

from schemactl.destinations._address import parse_file_address
from schemactl.destinations._catalogue import Catalogue
from schemactl.destinations._migration.opening import choose, waiting
from schemactl.destinations._migration.rendering import (
    Dialect,
    alter,
    assignment_of,
    by_copy,
    dialect_of,
    is_keyed,
    render_of_column,
    render_of_constraint,
    render_of_table,
)
from schemactl.destinations._migration.session import SqlMigration
from schemactl.destinations._migration.unguarded import Unguarded, guarded_value, look, quick_value, tell_quick
from schemactl.destinations._session import Relation
from schemactl.destinations.duckdb._nested import gains, structure_in
from schemactl.destinations.duckdb._reader import read_connection
from schemactl.destinations.duckdb._session import DuckDbSession, open_session
from schemactl.destinations.duckdb._types import NAMES
from schemactl.destinations.duckdb._words import WORDS
from schemactl.errors import InputError
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)
from schemactl.schema.types import Column, Table


def _retype(before: Column, after: Column) -> Way:
    if is_keyed(before):
        return Way.COPY  # DuckDB changes the type of no such column
    return Way.IN_PLACE if WORDS.type_of(before) == WORDS.type_of(after) else Way.REWRITE


ABILITIES: Final = Abilities(
    names=NAMES,
    retype=_retype,
    add_unique=Way.COPY,
    drop_unique=Way.COPY,
    drop_primary_key=Way.COPY,
    copies_keyed=True,
    gains=gains,
    structure_in=structure_in,
)
"""It has no DROP CONSTRAINT, and an index in the place of one would stand in the way of later changes."""

DIALECT: Final[Dialect] = dialect_of(WORDS, NAMES, "duckdb")


def _is_copied(step: Step, table: Table) -> bool:
    match step:
        case DropColumn():
            return any(map(is_keyed, table.columns.values()))  # it drops no column of a key, and none before one
        case ChangeType():
            return is_keyed(step.before, table)
        case _:
            return isinstance(step, AddUnique | DropUnique | DropPrimaryKey)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    match step:
        case CreateTable() | DropTable() | RenameTable():
            return render_of_table(step, DIALECT, dataset)
        case _ if table is not None and _is_copied(step, table):
            return by_copy(step, DIALECT, dataset, table)
        case AddColumn() | DropColumn() | RenameColumn():
            return render_of_column(step, DIALECT, dataset)
        case Backfill() | FillColumn():
            return (alter(DIALECT, dataset, step.table, _write_values(step, table)),)
        case ChangeType():
            value = tell_quick(guarded_value(step, DIALECT, WORDS.once), step, DIALECT)
            return _change_type(step, dataset, value)
        case SetNotNull() | DropNotNull() | AddPrimaryKey():
            return render_of_constraint(step, DIALECT, dataset)
        case AddUnique() | DropUnique() | DropPrimaryKey():
            return by_copy(step, DIALECT, dataset, table)
        case _:
            assert_never(step)


def _write_values(step: Backfill | FillColumn, table: Table | None) -> str:
    # After an UPDATE of a column DuckDB refuses to forbid its nulls within the same transaction.
    column = step.column if isinstance(step, FillColumn) else step.target
    found = assignment_of(step, DIALECT, table)
    value = f"CASE WHEN {found.condition} THEN {found.value} ELSE {found.column} END"
    return f"ALTER COLUMN {found.column} SET DATA TYPE {DIALECT.type_of(column)} USING {value}"


def _change_type(step: ChangeType, dataset: str, value: str) -> tuple[str, ...]:
    name = DIALECT.name(step.before.name)
    action = f"ALTER COLUMN {name} SET DATA TYPE {DIALECT.type_of(step.after)} USING {value}"
    return (alter(DIALECT, dataset, step.table, action),)


def _unguarded(step: ChangeType, dataset: str) -> Unguarded | None:
    value = quick_value(step, DIALECT)
    if value is None or is_keyed(step.before):
        return None
    # Who has opened the file writes alone: what the look finds stays so.
    return Unguarded(look(step, DIALECT, dataset), _change_type(step, dataset, value))


@contextmanager
def connect(
    url: str, schema_name: str, *, patience: float = 0.0, is_read_only: bool = False, may_be_new: bool = False
) -> Iterator[SqlMigration[DuckDbSession]]:
    """Open a file for migrating; DuckDB lets one process write at a time. See ``destinations.Migrator``."""
    address = parse_file_address(url)
    if is_read_only and not may_be_new and not address.path.is_file():
        raise InputError(f"there is no file `{address.path}`")

    def catalogue(session: DuckDbSession, dataset: str) -> Catalogue:
        return read_connection(session.connection, address, dataset)

    with waiting(lambda: open_session(address, is_read_only=is_read_only), patience, "lock") as session:
        session.execute("COMMIT")
        dataset = choose(session, address.dataset, schema_name)
        yield SqlMigration(session, dataset, DIALECT, catalogue, _sampled, is_read_only, None, _is_copied, _unguarded)


def _sampled(place: str, _: Relation, share: float) -> str:
    # Row by row, not by blocks: a table of one block would be read whole or not at all.
    return f"SELECT * FROM {place} USING SAMPLE {share * 100:.9f} PERCENT (bernoulli, 0)"
