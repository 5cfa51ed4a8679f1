"""Migrations of DuckDB files: what DuckDB can do, its statements, and a session on a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from schemactl.destinations._address import parse_file_address
from schemactl.destinations._catalogue import Catalogue
from schemactl.destinations._migration.conversion import FALSE, TRUE, Converted
from schemactl.destinations._migration.copies import copies_of, copy_path, remove_copies
from schemactl.destinations._migration.known import Unguarded
from schemactl.destinations._migration.opening import choose, waiting
from schemactl.destinations._migration.records import NO_PATIENCE, Blocker, Patience
from schemactl.destinations._migration.session import SqlMigration
from schemactl.destinations._session import Relation
from schemactl.destinations.duckdb.catalogue import read_connection
from schemactl.destinations.duckdb.conversion import convert, has_texts, register, type_of
from schemactl.destinations.duckdb.dependents import (
    Dependents,
    blocker_of,
    comments_again,
    copy_blocker,
    read_dependents,
)
from schemactl.destinations.duckdb.nested import gains, structure_in
from schemactl.destinations.duckdb.session import DuckDbSession, is_in_use, open_session
from schemactl.destinations.duckdb.types import NAMES
from schemactl.errors import DestinationError, InputError
from schemactl.migration import statements as of_engines
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.statements import COPY_PREFIX, Engine, by_copy, change_type, is_keyed, retype_of
from schemactl.migration.steps import (
    AddUnique,
    Backfill,
    ChangeType,
    DropColumn,
    DropPrimaryKey,
    DropUnique,
    FillColumn,
    RewriteTable,
    Step,
    table_of,
)
from schemactl.schema.ddl import Dialect
from schemactl.schema.types import Column, Table


def _retype(before: Column, after: Column) -> Way:
    if is_keyed(before):
        return Way.COPY  # DuckDB changes the type of no such column
    return Way.IN_PLACE if type_of(before) == type_of(after) else Way.REWRITE


def _is_copied(step: Step, table: Table | None) -> bool:
    match step:
        case DropColumn():
            # It drops no column of a key, and none before one.
            return table is not None and any(map(is_keyed, table.columns.values()))
        case ChangeType():
            return is_keyed(step.before, table)
        case _:
            return isinstance(step, AddUnique | DropUnique | DropPrimaryKey)


ABILITIES: Final = Abilities(
    names=NAMES,
    retype=_retype,
    has_texts=has_texts,
    add_unique=Way.COPY,
    drop_unique=Way.COPY,
    drop_primary_key=Way.COPY,
    rewrites=_is_copied,
    copies_keyed=True,
    copies_file=True,
    describe_table=Way.IN_PLACE,
    gains=gains,
    structure_in=structure_in,
)
"""It has no DROP CONSTRAINT, and an index in the place of one would stand in the way of later changes."""

ENGINE: Final = Engine(Dialect("duckdb"), type_of, convert, NAMES, cast_type=type_of)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    if _is_copied(step, table):
        return by_copy(step, ENGINE, dataset, table)
    match step:
        case Backfill() | FillColumn():
            return (_write_values(step, dataset, table),)
        case ChangeType():
            return _retype_guarded(step, dataset)
        case _:
            return of_engines.render(step, table, ENGINE, dataset)


def _write_values(step: Backfill | FillColumn, dataset: str, table: Table | None) -> str:
    # After an UPDATE of a column DuckDB refuses to forbid its nulls within the same transaction.
    column = step.column if isinstance(step, FillColumn) else step.target
    found = of_engines.assignment_of(step, ENGINE, table)
    value = f"CASE WHEN {found.condition} THEN {found.value} ELSE {found.column} END"
    return change_type(ChangeType(step.table, column, column), ENGINE, dataset, value)


def _change_type(step: ChangeType, dataset: str, value: str) -> tuple[str, ...]:
    return (change_type(step, ENGINE, dataset, value),)


def _retype_guarded(step: ChangeType, dataset: str) -> tuple[str, ...]:
    name, found = ENGINE.name(step.before.name), _converted(step)
    if found.is_sure == TRUE:
        return _change_type(step, dataset, found.cast)
    value = _once(name, lambda each: of_engines.convert_nulls_too(step, each, ENGINE))
    if found.is_sure != FALSE and "/*" not in found.cast and "*/" not in found.cast:  # a name could end the comment
        value += f" /* {_of_rows_there(found.cast)} where a look at all values finds that it gives the same */"
    return _change_type(step, dataset, value)


def _converted(step: ChangeType, value: str | None = None) -> Converted:
    return convert(retype_of(step), ENGINE.name(step.before.name) if value is None else value)


def _once(value: str, body: Callable[[str], str]) -> str:
    """Return an expression that mentions a value many times; ALTER TABLE reads a column anew for each."""
    return f'list_transform([{value}], lambda "_value": {body(chr(34) + "_value" + chr(34))})[1]'


def unguarded(step: ChangeType, dataset: str) -> Unguarded | None:
    """Return how a retype is done where a look finds that DuckDB's own cast is right for every value."""
    found = _converted(step)
    if found.is_sure in (TRUE, FALSE) or is_keyed(step.before):
        return None
    name, table = ENGINE.name(step.before.name), ENGINE.table(dataset, step.table)
    # Apart from the test for null: beside another condition, the first one costs twice as much.
    rare = f"SELECT {name} FROM {table} WHERE ({found.is_sure}) IS NOT TRUE"
    look = f"WITH rare AS MATERIALIZED ({rare}) SELECT 1 FROM rare WHERE {name} IS NOT NULL LIMIT 1"
    # Who has opened the file writes alone: what the look finds stays so.
    return Unguarded(look, _change_type(step, dataset, _of_rows_there(found.cast)))


