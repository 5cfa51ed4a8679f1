"""Migrations of SQLite files: SQLite's abilities, its statements, and a session on a file.

SQLite has no ALTER for types and nulls: such a step copies the table. Values are converted by functions that a session
registers in SQLite, so a script of these statements runs in schemactl only.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import FileAddress, parse_file_address
from schemactl.destinations._bookkeeping import knows_schema
from schemactl.destinations._catalogue import choose_dataset
from schemactl.destinations._migration.session import FileMigration
from schemactl.destinations._session import Relation
from schemactl.destinations._sql_bookkeeping import Bookkeeping
from schemactl.destinations.sqlite.catalogue import read_session
from schemactl.destinations.sqlite.conversion import convert
from schemactl.destinations.sqlite.dependents import (
    SPARE,
    dependents_of,
    has_column,
    lost_by_copy,
    made_again,
    outdated_indexes,
    trial_error_of_rename,
    trial_of,
    unreadable,
)
from schemactl.destinations.sqlite.session import (
    MAIN,
    SqliteDatabase,
    dataset_file,
    files_of,
    has_tables,
    open_database,
)
from schemactl.destinations.sqlite.types import NAMES, column_type, settle
from schemactl.errors import DestinationError, InputError
from schemactl.migration import statements as of_engines
from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import spelled_as
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience
from schemactl.migration.statements import Engine, by_one_copy, checked_type, is_keyed
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    ChangeType,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropUnique,
    RenameColumn,
    RewriteTable,
    SetNotNull,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.types import Table
from schemactl.type_systems.ddl import Dialect


def _is_copied(step: Step, table: Table | None) -> bool:
    match step:
        case DropColumn():
            return is_keyed(step.column, table)
        case _:
            return isinstance(step, ChangeType | SetNotNull | DropNotNull | AddPrimaryKey | DropPrimaryKey | DropUnique)


ABILITIES: Final = Abilities(
    names=NAMES,
    settle=settle,
    retype=lambda *_: Way.COPY,
    refuses_unfit=lambda *_: True,
    drop_column=Way.REWRITE,
    set_not_null=Way.COPY,
    drop_not_null=Way.COPY,
    drop_unique=Way.COPY,
    add_primary_key=Way.COPY,
    drop_primary_key=Way.COPY,
    enforces_types=False,
    copies_file=True,
    shares_ledger=True,
    rewrites=_is_copied,
)


_PRIME: Final = 1_000_003
_FACTOR: Final = 617_939

ENGINE: Final = Engine(Dialect("sqlite"), partial(checked_type, column_type=column_type), convert, NAMES, text="TEXT")


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:  # noqa: ARG001
    """Return the statements of a step; see ``destinations.Migrator``. A dataset is a file: its tables are in `main`."""
    match step:
        case AddUnique():
            return (_add_unique(step, _index(step)),)
        case DropUnique():
            return _drop_index(_index(step)), *by_one_copy((step,), ENGINE, MAIN, table)
        case _ if _is_copied(step, table):
            return by_one_copy((step,), ENGINE, MAIN, table)
        case DescribeTable():
            return ()  # it keeps no descriptions: no plan with such a step can be applied
        case _:
            return of_engines.render(step, table, ENGINE, MAIN)


def _add_unique(step: AddUnique, index: str) -> str:
    index_name = ENGINE.table(MAIN, index)
    return f"CREATE UNIQUE INDEX {index_name} ON {ENGINE.name(step.table)}({ENGINE.name(step.column)})"


def _drop_index(name: str) -> str:
    return f"DROP INDEX IF EXISTS {ENGINE.table(MAIN, name)}"


def _index(step: AddUnique | DropUnique) -> str:
    return ENGINE.checked(f"_schemactl_unique_{step.table}_{step.column}")


@dataclass(frozen=True, slots=True)
class SqliteMigration(FileMigration[SqliteDatabase]):
    """See ``destinations.MigrationSession``."""

    engine = ENGINE
    schema = MAIN

    def read_tables(self, names: Collection[str] | None = None) -> Catalogue:  # noqa: ARG002 - it reads all
        return read_session(self.database, self.dataset)

    def sampled(self, table: str, relation: Relation, share: float) -> str | None:
        """Return the rows by their row ids, shuffled: data that repeats at even steps would fool each n-th row."""
        column_names = {name.lower() for name in relation.columns}
        row_id = next((name for name in ("rowid", "_rowid_", "oid") if name not in column_names), None)
        if row_id is None or not relation.is_table:
            return None
        # Times a factor modulo a prime, each rest comes once: the share is exact.
        shuffled = f"abs({row_id} % {_PRIME}) * {_FACTOR} % {_PRIME}"
        return f"SELECT * FROM {table} WHERE {shuffled} < {math.ceil(share * _PRIME)}"

    @property
    def file(self) -> Path:
        return self.database.path

    def copy_file(self, copy: Path) -> None:
        with self.database.wrap_errors("copy the file"), closing(sqlite3.connect(copy)) as target:
            self.database.connection.backup(target)

    def run(self, step: Step, statements: Sequence[str]) -> None:
        """Run the statements of a step; indexes and triggers of a table that is copied are made again."""
        if isinstance(step, AddUnique):
            statements = (_add_unique(step, self._free_index(step)),)
        if isinstance(step, DropUnique):
            statements = statements[1:]  # the index may be a user's, or named before a rename
        FileMigration.run(self, step, statements)

    def around(self, steps: Sequence[Step], statements: Sequence[str]) -> AbstractContextManager[None]:
        # A copy of the table would recreate the indexes of dropped constraints and columns.
        with self.database.wrap_errors("look for indexes"):
            for name in outdated_indexes(self.database, steps):
                self.database.execute(_drop_index(name))
        return FileMigration.around(self, steps, statements)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        dropped = (_index(step) for step in rewrite.changes if isinstance(step, DropUnique))
        indexes = (_drop_index(index) for index in dropped)
        return (*indexes, *FileMigration.render_rewrite(self, rewrite))

    def find_blocker(self, step: Step) -> Blocker | None:
        with self.database.wrap_errors("look for dependents of a table"):
            if _is_copied(step, None) and (lost := lost_by_copy(self.database, step.table_name)):
                return lost
            return self._refused(step) if isinstance(step, DropColumn | RenameColumn) else None

    def _refused(self, step: DropColumn | RenameColumn) -> Blocker | None:
        """Return a blocker for a view, trigger or index that prevents dropping or renaming a column."""
        column = step.before if isinstance(step, RenameColumn) else step.column.name
        with trial_of(self.database, step.table) as trial:
            if not has_column(trial, step.table, column):
                return None  # an earlier step makes it
            if isinstance(step, RenameColumn):
                verb, error = "cannot be renamed", trial_error_of_rename(trial, step.table, column)
            else:
                verb, error = "cannot be dropped", self._trial_error_of_drop(trial, step)
        if error is None:
            return None
        hint = "drop these objects, migrate, and recreate them if needed"
        return Blocker(f"`{step.table}.{column}` {verb}: {error}", hint)

    def _trial_error_of_drop(self, trial: SqliteDatabase, step: DropColumn) -> str | None:
        session = replace(self, database=trial, is_read_only=False)
        # So that the column is not the only one: an earlier step may have added more columns.
        trial.execute(f"ALTER TABLE {ENGINE.name(step.table)} ADD COLUMN {ENGINE.name(SPARE)} TEXT")
        stored_schema = session.catalogue().schema
        table_of_step = Table(step.table, {step.column.name: step.column})
        # A key of the column that the step does not know of is removed by an earlier step.
        schema = spelled_as(stored_schema, replace(stored_schema, tables={step.table: table_of_step}), NAMES)
        was_readable = unreadable(trial) is None
        try:
            session.run(step, render(step, schema.tables[step.table], self.dataset))
        except DestinationError as error:
            return str(error.__cause__ or error.message)
        return unreadable(trial) if was_readable else None  # a copy of the table goes by its views and triggers

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        with self.database.wrap_errors("look for dependents of a column"), trial_of(self.database, table) as trial:
            return tuple(dependents_of(trial, table, column)) if has_column(trial, table, column) else ()

    @contextmanager
    def copying(self, table: str, steps: Sequence[Step]) -> Iterator[None]:  # noqa: ARG002
        with self.database.wrap_errors("copy a table"):
            if lost := lost_by_copy(self.database, table):
                raise DestinationError(f"{lost.message}, in `{self.database.path}`", hint=lost.hint)
            dependents = made_again(self.database, table)
            self.database.execute("PRAGMA legacy_alter_table = ON")  # otherwise views of the table would block this
        try:
            yield
        finally:
            with self.database.wrap_errors("copy a table"):
                self.database.execute("PRAGMA legacy_alter_table = OFF")
        with self.database.wrap_errors("copy a table"):
            for statement in dependents:
                self.database.execute(statement)

    def _free_index(self, step: AddUnique) -> str:
        """Return a name for the step's index; one that was made before a rename keeps the name that it had."""
        used_names = {row[0] for row in self.database.query("select lower(name) from sqlite_master")}
        name = _index(step)
        free = (f"{name}{ending}" for ending in ("", *(f"_{number}" for number in range(2, len(used_names) + 3))))
        return next(candidate for candidate in free if candidate.lower() not in used_names)


