"""Migrations of PostgreSQL servers: what PostgreSQL can do, its statements, and a session on a server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, assert_never

from schemactl.destinations._catalogue import Catalogue
from schemactl.destinations._migration.conversion import coerce_text, has_spellings
from schemactl.destinations._migration.conversions import written_retype
from schemactl.destinations._migration.opening import choose
from schemactl.destinations._migration.records import Hindrance, Unfit
from schemactl.destinations._migration.rendering import (
    Dialect,
    alter,
    render_of_column,
    render_of_constraint,
    render_of_table,
    render_of_values,
    retype_of,
)
from schemactl.destinations._migration.session import SqlMigration
from schemactl.destinations._migration.unguarded import dialect_of, guarded_value
from schemactl.destinations._session import Relation, literal
from schemactl.destinations.postgresql._address import parse_address
from schemactl.destinations.postgresql._hanging import find_hindrance, hanging_on
from schemactl.destinations.postgresql._reader import read_connection
from schemactl.destinations.postgresql._session import PostgresSession, open_session
from schemactl.destinations.postgresql._trial import SCHEMA, TRIAL, refusal_of
from schemactl.destinations.postgresql._types import NAMES, kind_of
from schemactl.destinations.postgresql._words import FUNCTIONS, WORDS, PostgresWords, Reading
from schemactl.errors import DestinationError
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
from schemactl.schema.types import Column, DataType, Table

_PAUSE_SECONDS: Final = 0.2
_STATEMENT_PATIENCE: Final = "60s"
_SAVEPOINT: Final = "_schemactl_step"


def _retype(before: Column, after: Column) -> Way:
    if _is_cast(before, after):
        return Way.IN_PLACE
    return Way.SCAN if before.data_type is after.data_type is DataType.TEXT else Way.REWRITE


def _is_cast(before: Column, after: Column) -> bool:
    """Return whether only the catalogue changes: the type gets wider, or stays."""
    if before.data_type is not after.data_type:
        return False
    old, new = before.properties.get("precision"), after.properties.get("precision")
    if WORDS.type_of(before) == WORDS.type_of(after):
        return True
    if after.data_type is DataType.TEXT:
        return new is None or (old is not None and new >= old)
    if after.data_type is DataType.DECIMAL and old is not None and new is not None:
        return new >= old and before.properties.get("scale") == after.properties.get("scale")
    return False


def _refuses_unfit(before: Column, after: Column) -> bool:
    """Return whether values are converted: by one guarded statement, which costs less than a look and a cast."""
    return not _is_cast(before, after)


ABILITIES: Final = Abilities(
    names=NAMES, retype=_retype, refuses_unfit=_refuses_unfit, adds_not_null=True, has_texts=WORDS.has_texts
)

DIALECT: Final[Dialect] = dialect_of(WORDS, NAMES, "postgres")


def _dialect_with(spellings: Mapping[str, str], words: PostgresWords = WORDS) -> Dialect:
    """Return the same for a column of which some texts are spelled anew."""
    return dialect_of(replace(words, spellings=spellings), NAMES, "postgres")


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    match step:
        case CreateTable() | DropTable() | RenameTable():
            return render_of_table(step, DIALECT, dataset)
        case AddColumn() | DropColumn() | RenameColumn():
            return render_of_column(step, DIALECT, dataset)
        case Backfill() | FillColumn() | ChangeType():
            return _write_values(step, table, dataset, DIALECT)
        case SetNotNull() | DropNotNull() | AddUnique() | AddPrimaryKey():
            return render_of_constraint(step, DIALECT, dataset)
        case DropUnique():
            return (_drop_unique(step, dataset),)
        case DropPrimaryKey():
            return (_drop_primary_key(step, dataset),)
        case _:
            assert_never(step)


def _write_values(
    step: Backfill | FillColumn | ChangeType, table: Table | None, dataset: str, dialect: Dialect
) -> tuple[str, ...]:
    if not isinstance(step, ChangeType):
        return _with_functions(render_of_values(step, dialect, dataset, table))
    value = (
        ""
        if _is_cast(step.before, step.after)
        else guarded_value(retype_of(step), DIALECT.name(step.before.name), dialect)
    )
    return _with_functions(_change_type(step, dataset, value))


def _with_functions(statements: tuple[str, ...]) -> tuple[str, ...]:
    needed = (made for call, made in FUNCTIONS.items() if any(call in each for each in statements))
    return (*needed, *statements)


def _change_type(step: ChangeType, dataset: str, value: str) -> tuple[str, ...]:
    action = f"ALTER COLUMN {DIALECT.name(step.before.name)} TYPE {DIALECT.type_of(step.after)}"
    return (alter(DIALECT, dataset, step.table, f"{action} USING {value}" if value else action),)


def _drop_unique(step: DropUnique, dataset: str) -> str:
    """Return a block that drops what makes the column unique, under whatever names."""
    DIALECT.table(dataset, step.table), DIALECT.name(step.column)
    return f"DO {literal(_DROP_UNIQUE.format(*map(literal, (dataset, step.table, step.column))))}"


_DROP_UNIQUE: Final = """
DECLARE found record;
BEGIN
    FOR found IN
        SELECT n.nspname, t.relname, i.relname AS index_name, c.conname
        FROM pg_catalog.pg_index x
            JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
            JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
            JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
            JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
            LEFT JOIN pg_catalog.pg_constraint c ON c.conindid = x.indexrelid AND c.contype = 'u'
        WHERE n.nspname = {0} AND t.relname = {1} AND a.attname = {2}
            AND x.indisunique AND NOT x.indisprimary AND x.indnkeyatts = 1 AND x.indpred IS NULL
    LOOP
        IF found.conname IS NULL THEN
            EXECUTE pg_catalog.format('DROP INDEX %I.%I', found.nspname, found.index_name);
        ELSE
            EXECUTE pg_catalog.format(
                'ALTER TABLE %I.%I DROP CONSTRAINT %I', found.nspname, found.relname, found.conname);
        END IF;
    END LOOP;
