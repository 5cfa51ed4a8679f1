"""Migrations of PostgreSQL servers: PostgreSQL's abilities, its statements, and a session on a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

from schemactl.destinations import Catalogue
from schemactl.destinations._migration.conversion import FALSE
from schemactl.destinations._migration.session import MappedMigration, SqlMigration
from schemactl.destinations._session import Relation
from schemactl.destinations._sql_bookkeeping import find_migrated
from schemactl.destinations.postgresql.catalogue import read_dataset
from schemactl.destinations.postgresql.conversion import (
    INDEX_MAPPING,
    MAKE_MAPPING,
    MAPPING,
    as_text,
    convert,
    guarded,
    other_text,
    own_cast,
    type_of,
)
from schemactl.destinations.postgresql.dependents import (
    SCHEMA,
    TRIAL,
    dependents_of,
    find_blocker,
    find_type_blocker,
    trial_error,
)
from schemactl.destinations.postgresql.online import (
    Batches,
    batches_of,
    can_sync,
    kept_backfill,
    key_by_index,
    not_restored,
    render_online,
    restore_column,
    set_proven_not_null,
)
from schemactl.destinations.postgresql.session import (
    LOADING,
    PLAIN,
    READ_ONLY,
    PostgresSession,
    lock_holders,
    lock_key,
    milliseconds,
    open_session,
    open_transaction,
    parse_address,
)
from schemactl.destinations.postgresql.types import NAMES, has_texts, kind_of, settle, type_name, type_statement
from schemactl.destinations.postgresql.views import view_scripts
from schemactl.errors import DestinationError, LockNotAvailable
from schemactl.field_values import field_values
from schemactl.migration import statements as of_engines
from schemactl.migration.abilities import Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience, Unfit, ViewScript
from schemactl.migration.statements import Engine, Retype, change_type, constant, retype_of
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropPrimaryKey,
    DropUnique,
    FillColumn,
    OnlineStep,
    Phase,
    Prepare,
    RestoreColumn,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.migration.ways import Lock, Way
from schemactl.progress import Progress
from schemactl.schema.changes import ABSENT
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.quoting import literal
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table
from schemactl.type_systems.ddl import Dialect

Node = TypeVar("Node")

_PAUSE_SECONDS: Final = 0.2
_LOCKED: Final = (
    "end that session, or wait for it: `--lock-retries N` tries more often, `--step-lock-timeout SECONDS` waits longer"
)
_READING_SECONDS: Final = 60.0
"""How long a session that writes nothing waits for a lock: its own locks block no reads and no writes."""
_SAVEPOINT: Final = "_schemactl_step"
_SAMPLED_PAGES: Final = 64
"""Pages of a table from which the number of rows in a page is taken."""

_SETTINGS: Final = (
    *PLAIN,
    # Floats have all of their digits.
    "extra_float_digits = 1",
    # A policy that hides rows is an error: they would be neither counted nor filled.
    "row_security = off",
)


def _retype(before: Column, after: Column) -> Way:
    if _is_cast(before, after):
        return Way.IN_PLACE
    return Way.SCAN if before.data_type is after.data_type is DataType.TEXT else Way.REWRITE


def _is_cast(before: Column, after: Column) -> bool:
    """Return whether only the catalog changes: the type gets wider, or stays."""
    if before.data_type is not after.data_type:
        return False
    if type_of(before) == type_of(after):
        return True
    has_same_scale = before.properties.get("scale") == after.properties.get("scale")
    is_resized = after.data_type is DataType.TEXT or (after.data_type is DataType.DECIMAL and has_same_scale)
    return is_resized and fit(before, after).conversion is Conversion.WHOLE


def _lock_of(step: Step) -> Lock | None:
    """Return the lock that a step takes (PostgreSQL, chapter "Explicit Locking", and each form of ALTER TABLE)."""
    match step:
        case CreateTable():
            return None
        case Backfill() | FillColumn():
            return Lock("ROW EXCLUSIVE", readers_wait=False, writers_wait=False)
        case DescribeTable() | Prepare(phase=Phase.VALIDATE_CHECK | Phase.BUILD_INDEX):
            return Lock("SHARE UPDATE EXCLUSIVE", readers_wait=False, writers_wait=False)
        case Prepare(phase=Phase.START_SYNC):
            return Lock("SHARE ROW EXCLUSIVE", readers_wait=False, writers_wait=True)
        case _:
            return Lock("ACCESS EXCLUSIVE", readers_wait=True, writers_wait=True)


ABILITIES: Final = Abilities(
    names=NAMES,
    settle=settle,
    retype=_retype,
    # What is converted is so by one guarded statement, which costs less than a look and a cast.
    refuses_unfit=lambda before, after: not _is_cast(before, after),
    adds_not_null=True,
    adds_filled=True,
    is_online=True,
    keeps_dropped=True,
    shares_ledger=True,
    describe_table=Way.IN_PLACE,
    can_sync=can_sync,
    has_texts=has_texts,
    lock=_lock_of,
)

ENGINE: Final = Engine(Dialect("postgres"), type_of, convert, NAMES, cast_type=type_of, text="text")


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    return (*type_statements(step), *_render(step, table, dataset))


def type_statements(step: Step) -> tuple[str, ...]:
    """Return the statements that create the types of a step's columns which the schema defines, unless they exist."""
    if isinstance(step, CreateTable) and step.kept:
        return ()
    statements: dict[str, str] = {}
    for column in step.typed_columns:
        if (statement := type_statement(column)) is not None:
            name = type_name(column.properties[DATABASE_TYPE])
            statements[name] = _CREATE_TYPE.format(name=literal(name), schema=_schema_of(name), statement=statement)
    return tuple(f"DO {literal(statement)}" for statement in statements.values())