@contextmanager
def open_in_load(session: SqliteDatabase, dataset: str, lock_seconds: float) -> Iterator[SqliteMigration]:  # noqa: ARG001
    """Yield a migration in the open transaction of a load, which has locked the file for writing."""
    yield SqliteMigration(session, dataset)


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[SqliteMigration]:
    """Open a file for migrating, and keep other writers out. See ``destinations.Migrator``."""
    address = parse_file_address(url)
    dataset, path = choose_file(address, schema_name)
    if is_read_only and not may_be_new and not path.is_file():
        raise InputError(f"there is no file `{path}`")

    with open_database(address, path, patience=patience.seconds, is_read_only=is_read_only) as database:
        yield SqliteMigration(database, dataset, is_read_only)


def choose_file(address: FileAddress, schema_name: str) -> tuple[str, Path]:
    """Return the dataset that is meant with its file: the one asked for, that of the schema, the only one, `main`."""
    files = dict(files_of(address.path))
    if address.dataset is not None:
        return address.dataset, files.get(address.dataset) or dataset_file(address.path, address.dataset)
    datasets = {name: path for name, path in files.items() if path.is_file() and has_tables(path)}
    if len(datasets) > 1:
        loaded = []
        for name, path in datasets.items():
            with open_database(address, path, is_read_only=True) as database, database.wrap_errors("read the ledger"):
                if knows_schema(Bookkeeping(database, MAIN).read_rows, schema_name):
                    loaded.append(name)
        if len(loaded) == 1:
            return loaded[0], datasets[loaded[0]]
    name = choose_dataset(datasets, None, str(address)) if datasets else MAIN
    return name, files[name]