END
"""


def _drop_primary_key(step: DropPrimaryKey, dataset: str) -> str:
    """Return a block that drops a table's primary key, under whatever name."""
    DIALECT.table(dataset, step.table)
    return f"DO {literal(_DROP_PRIMARY_KEY.format(*map(literal, (dataset, step.table))))}"


_DROP_PRIMARY_KEY: Final = """
DECLARE found record;
BEGIN
    FOR found IN
        SELECT n.nspname, t.relname, c.conname
        FROM pg_catalog.pg_constraint c
            JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
            JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
        WHERE n.nspname = {0} AND t.relname = {1} AND c.contype = 'p'
    LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %I.%I DROP CONSTRAINT %I', found.nspname, found.relname, found.conname);
    END LOOP;
END
"""


_STORAGE: Final = """
    SELECT a.attstorage::text, t.typstorage::text
    FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE n.nspname = {0} AND c.relname = {1} AND a.attname = {2}
"""

_STORAGES: Final = {"p": "PLAIN", "e": "EXTERNAL", "m": "MAIN", "x": "EXTENDED"}


@dataclass(frozen=True, slots=True)
class PostgresMigration(SqlMigration[PostgresSession]):
    """See ``destinations.MigrationSession``.

    Attributes:
        words: those of its dialect.
    """

    words: PostgresWords = WORDS

    def obstacle(self, step: Step) -> Hindrance | None:
        """Return why PostgreSQL does not take a step; see ``destinations.MigrationSession``."""
        with self.database.telling("look at what hangs on a table"):
            return find_hindrance(self.database, self.dataset, step, self._try)

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        """Return what goes with a column that makes room for another; see ``SqlMigration.left_behind``."""
        with self.database.telling("look at what hangs on a column"):
            return tuple(hanging_on(self.database, self.dataset, table, column))

    def run(self, step: Step, statements: Sequence[str]) -> None:
        """Run the statements of a step; texts that only dlt's coercion can read are spelled anew."""
        match step:
            case Backfill() if spellings := self._spellings(step, None, self._table(step)):
                statements = _write_values(step, None, self.dataset, _dialect_with(spellings))
                SqlMigration.run(self, step, statements)
            case ChangeType():
                self._retype(step, statements)
            case _:
                SqlMigration.run(self, step, statements)

    def _retype(self, step: ChangeType, statements: Sequence[str]) -> None:
        """Run the statements, and look for texts to spell anew where they fail: to look first costs a scan."""
        with self._kept_storage(step):
            self._retype_values(step, statements)

    @contextmanager
    def _kept_storage(self, step: ChangeType) -> Iterator[None]:
        """Give a column its STORAGE again, which PostgreSQL sets to the new type's when a type changes."""
        asked = _STORAGE.format(*map(literal, (self.dataset, step.table, step.before.name)))
        with self.database.telling("look at how a column is stored"):
            before = self.database.query(asked)
        yield
        with self.database.telling("keep how a column is stored"):
            after = self.database.query(asked)
            # Of a type of fixed length there is only one way.
            if before and after and before[0][0] != before[0][1] and after[0][1] != "p" and before[0][0] != after[0][0]:
                column = DIALECT.name(step.before.name)
                action = f"ALTER COLUMN {column} SET STORAGE {_STORAGES[before[0][0]]}"
                self.database.execute(alter(DIALECT, self.dataset, step.table, action))

    def _retype_values(self, step: ChangeType, statements: Sequence[str]) -> None:
        try:
            with self._savepoint():
                SqlMigration.run(self, step, statements)
        except DestinationError:
            if self.database.connection.closed:
                raise
            spellings = self._spellings(step, None, self._table(step))  # none where dlt's coercion reads no more
            if not spellings:
                raise
            SqlMigration.run(self, step, _write_values(step, None, self.dataset, _dialect_with(spellings)))

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Take back what is done inside where it fails; a statement that stands alone needs none."""
        if not self.known.is_open:
            yield
            return
        with self.database.telling("set a savepoint"):
            self.database.execute(f"SAVEPOINT {_SAVEPOINT}")
        try:
            yield
        except DestinationError:
            # As in `_roll_back`: what failed first is reported.
            with suppress(DestinationError), self.database.telling("go back to a savepoint"):
                self.database.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            raise
        with self.database.telling("release a savepoint"):
            self.database.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")

    def _table(self, step: ChangeType | Backfill) -> str:
        return DIALECT.table(self.dataset, step.table)

    def _count(
        self, step: Step, column: str | None, place: str, relation: Relation, *, is_undone: bool = False
    ) -> Unfit:
        spellings = self._spellings(step, column, place)
        session = replace(self, dialect=_dialect_with(spellings, self.words)) if spellings else self
        return SqlMigration._count(session, step, column, place, relation, is_undone=is_undone)

    def _spellings(self, step: Step, column: str | None, place: str) -> Mapping[str, str]:
        """Return the texts of a column that PostgreSQL does not read and dlt's coercion does, spelled anew."""
        if not isinstance(step, ChangeType | Backfill) or not has_spellings(retype := retype_of(step)):
            return {}
        name = DIALECT.name(column or retype.before.name)
        is_odd = f"NOT coalesce({self.dialect.convert(retype, name).fits}, FALSE)"
        with self.database.telling("look for texts that are spelled in other ways"):
            rows = self.database.query(f"SELECT DISTINCT {name} FROM {place} WHERE {name} IS NOT NULL AND {is_odd}")
        written = written_retype(retype, WORDS)
        found = {text: spelled for (text,) in rows if (spelled := coerce_text(text, written)) is not None}
        return {text: spelled for text, spelled in found.items() if r"\u0000" not in spelled}  # jsonb holds none

    def _try(self, step: ChangeType) -> str | None:
        relation = self.database.relation(self.dataset, step.table)
        there = relation.columns.get(step.before.name) if relation is not None else None
        if there is None or kind_of(there) != kind_of(self.database.column_type(step.before)):
            return None  # an earlier step makes it so
        statements = render(replace(step, table=TRIAL), None, SCHEMA)
        return refusal_of(self.database, self.dataset, step.table, statements)


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: float = 0.0,
    is_read_only: bool = False,
    may_be_new: bool = False,  # noqa: ARG001
) -> Iterator[PostgresMigration]:
    """Open a server for migrating; a lock that ends with the connection keeps others out.

    See ``destinations.Migrator``.
    """
    address = parse_address(url)

    def catalogue(session: PostgresSession, dataset: str) -> Catalogue:
        return read_connection(session.connection, address, dataset)

    with open_session(address, is_read_only=is_read_only) as session:
        with session.telling("begin a migration"):
            session.connection.rollback()
            session.connection.autocommit = True
            # Texts without a zone are in UTC, and floats have all of their digits.
            for setting in ("TimeZone = 'UTC'", "DateStyle = 'ISO'", "standard_conforming_strings = on"):
                session.execute(f"SET {setting}")
            session.execute(f"SET lock_timeout = '{_STATEMENT_PATIENCE}'")
            session.execute("SET extra_float_digits = 1")
            words = _reading_words(session) if is_read_only else WORDS
            if is_read_only:
                session.execute("SET default_transaction_read_only = on")
            dataset = choose(session, address.dataset, schema_name)
        if not is_read_only:
            with session.telling("take the lock"):
                _lock(session, dataset, patience)
                _make_functions(session)
        try:
            dialect = DIALECT if words is WORDS else _dialect_with({}, words)
            yield PostgresMigration(session, dataset, dialect, catalogue, _sampled, is_read_only, words=words)
        finally:
            if not is_read_only:
                _unlock(session)