_CREATE_TYPE: Final = "BEGIN IF to_regtype({name}) IS NULL THEN {schema}{statement}; END IF; END"


def _schema_of(type_name: str) -> str:
    """Return the statement that creates the schema of a type, unless it exists; empty for a name without a schema."""
    schema, dot, _ = type_name.rpartition(".") if not type_name.endswith('"') else type_name.rpartition('."')
    if not dot:
        return ""
    return f"IF to_regnamespace({literal(schema)}) IS NULL THEN CREATE SCHEMA {schema}; END IF; "


def _render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    match step:
        case AddColumn() if step.value is not ABSENT:
            # The value for stored rows is in the catalog: no row is written.
            (added,) = of_engines.render(step, None, ENGINE, dataset)
            action = f"ALTER COLUMN {ENGINE.name(step.column.name)} DROP DEFAULT"
            return (
                f"{added} DEFAULT {constant(step.value, step.column, ENGINE)}",
                ENGINE.sql.alter(ENGINE.table(dataset, step.table), action),
            )
        case Backfill() if step.in_batches:
            return (batches_of(step, ENGINE, dataset, table).fill(":first", ":end", {}),)
        case ChangeType():
            is_cast = _is_cast(step.before, step.after)
            value = "" if is_cast else guarded(retype_of(step), ENGINE.name(step.before.name))
            return (change_type(step, ENGINE, dataset, value),)
        case SetNotNull() if step.is_prepared:
            return set_proven_not_null(step, ENGINE, dataset)
        case AddUnique() | AddPrimaryKey() if step.is_prepared:
            return (key_by_index(step, ENGINE, dataset),)
        case DropUnique():
            return _block(_DROP_UNIQUE, dataset, step.table, step.column)
        case DropPrimaryKey():
            return _block(_DROP_PRIMARY_KEY, dataset, step.table)
        case OnlineStep():
            return render_online(step, ENGINE, dataset, table)
        case _:
            return of_engines.render(step, table, ENGINE, dataset)


