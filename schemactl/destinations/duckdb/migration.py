"""Migrations of DuckDB files: DuckDB's abilities, its statements, and a session on a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import parse_file_address
from schemactl.destinations._migration.conversion import FALSE, TRUE, Converted
from schemactl.destinations._migration.session import FileMigration, SqlMigration
from schemactl.destinations._session import Relation
from schemactl.destinations._sql_bookkeeping import find_migrated
from schemactl.destinations.duckdb.catalogue import read_session
from schemactl.destinations.duckdb.conversion import BY_RANGE, convert, has_texts, register, type_of
from schemactl.destinations.duckdb.dependents import (
    Dependents,
    blocker_of,
    comments_again,
    copy_blocker,
    read_dependents,
)
from schemactl.destinations.duckdb.session import DuckDbSession, await_session
from schemactl.destinations.duckdb.types import NAMES, gains, settle, structure_in
from schemactl.destinations.duckdb.views import view_scripts
from schemactl.errors import DestinationError, InputError
from schemactl.migration import statements as of_engines
from schemactl.migration.abilities import Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience, Unfit, ViewScript
from schemactl.migration.statements import Engine, by_one_copy, change_type, is_keyed, retype_of
from schemactl.migration.steps import (
    AddUnique,
    Backfill,
    ChangeType,
    DropColumn,
    DropPrimaryKey,
    DropUnique,
    FillColumn,
    RenameTable,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.types import Column, Table
from schemactl.type_systems.ddl import Dialect


def _retype(before: Column, after: Column) -> Way:
    if is_keyed(before):
        return Way.COPY  # DuckDB changes the type of no such column
    return Way.IN_PLACE if type_of(before) == type_of(after) else Way.REWRITE


def _is_copied(step: Step, table: Table | None) -> bool:
    match step:
        case DropColumn():
            # DuckDB can drop neither a column of a key, nor a column before one.
            return table is not None and any(map(is_keyed, table.columns.values()))
        case ChangeType():
            return is_keyed(step.before, table)
        case _:
            return isinstance(step, AddUnique | DropUnique | DropPrimaryKey)


ABILITIES: Final = Abilities(
    names=NAMES,
    settle=settle,
    retype=_retype,
    has_texts=has_texts,
    add_unique=Way.COPY,
    drop_unique=Way.COPY,
    drop_primary_key=Way.COPY,
    rewrites=_is_copied,
    copies_keyed=True,
    copies_file=True,
    shares_ledger=True,
    describe_table=Way.IN_PLACE,
    gains=gains,
    structure_in=structure_in,
)
"""DuckDB has no DROP CONSTRAINT, and an index instead of a constraint would block later changes."""

ENGINE: Final = Engine(Dialect("duckdb"), type_of, convert, NAMES, cast_type=type_of)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    if _is_copied(step, table):
        return by_one_copy((step,), ENGINE, dataset, table)
    match step:
        case Backfill() | FillColumn():
            # After an UPDATE of a column DuckDB refuses to forbid its nulls within the same transaction.
            column = step.column if isinstance(step, FillColumn) else step.target
            assignment = of_engines.assignment_of(step, ENGINE, table)
            value = f"CASE WHEN {assignment.condition} THEN {assignment.value} ELSE {assignment.column} END"
            return (change_type(ChangeType(step.table, column, column), ENGINE, dataset, value),)
        case ChangeType():
            return _retype_guarded(step, dataset)
        case _:
            return of_engines.render(step, table, ENGINE, dataset)


def _retype_guarded(step: ChangeType, dataset: str) -> tuple[str, ...]:
    name, converted = ENGINE.name(step.before.name), _converted(step)
    if converted.is_sure == TRUE:
        return (change_type(step, ENGINE, dataset, converted.cast),)
    value = _once(name, lambda value_name: of_engines.convert_nulls_too(step, value_name, ENGINE))
    could_end_comment = "/*" in converted.cast or "*/" in converted.cast  # in a name
    if converted.is_sure != FALSE and not could_end_comment:
        value += f" /* {_of_existing_rows(converted.cast)} if it gives the same for all values */"
    return (change_type(step, ENGINE, dataset, value),)


def plain_retype(step: ChangeType, dataset: str) -> tuple[str, str] | None:
    """Return a query that finds a row which DuckDB's own cast gets wrong, and the statement by which it casts all.

    None if its cast gets all values right, or no value.
    """
    name, converted = ENGINE.name(step.before.name), _converted(step)
    if converted.is_sure in (TRUE, FALSE):
        return None
    rows = f"FROM {ENGINE.table(dataset, step.table)}"
    if (step.before.data_type, step.after.data_type) in BY_RANGE:
        # The statistics of the column answer this, and most of its rows are not read.
        look = f"SELECT 1 {rows} WHERE NOT ({converted.is_sure}) LIMIT 1"
    else:
        # The test for null is separate: combined with another condition, the first one costs twice as much.
        rare = f"SELECT {name} {rows} WHERE ({converted.is_sure}) IS NOT TRUE"
        look = f"WITH rare AS MATERIALIZED ({rare}) SELECT 1 FROM rare WHERE {name} IS NOT NULL LIMIT 1"
    return look, change_type(step, ENGINE, dataset, _of_existing_rows(converted.cast))


def _converted(step: ChangeType, value: str | None = None) -> Converted:
    return convert(retype_of(step), ENGINE.name(step.before.name) if value is None else value)


def _once(value: str, body: Callable[[str], str]) -> str:
    """Return an expression that mentions a value many times; ALTER TABLE reads a column again for each."""
    return f'list_transform([{value}], lambda "_value": {body(chr(34) + "_value" + chr(34))})[1]'


def _of_existing_rows(value: str) -> str:
    """Return a value that is null if it fails: an ALTER converts deleted rows, too."""
    return f"TRY({value})"


@dataclass(frozen=True, slots=True)
class DuckDbMigration(FileMigration[DuckDbSession]):
    """See ``destinations.MigrationSession``.

    Attributes:
        dependents: the dependents of tables, cached; read again if a table is copied.
        plain: the retypes for which a query in the transaction has shown that DuckDB's own cast is right.
    """

    engine = ENGINE

    dependents: dict[str, Dependents] = field(default_factory=dict)
    plain: list[ChangeType] = field(default_factory=list)

    def read_tables(self, names: Collection[str] | None = None) -> Catalogue:  # noqa: ARG002 - it reads all
        return read_session(self.database, self.dataset)

    def sampled(self, table: str, relation: Relation, share: float) -> str:  # noqa: ARG002
        # Row by row, not by blocks: a table of one block would be read whole or not at all.
        return f"SELECT * FROM {table} USING SAMPLE {share * 100:.9f} PERCENT (bernoulli, 0)"

    @property
    def file(self) -> Path:
        return self.database.address.path

    def copy_file(self, copy: Path) -> None:
        with self.database.wrap_errors("write the file out"):
            self.database.execute("CHECKPOINT")
        try:
            shutil.copyfile(self.file, copy)
        except OSError as error:
            message = f"cannot copy the file to `{copy}`: {error.strerror}"
            raise DestinationError(message, hint="free space on the disk") from error

    def find_blocker(self, step: Step) -> Blocker | None:
        dependents = self._dependents_of(step.table_name)
        is_keyed_table = any(kind in ("UNIQUE", "PRIMARY KEY") for kind, _ in dependents.constraints)
        return blocker_of(step, dependents, is_keyed_table if isinstance(step, DropColumn) else _is_copied(step, None))

    def view_scripts(self, steps: Sequence[Step]) -> tuple[ViewScript, ...]:
        columns = [(step.table, step.before.name) for step in steps if isinstance(step, ChangeType)]
        with self.database.wrap_errors("look at the views on a column"):
            return view_scripts(self.database, self.dataset, columns) if columns else ()

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        return tuple(self._dependents_of(table).of_column_alone(column))

    def _dependents_of(self, table: str) -> Dependents:
        with self.database.wrap_errors("look for dependents of the tables"):
            if not self.dependents:
                self.dependents.update({"": Dependents(), **read_dependents(self.database, self.dataset)})
        return self.dependents.get(table.lower(), Dependents())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.plain.clear()
        try:
            with SqlMigration.transaction(self):
                yield
        finally:
            self.plain.clear()

    def unfit(self, step: Step, share: float = 1.0, unless_filled: Sequence[str] = ()) -> Unfit:
        if isinstance(step, ChangeType) and share >= 1.0 and not unless_filled:
            with self.database.wrap_errors("count values that do not survive"):
                if self._relation(step.table) and self._is_plain(step):
                    return Unfit(0, self.row_count(step.table))
        return SqlMigration.unfit(self, step, share, unless_filled)

    def run(self, step: Step, statements: Sequence[str]) -> None:
        if isinstance(step, ChangeType) and tuple(statements) == _retype_guarded(step, self.dataset):
            statements = self._without_guard(step) or statements
        FileMigration.run(self, step, statements)

    @contextmanager
    def around(self, steps: Sequence[Step], statements: Sequence[str]) -> Iterator[None]:
        with FileMigration.around(self, steps, statements):
            yield
        for step in steps:
            self._forget(step)

    def begin(self) -> None:
        self.database.use_file()
        FileMigration.begin(self)

    @contextmanager
    def own_names(self) -> Iterator[None]:
        yield
        self.database.use_file()

    def run_own(self, statements: Sequence[str], file: str, instead_of: Step | None = None) -> None:
        self.plain.clear()
        SqlMigration.run_own(self, statements, file, instead_of)

    def _is_plain(self, step: ChangeType) -> bool:
        """Return whether DuckDB's own cast is right for every value; no one else writes to the open file."""
        if step in self.plain:
            return True
        if (plain := plain_retype(step, self.dataset)) is None or is_keyed(step.before):
            return False
        look, _ = plain
        if self.database.query(look):
            return False
        self.plain.append(step)
        return True

    def _without_guard(self, step: ChangeType) -> tuple[str, ...] | None:
        """Return the statements of a retype if the value of every existing row survives, else None."""
        converted = _converted(step)
        if converted.is_sure == TRUE:
            return None
        with self.database.wrap_errors("migrate"):
            is_plain = self._is_plain(step)
        value = converted.cast
        if not is_plain:
            if SqlMigration.unfit(self, step).count:
                return None
            value = _once(ENGINE.name(step.before.name), lambda value_name: _converted(step, value_name).or_null)
        return (change_type(step, ENGINE, self.dataset, _of_existing_rows(value)),)

    def _forget(self, step: Step) -> None:
        """Forget facts about a table that a completed step may have changed: its values, or names of columns."""
        names = {step.table_name.casefold(), step.after.casefold() if isinstance(step, RenameTable) else ""}
        column = step.before.name.casefold() if isinstance(step, ChangeType) else None
        self.plain[:] = [
            retype
            for retype in self.plain
            if retype.table.casefold() not in names or column not in (None, retype.before.name.casefold())
        ]

    @contextmanager
    def copying(self, table: str, steps: Sequence[Step]) -> Iterator[None]:
        with self.database.wrap_errors("copy a table"):
            dependents = read_dependents(self.database, self.dataset).get(table.lower(), Dependents())
        dropped = [step.column.name for step in steps if isinstance(step, DropColumn)]
        if (lost := copy_blocker(table, dependents, dropped)) is not None:
            raise DestinationError(f"{lost.message}, in `{self.origin}`", hint=lost.hint)
        yield
        with self.database.wrap_errors("copy a table"):
            relation = self.database.relation(self.dataset, table)
            for statement in comments_again(self.dataset, table, dependents, relation.columns if relation else ()):
                self.database.execute(statement)


@contextmanager
def open_in_load(session: DuckDbSession, dataset: str, lock_seconds: float) -> Iterator[DuckDbMigration]:  # noqa: ARG001
    """Yield a migration in the open transaction of a load, which has exclusive access to the file."""
    register(session.connection)
    yield DuckDbMigration(session, dataset)


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[DuckDbMigration]:
    """Open a file for migrating; DuckDB lets one process write at a time. See ``destinations.Migrator``."""
    address = parse_file_address(url)
    if is_read_only and not may_be_new and not address.path.is_file():
        raise InputError(f"there is no file `{address.path}`")

    with await_session(address, patience.seconds, is_read_only=is_read_only) as session:
        session.execute("COMMIT")
        register(session.connection)
        dataset = find_migrated(session, address.dataset, schema_name)
        yield DuckDbMigration(session, dataset, is_read_only)