def _reading_words(session: PostgresSession) -> PostgresWords:
    """Return how a session that writes nothing finds out what the server reads: standbys take no functions."""
    from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

    if session.connection.info.server_version >= 160000:
        return replace(WORDS, reading=Reading.BUILT_IN)
    try:
        _make_functions(session)
    except (InsufficientPrivilege, ReadOnlySqlTransaction):
        return replace(WORDS, reading=Reading.NOWHERE)
    return WORDS


def _make_functions(session: PostgresSession) -> None:
    for made in FUNCTIONS.values():
        session.execute(made)


def _sampled(place: str, relation: Relation, share: float) -> str | None:
    if not relation.is_table:
        return None  # PostgreSQL samples no views
    return f"SELECT * FROM {place} TABLESAMPLE BERNOULLI ({share * 100:.9f}) REPEATABLE (0)"


def _lock(session: PostgresSession, dataset: str, patience: float) -> None:
    """Take the lock that loads take too; it ends with the connection.

    Raises:
        DestinationError: another session has it for longer than ``patience`` seconds.
    """
    asked = f"SELECT pg_try_advisory_lock(hashtextextended({literal(f'schemactl {dataset}')}, 0))"
    end = time.monotonic() + patience
    while not session.query(asked)[0][0]:
        if time.monotonic() >= end:
            raise DestinationError(
                f"another schemactl loads into or migrates dataset `{dataset}` of `{session.shown}`",
                hint="wait for its end: `--lock-timeout SECONDS`",
            )
        time.sleep(_PAUSE_SECONDS)


def _unlock(session: PostgresSession) -> None:
    """Free the lock at once: of a connection that is closed, the server frees it a while later."""
    with suppress(DestinationError), session.telling("free the lock"):  # a lost connection has freed it
        session.execute("SELECT pg_advisory_unlock_all()")