def _block(body: str, *names: str) -> tuple[str, ...]:
    """Return the statement that drops a constraint of any name; ``names`` are dataset, table and column."""
    return (f"DO {literal(body.format(*(literal(ENGINE.checked(name)) for name in names)))}",)


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
class PostgresMigration(MappedMigration[PostgresSession]):
    """See ``destinations.MigrationSession``.

    Attributes:
        holder: the session whose transaction holds the lock; None if nothing is written.
    """

    engine = ENGINE

    holder: PostgresSession | None = None

    def has_tables(self) -> bool:
        return True  # the catalog of a dataset that does not exist has no tables

    def read_tables(self, names: Collection[str] | None = None) -> Catalogue:
        return read_dataset(self.database, self.dataset, names)

    def sampled(self, table: str, relation: Relation, share: float) -> str | None:
        if not relation.is_table:
            return None  # PostgreSQL samples no views
        return f"SELECT * FROM {table} TABLESAMPLE BERNOULLI ({share * 100:.9f}) REPEATABLE (0)"

    def begin(self) -> None:
        if self.holder is not None:
            with self.holder.wrap_errors("hold the lock of the migration"):
                self.holder.query("SELECT 1")
        self.database.begin()

    def in_full(self, step: Node) -> Node:
        """Return a step whose types are named with their schemas, as its statements cannot find them otherwise."""

        def name_type(column: Column) -> Column:
            column = settle(column)
            written = column.properties.get(DATABASE_TYPE)
            if written is None:
                return column
            return Column(column.name, {**column.properties, DATABASE_TYPE: self.database.full_type(str(written))})

        return _with_columns(step, name_type)

    def own_names(self) -> AbstractContextManager[None]:
        return self.database.with_user_path()

    def find_blocker(self, step: Step) -> Blocker | None:
        with self.database.wrap_errors("look for dependents of a table"):
            type_blocker = find_type_blocker(self.database, step)
            return type_blocker or find_blocker(self.database, self.dataset, step, self._try)

    def view_scripts(self, steps: Sequence[Step]) -> tuple[ViewScript, ...]:
        # Other steps do not change views, or remove a column that they read.
        columns = [(step.table, step.before.name) for step in steps if isinstance(step, ChangeType)]
        with self.database.wrap_errors("look at the views on a column"):
            return view_scripts(self.database, self.dataset, columns) if columns else ()

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        with self.database.wrap_errors("look for dependents of a column"):
            return tuple(dependents_of(self.database, self.dataset, table, column))

    def run(self, step: Step, statements: Sequence[str]) -> None:
        """Run the statements of a step; values that PostgreSQL does not cast as dlt does go through dlt's coercion.

        Raises:
            LockNotAvailable: other sessions hold a lock on the table; the message names them.
        """
        if created_types := type_statements(step):
            self.prepare_writing()
            # In the schema in which the user's statements would create them: there they have the same name again.
            with self.database.wrap_errors("create a type"), self.database.with_user_path():
                for statement in created_types:
                    self.database.execute(statement)
            self.database.full_types.clear()
        full = self.in_full(step)
        # What takes the values that do not fit names no type, and would need its table.
        match step:
            case Backfill(taken=Taken.UNFIT) | Prepare(step=Backfill(taken=Taken.UNFIT)):
                pass
            case _ if full != step:
                step, statements = full, render(full, None, self.dataset)
        with self._naming_holders(step):
            match step:
                case RestoreColumn():
                    coerced = self._coerced(kept_backfill(step.swap))
                    SqlMigration.run(self, step, restore_column(step, ENGINE, self.dataset, coerced))
                case Backfill(taken=Taken.FITTING):
                    self.stage_coerced(retype_of(step), ENGINE.table(self.dataset, step.table))
                    SqlMigration.run(self, step, statements)
                case ChangeType():
                    with self._kept_storage(step):
                        self._retype(step, statements)
                case _:
                    SqlMigration.run(self, step, statements)

    def run_outside(
        self, step: Step, statements: Sequence[str], table: Table | None, batch_rows: int, notify: Progress
    ) -> None:
        self.prepare_writing()
        if isinstance(step, Backfill):
            step = self.in_full(step)
            with self._naming_holders(step):
                self._fill(step, batches_of(step, ENGINE, self.dataset, table), batch_rows, notify)
            return
        for statement in statements:
            with self.database.wrap_errors("migrate"):
                self.database.execute_alone(statement)

    def _fill(self, step: Backfill, batches: Batches, batch_rows: int, notify: Progress) -> None:
        """Fill a column in batches, until all rows are filled; rows that other sessions lock come later."""
        with self.database.wrap_errors("measure a table"):
            size = f"pg_catalog.pg_relation_size({literal(batches.place)}::regclass)"
            ((pages,),) = self.database.query(f"SELECT {size} / pg_catalog.current_setting('block_size')::int")
            sample = min(pages, _SAMPLED_PAGES)
            ((rows,),) = self.database.query(f"SELECT count(*) FROM {batches.place} WHERE ctid < '({sample},0)'")
        step_pages = max(1, batch_rows * sample // max(rows, 1))
        while True:
            filled_rows = locked_rows = 0
            for first in range(0, pages, step_pages):
                with self.transaction():
                    batch_filled, batch_locked = self._fill_pages(step, batches, first, min(first + step_pages, pages))
                filled_rows, locked_rows = filled_rows + batch_filled, locked_rows + batch_locked
                notify(f"{filled_rows:,} rows of `{step.table}` filled", min(first + step_pages, pages) / pages)
            if not locked_rows:
                return
            if not filled_rows:
                raise LockNotAvailable(
                    f"{locked_rows:,} rows of `{step.table}` are locked by other sessions", hint=_LOCKED
                )

    def _fill_pages(self, step: Backfill, batches: Batches, first: int, end: int) -> tuple[int, int]:
        """Fill the rows of some pages; return how many were filled, and how many other sessions lock."""
        with self.database.wrap_errors("fill a column"):
            counts = dict(self.database.query(batches.count(str(first), str(end))))
            expected, coerced = counts.pop(None, 0), {}
            for text, count in counts.items():
                if (coerced_text := self.coerce(text, retype_of(step))) is not None:
                    expected, coerced[text] = expected + count, coerced_text
            if not expected:
                return 0, 0
            filled = self.database.execute(batches.fill(str(first), str(end), coerced))
        return filled, max(expected - filled, 0)

    @contextmanager
    def _naming_holders(self, step: Step) -> Iterator[None]:
        """Report who holds the lock on a step's table if it was not acquired in time."""
        try:
            yield
        except LockNotAvailable as error:
            holders = ""
            # If the server accepts no further connection, the first error is reported, and retried.
            with suppress(DestinationError), open_session(self.database.address, is_read_only=True) as other:
                holders = lock_holders(other, ENGINE.table(self.dataset, step.table_name), self.database)
            raise LockNotAvailable(f"{error.message}{holders}", hint=_LOCKED) from None

    def _retype(self, step: ChangeType, statements: Sequence[str]) -> None:
        """Run the statements, and coerce values only if they fail: looking for such values first would cost a scan."""
        retype, table = retype_of(step), ENGINE.table(self.dataset, step.table)
        name = ENGINE.name(step.before.name)
        cast = own_cast(retype, name)
        if cast.is_sure == FALSE == cast.is_right:
            self.stage_coerced(retype, table)
            SqlMigration.run(self, step, statements)
            return
        try:
            with self._savepoint():
                SqlMigration.run(self, step, statements)
        except LockNotAvailable:
            raise
        except DestinationError:
            if self.database.connection.closed or not self.stage_coerced(retype, table):
                raise
            value = f"CASE WHEN {name} IS NOT NULL THEN {convert(retype, name).value} END"
            SqlMigration.run(self, step, (change_type(step, ENGINE, self.dataset, value),))

    def text_of(self, value: str, retype: Retype) -> str:
        return as_text(value, retype.before)

    def literal(self, text: str) -> str:
        return literal(text)

    def coerce(self, text: str, retype: Retype) -> str | None:
        coerced = self.coerce_text(text, retype)
        is_held = coerced is None or retype.after.data_type is not DataType.JSON or r"\u0000" not in coerced
        return coerced if is_held else None  # jsonb holds no NUL

    def stage_pairs(self, pairs: list[tuple[str, str]]) -> None:
        for statement in MAKE_MAPPING:
            self.database.execute(statement)
        with self.database.connection.cursor() as cursor, cursor.copy(f"COPY {MAPPING} FROM STDIN") as copy:
            for pair in pairs:
                copy.write_row(pair)
        self.database.execute(INDEX_MAPPING)

    def odd_condition(self, retype: Retype, name: str, *, is_undone: bool = False) -> str:
        cast = own_cast(retype, name)
        is_left_out = cast.is_sure
        if is_undone:  # values that come back unchanged
            undone_cast = own_cast(Retype(retype.after, retype.before, is_strict=False), f"({cast.cast})")
            is_same = f"CASE WHEN {undone_cast.is_sure} THEN {undone_cast.cast} = {name} END"
            is_left_out = f"CASE WHEN {cast.is_sure} THEN {is_same} END"
        return f"{name} IS NOT NULL AND ({is_left_out}) IS NOT TRUE"

    @contextmanager
    def _kept_storage(self, step: ChangeType) -> Iterator[None]:
        """Give a column its STORAGE again, which PostgreSQL sets to the new type's when a type changes."""
        query = _STORAGE.format(*map(literal, (self.dataset, step.table, step.before.name)))
        with self.database.wrap_errors("read how a column is stored"):
            before = self.database.query(query)
        yield
        if not before or before[0][0] == before[0][1]:
            return
        with self.database.wrap_errors("set how a column is stored"):
            after = self.database.query(query)
            # Of a type of fixed length there is only one way.
            if after and after[0][1] != "p" and before[0][0] != after[0][0]:
                column = ENGINE.name(step.before.name)
                action = f"ALTER COLUMN {column} SET STORAGE {_STORAGES[before[0][0]]}"
                self.database.execute(ENGINE.sql.alter(ENGINE.table(self.dataset, step.table), action))

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Roll back the statements inside if they fail; without a transaction, a statement needs no savepoint."""
        if not self.database.is_in_transaction:
            yield
            return
        with self.database.wrap_errors("set a savepoint"):
            self.database.execute(f"SAVEPOINT {_SAVEPOINT}")
        try:
            yield
        except DestinationError:
            # As in `_roll_back`: the first error is reported.
            with suppress(DestinationError), self.database.wrap_errors("go back to a savepoint"):
                self.database.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            raise
        with self.database.wrap_errors("release a savepoint"):
            self.database.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")

    def _count(self, step: Step, table: str, relation: Relation, *, is_undone: bool = False) -> Unfit:
        step = self.in_full(step)
        if not isinstance(step, RestoreColumn):
            return MappedMigration._count(self, step, table, relation, is_undone=is_undone)
        query = f"SELECT count(*), count(*) FILTER (WHERE {not_restored(step, ENGINE)}) FROM {table}"
        ((rows, count),) = self.database.query(query)
        return Unfit(count, rows)

    def written_value(self, step: Backfill | FillColumn) -> str:
        """Return the value that a step writes into a row; a session that writes nothing has no mapping table."""
        step = self.in_full(step)
        if isinstance(step, FillColumn) or step.taken is Taken.UNFIT:
            return SqlMigration.written_value(self, step)
        return batches_of(step, ENGINE, self.dataset, None).filled(self._coerced(step))

    def _coerced(self, step: Backfill) -> dict[str, str]:
        """Return the coerced texts of a column's values that PostgreSQL does not cast as dlt does."""
        retype, table = retype_of(step), ENGINE.table(self.dataset, step.table)
        with self.database.wrap_errors("look for values to coerce"):
            odd_values = self.odd_values(retype, table)
        return {text: coerced for text, _ in odd_values if (coerced := self.coerce(text, retype)) is not None}

    def survives(self, text: str, retype: Retype) -> bool:
        """Return whether dlt's coercion takes a value, or PostgreSQL reads it as a type that dlt does not know."""
        if retype.before.data_type is not None and retype.after.data_type is not None:
            return self.coerce(text, retype) is not None
        kind = type_of(retype.after)
        if retype.before.data_type is not DataType.TEXT or own_cast(retype, "v").is_right == FALSE:
            return False
        import psycopg

        text_expression = other_text(f"CAST({literal(text)} AS {kind})", kind)
        with self.database.wrap_errors("read values of a type"):
            try:
                with self.database.transaction():
                    ((text_again,),) = self.database.query(f"SELECT {text_expression}")
            except (psycopg.DataError, psycopg.IntegrityError):
                return False
        return bool(text_again == text)

    def _try(self, step: ChangeType) -> str | None:
        relation = self.find_relation(step.table)
        stored_type = relation.columns.get(step.before.name) if relation is not None else None
        if stored_type is None or kind_of(stored_type) != kind_of(self.database.column_type(step.before)):
            return None  # an earlier step makes it so
        step = self.in_full(step)
        # Of a table without rows no value is converted.
        value = "" if _is_cast(step.before, step.after) else f"CAST(NULL AS {type_of(step.after)})"
        statements = (change_type(replace(step, table=TRIAL), ENGINE, SCHEMA, value),)
        return trial_error(self.database, self.dataset, step.table, statements)


def _with_columns(node: Node, change: Callable[[Column], Column]) -> Node:
    """Return a step, or a part of one, with its columns changed."""
    changed: Any = node
    match node:
        case Column():
            changed = change(node)
        case Table():
            changed = replace(node, columns={name: change(column) for name, column in node.columns.items()})
        case _ if is_dataclass(node) and not isinstance(node, type):
            inside = {name: _with_columns(value, change) for name, value in field_values(node).items()}
            changed = replace(node, **inside)
    return cast("Node", changed)


@contextmanager
def open_in_load(session: PostgresSession, dataset: str, lock_seconds: float) -> Iterator[PostgresMigration]:
    """Yield a migration in the open transaction of a load, which holds the lock of the dataset."""
    settings = (*_SETTINGS, f"lock_timeout = {milliseconds(lock_seconds)}")
    with session.wrap_errors("begin to widen columns"):
        session.execute("; ".join(f"SET LOCAL {setting}" for setting in settings))
    yield PostgresMigration(session, dataset)
    with session.wrap_errors("go on with the load"):
        session.execute("; ".join(f"SET LOCAL {setting}" for setting in LOADING))


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,  # noqa: ARG001
) -> Iterator[PostgresMigration]:
    """Open a server for migrating; the lock of a separate open transaction keeps other sessions out.

    Nothing is set for longer than a transaction, so a pool may lie between (pgbouncer). See ``destinations.Migrator``.
    """
    address = parse_address(url)
    lock_seconds = _READING_SECONDS if is_read_only else patience.lock_seconds
    settings = [*_SETTINGS, f"lock_timeout = {milliseconds(lock_seconds)}"]
    if patience.statement_seconds is not None:
        settings.append(f"statement_timeout = {milliseconds(patience.statement_seconds)}")
    if is_read_only:
        settings.append(READ_ONLY)

    with ExitStack() as stack:
        session = stack.enter_context(open_session(address, settings, is_read_only=is_read_only))
        with session.wrap_errors("begin a migration"):
            dataset = find_migrated(session, address.dataset, schema_name)
        holder = None
        if not is_read_only:
            holder = stack.enter_context(open_transaction(address, "idle_in_transaction_session_timeout = 0"))
            with holder.wrap_errors("take the lock"):
                _lock(holder, dataset, patience.seconds)
        try:
            yield PostgresMigration(session, dataset, is_read_only, holder)
        finally:
            if holder is not None:
                # At once: of a connection that is closed, the server frees the lock a while later.
                with suppress(DestinationError), holder.wrap_errors("free the lock"):  # a lost connection has freed it
                    holder.connection.rollback()


def _lock(session: PostgresSession, dataset: str, patience: float) -> None:
    """Take the lock of loads for the transaction; ``DestinationError`` after ``patience`` seconds."""
    query = f"SELECT pg_catalog.pg_try_advisory_xact_lock({lock_key(dataset)})"
    end = time.monotonic() + patience
    while not session.query(query)[0][0]:
        if time.monotonic() >= end:
            raise DestinationError(
                f"another schemactl loads into or migrates dataset `{dataset}` of `{session.shown}`",
                hint="wait for its end: `--lock-timeout SECONDS`",
            )
        time.sleep(_PAUSE_SECONDS)