def _of_rows_there(value: str) -> str:
    """Return a value that is null where it fails: an ALTER converts rows that were deleted, too."""
    return f"TRY({value})"


@dataclass(frozen=True, slots=True)
class DuckDbMigration(SqlMigration[DuckDbSession]):
    """See ``destinations.MigrationSession``.

    Attributes:
        dependents: what hung on the tables when it was first asked for; read anew where a table is copied.
    """

    def kept(self) -> tuple[str, ...]:
        return copies_of(self.database.address.path)

    def drop_kept(self, names: Sequence[str]) -> None:
        self.prepare_writing()
        remove_copies(names)

    def back_up(self, label: str) -> str:
        """Copy the file, once it holds all that is kept; nobody else writes."""
        copy = copy_path(self.database.address.path, label)
        with self.database.wrap_errors("write the file out"):
            self.database.execute("CHECKPOINT")
        try:
            shutil.copyfile(self.database.address.path, copy)
        except OSError as error:
            raise DestinationError(
                f"cannot copy the file to `{copy}`: {error.strerror}", hint="make room there"
            ) from error
        return str(copy)

    dependents: dict[str, Dependents] = field(default_factory=dict)

    def find_blocker(self, step: Step) -> Blocker | None:
        """Return why DuckDB does not take a step, before any has run; see ``destinations.MigrationSession``."""
        found = self._dependents_of(table_of(step))
        return blocker_of(step, found, _is_copied_there(step, found))

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        """Return what goes with a column that makes room for another; views go by names."""
        return tuple(self._dependents_of(table).of_column_alone(column))

    def _dependents_of(self, table: str) -> Dependents:
        with self.database.wrap_errors("look at what hangs on the tables"):
            if not self.dependents:
                self.dependents.update({"": Dependents(), **read_dependents(self.database, self.dataset)})
        return self.dependents.get(table.lower(), Dependents())

    def run(self, step: Step, statements: Sequence[str]) -> None:
        start = f"CREATE TABLE {ENGINE.name(self.dataset)}.{ENGINE.name(COPY_PREFIX)[:-1]}"
        if not any(statement.startswith(start) for statement in statements):
            if isinstance(step, ChangeType) and self._is_forgiven(step, statements):
                statements = _convert_rows_there(step, self.dataset)
            SqlMigration.run(self, step, statements)
            return
        with self._copying(table_of(step), _dropped((step,))):
            SqlMigration.run(self, step, statements)

    def _is_forgiven(self, step: ChangeType, statements: Sequence[str]) -> bool:
        """Return whether a guard would look at values that might not survive, and no row that is there has one."""
        if self.known.holds(step) or tuple(statements) != _retype_guarded(step, self.dataset):
            return False  # it goes without a guard, or what is run undoes the step
        if _converted(step).is_sure == TRUE:
            return False
        return not SqlMigration.unfit(self, step, step.table).count

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        """Do steps by one copy of their table, which keeps its comments."""
        with self._copying(rewrite.table.name, _dropped(rewrite.changes)):
            SqlMigration.run_rewrite(self, rewrite)

    @contextmanager
    def _copying(self, table: str, dropped: Collection[str]) -> Iterator[None]:
        """Let a table be copied that loses nothing by it; what is said of it is said again.

        Raises:
            DestinationError: the table has what a copy would lose.
        """
        with self.database.wrap_errors("copy a table"):
            dependents = read_dependents(self.database, self.dataset).get(table.lower(), Dependents())
        lost = copy_blocker(table, dependents, dropped)
        if lost is not None:
            raise DestinationError(f"{lost.message}, in `{self.origin}`", hint=lost.hint)
        yield
        with self.database.wrap_errors("copy a table"):
            relation = self.database.relation(self.dataset, table)
            for statement in comments_again(self.dataset, table, dependents, relation.columns if relation else ()):
                self.database.execute(statement)


def _convert_rows_there(step: ChangeType, dataset: str) -> tuple[str, ...]:
    """Return the statements of a retype of which every value survives, but those of rows that were deleted."""
    value = _once(ENGINE.name(step.before.name), lambda each: _converted(step, each).or_null)
    return _change_type(step, dataset, _of_rows_there(value))


def _dropped(steps: Sequence[Step]) -> list[str]:
    return [step.column.name for step in steps if isinstance(step, DropColumn)]


def _is_copied_there(step: Step, dependents: Dependents) -> bool:
    """Return whether a step copies its table, as the table is before any step."""
    is_table_keyed = any(kind in ("UNIQUE", "PRIMARY KEY") for kind, _ in dependents.constraints)
    match step:
        case DropColumn():
            return is_table_keyed
        case ChangeType():
            return is_keyed(step.before)
        case _:
            return isinstance(step, AddUnique | DropUnique | DropPrimaryKey)


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

    def catalogue(session: DuckDbSession, dataset: str) -> Catalogue:
        return read_connection(session.connection, address, dataset)

    with waiting(lambda: open_session(address, is_read_only=is_read_only), patience.seconds, is_in_use) as session:
        session.execute("COMMIT")
        register(session.connection)
        dataset = choose(session, address.dataset, schema_name)
        yield DuckDbMigration(session, dataset, ENGINE, catalogue, _sampled, is_read_only, None, unguarded)


def _sampled(place: str, _: Relation, share: float) -> str:
    # Row by row, not by blocks: a table of one block would be read whole or not at all.
    return f"SELECT * FROM {place} USING SAMPLE {share * 100:.9f} PERCENT (bernoulli, 0)"
