"""One transaction on a PostgreSQL server, as loading sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import ServerAddress, parse_server_address, without_password
from schemactl.destinations._catalogue import driver
from schemactl.destinations._load import LACKS_VALUE
from schemactl.destinations._session import BATCH_ROWS, Session
from schemactl.destinations.postgresql.types import NAMES, column_type, is_builtin
from schemactl.errors import ChangedMeanwhile, DestinationError, LockNotAvailable
from schemactl.examples import shown_error
from schemactl.normalization.package import StagedTable
from schemactl.schema.quoting import literal, quote
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, Error

_DATASETS: Final = """
    select nspname from pg_catalog.pg_namespace
    where nspname <> 'information_schema' and nspname !~ '^pg_' and pg_catalog.has_schema_privilege(oid, 'USAGE')
    order by oid
"""

_COLUMNS: Final = """
    select relname, relkind in ('r', 'p', 'f'), pg_catalog.has_table_privilege(tables.oid, 'INSERT'),
        attname, pg_catalog.format_type(atttypid, atttypmod)
    from pg_catalog.pg_class as tables
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
        left join pg_catalog.pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
    where nspname = %s and relkind in ('r', 'p', 'f', 'v', 'm')
        and (%s::text is null or relname = %s)
    order by tables.oid, attnum
"""

_NAMES: Final = """
    select nspname, relname
    from pg_catalog.pg_class join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where (%s::text is null or nspname = %s) and relkind in ('r', 'p', 'f', 'v', 'm')
"""

_CONNECT_SECONDS: Final = "10"
_PATIENCE_FOR_LOADS: Final = "10min"
_PATIENCE_FOR_OTHERS: Final = "60s"

SEARCH_PATH: Final = "search_path = pg_catalog, pg_temp"
"""The search path of our statements for functions, operators and types without a schema.

A user who can create objects in another schema of a path could make a function or an operator there that fits a call
better than PostgreSQL's own, and that runs with our rights (CVE-2018-1058).
"""

PLAIN: Final = (SEARCH_PATH, "TimeZone = 'UTC'", "DateStyle = 'ISO'", "standard_conforming_strings = on")
"""Settings of all sessions: texts without a zone are in UTC."""
READ_ONLY: Final = "transaction_read_only = on"
READING: Final = (*PLAIN, READ_ONLY)
"""Settings of a session that reads the catalog."""
LOADING: Final = (*PLAIN, f"lock_timeout = '{_PATIENCE_FOR_OTHERS}'")
"""Settings of a session that loads rows."""

_IN_THE_WAY: Final = "another object has this name: rename it, or use another dataset: `?dataset=NAME`"
_OTHER_RULES: Final = "the table has rules that the schema does not declare: drop them, or load into another dataset"
_HINTS: Final[dict[str, str]] = {
    "42501": (
        "grant the user CREATE on the database, CREATE and USAGE on the dataset, "
        "and SELECT, INSERT, UPDATE, DELETE on its tables"
    ),
    "55P03": "another session has a lock on it: end the session, or wait",
    "57014": "raise `--statement-timeout SECONDS`, or check whether someone canceled the statement",
    "22P05": "PostgreSQL does not store NUL characters: remove `\\u0000` from the data",
    "53100": "free space on the server's disk, then load again",
    "22001": "the column is narrower than in the schema",
    "23505": "two rows have the same value in a primary key or a `unique` column",
    "23503": _OTHER_RULES,
    "23514": _OTHER_RULES,
    "428C9": _OTHER_RULES,
    "42P10": _OTHER_RULES,
    "42710": _IN_THE_WAY,
    "42P07": _IN_THE_WAY,
    "23502": LACKS_VALUE,
}
"""Hints for errors, by SQLSTATE."""

_NOT_FOUND: Final = ("42P01", "42704", "42883")
"""Codes of a table, a type or a function that is not there, or not in the search path."""
_IN_FUNCTION: Final = re.compile(r"PL/pgSQL function (?P<name>.+?\)) line")
"""How PostgreSQL names a function in which an error arose: a trigger's, for one, which has our search path."""

_DENIED: Final = "42501"
_DENIED_FOR: Final = re.compile(r"permission denied for (?P<kind>\w+) (?P<name>.+)")
_DENIED_TEMPORARY: Final = re.compile(r'permission denied to create temporary tables in database "(?P<name>.+)"')
_OWNED: Final = re.compile(r"must be owner of (?P<kind>\w+) (?P<name>.+)")
_TO_READ: Final = "grant the user USAGE on the dataset, and SELECT on its tables"

_CHANGED: Final = ("40001", "40P01", "42P01", "42703", "42704", "42804", "42883", "3F000", "XX000")
"""Codes of errors about objects that another session has changed since the catalog was read."""

_KINDS: Final[dict[str, type[DestinationError]]] = {
    **dict.fromkeys(_CHANGED, ChangedMeanwhile),
    "55P03": LockNotAvailable,
}

_LOST: Final = "connection lost; load again with the same `--load-id`: a complete load is not repeated"


_SHOWN_SESSIONS: Final = 3
_SHOWN_LETTERS: Final = 100

_CURSOR: Final = "_schemactl_names"

_USER_PATH: Final = "SET LOCAL search_path TO DEFAULT"
"""Sets the search path of the role, the database or the address."""

_QUALIFIED: Final = re.compile(r'("(?:[^"]|"")+"|[^\s".(\[]+)\s*\..*', re.DOTALL)

_SCHEMA_OF_TYPE: Final = """
    SELECT pg_catalog.quote_ident(n.nspname)
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    WHERE t.oid = pg_catalog.to_regtype({type}) AND n.nspname <> 'pg_catalog'
"""

_EQUALITY: Final = """
    WITH RECURSIVE made AS (
        SELECT t.oid, t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid = pg_catalog.to_regtype({type})
        UNION ALL
        SELECT t.oid, t.typbasetype FROM pg_catalog.pg_type t JOIN made ON t.oid = made.typbasetype
    )
    SELECT pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname)
    FROM made
        JOIN pg_catalog.pg_opclass c ON c.opcintype = made.oid AND c.opcdefault
        JOIN pg_catalog.pg_am m ON m.oid = c.opcmethod AND m.amname = 'btree'
        JOIN pg_catalog.pg_amop a ON a.amopfamily = c.opcfamily AND a.amopstrategy = 3
            AND a.amoplefttype = c.opcintype AND a.amoprighttype = c.opcintype
        JOIN pg_catalog.pg_operator o ON o.oid = a.amopopr
        JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
    WHERE n.nspname <> 'pg_catalog'
"""
"""The operator by which values of a type are equal, from its operator class, which only a superuser can create."""

_HOLDERS: Final = """
    SELECT a.pid, a.state, extract(epoch FROM clock_timestamp() - min(a.xact_start))::bigint, a.query
    FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.granted AND l.pid <> {own} AND l.relation = pg_catalog.to_regclass({table})
        AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
    GROUP BY a.pid, a.state, a.query
    ORDER BY 3 DESC NULLS LAST
"""


@dataclass(frozen=True, slots=True)
class PostgresSession(Session):
    """A connection to a server; see ``destinations._session.Session``.

    A statement outside of a transaction is a transaction by itself, and one round trip to the server.

    Attributes:
        settings: the statements that set up each transaction. A pool gives each transaction another connection: a
            longer setting would be lost, or leak to other clients.
        full_types: types of schema files, in full.
    """

    dialect = "postgres"
    names = NAMES
    datasets_query = _DATASETS
    placeholder = "%s"
    makes_unique = True
    temporary_end = " ON COMMIT DROP"

    connection: Connection[Any]
    address: ServerAddress
    settings: tuple[str, ...] = ()
    is_read_only: bool = False
    full_types: dict[str, str] = field(default_factory=dict, compare=False)

    def column_type(self, column: Column) -> str:
        written = column_type(column)
        return self.full_type(written) if DATABASE_TYPE in column.properties else written

    def full_type(self, written: str) -> str:
        """Return a type with its schema, which it is found in by the search path of the user."""
        if is_builtin(written) or _QUALIFIED.fullmatch(written):
            return written
        if written not in self.full_types:
            with self.wrap_errors(f"look for the type `{written}`"):
                schemas = self.query_as_user(_SCHEMA_OF_TYPE.format(type=literal(written)))
            self.full_types[written] = f"{schemas[0][0]}.{written}" if schemas else written
        return self.full_types[written]

    def equality(self, kind: str) -> str:
        if is_builtin(kind):
            return "="
        with self.wrap_errors(f"look for the equality of the type `{kind}`"):
            operators = self.query(_EQUALITY.format(type=literal(kind)))
        return str(operators[0][0]) if operators else "="

    def execute(self, statement: str) -> int:
        return max(self._run(statement).rowcount, 0)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)
            return max(cursor.rowcount, 0)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._run(statement, values or None).fetchall()

    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with self.transaction():
            self.execute(f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR {statement}")
            while rows := self.query(f"FETCH {BATCH_ROWS} FROM {_CURSOR}"):
                yield from rows
            self.execute(f"CLOSE {_CURSOR}")

    def execute_alone(self, statement: str) -> None:
        """Run a statement that no transaction can hold; it names all in full, as the settings are the server's."""
        self.connection.execute(statement.encode())

    def begin(self) -> None:
        """Begin a transaction with the settings."""
        # Under other isolation levels, a load that has waited for another load would not see its rows.
        self.connection.execute("; ".join(("BEGIN ISOLATION LEVEL READ COMMITTED", *self.settings)).encode())

    @contextmanager
    def transaction(self, *, force_rollback: bool = False) -> Iterator[None]:
        """Run statements in a transaction with the settings; an open transaction continues afterwards."""
        with self.connection.transaction(force_rollback=force_rollback):
            self.connection.execute("; ".join(self.settings).encode())
            yield

    @contextmanager
    def with_user_path(self) -> Iterator[None]:
        """Let statements inside find names by the search path of the user; a transaction is open."""
        self.execute(_USER_PATH)
        yield
        # Not after a failed statement: the transaction ends with it, and so do its settings.
        self.execute(f"SET LOCAL {SEARCH_PATH}")

    def query_as_user(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query in which names are written, and texts are read, by the search path of the user.

        What the query itself names is found by ours: PostgreSQL does so as it opens the cursor.
        """
        return self.query_all_as_user((statement,), *values)[0]

    def query_all_as_user(self, statements: Sequence[str], *values: Any) -> list[list[tuple[Any, ...]]]:
        """Return the rows of several queries, each with the same values, in one round trip; see ``query_as_user``."""
        cursors = {f"{_CURSOR}_{number}": statement for number, statement in enumerate(statements)}
        settings = () if self.is_in_transaction else self.settings
        declared = (f"DECLARE {name} NO SCROLL CURSOR FOR {statement}" for name, statement in cursors.items())
        opening = (*settings, *declared, _USER_PATH)
        fetching = (f"FETCH ALL FROM {name}" for name in cursors)
        closing = (f"SET LOCAL {SEARCH_PATH}", *(f"CLOSE {name}" for name in cursors))
        results = self._run_together((*opening, *fetching, *closing), values * len(cursors))
        for _ in opening:
            results.nextset()
        rows = [results.fetchall()]
        while len(rows) < len(cursors):
            results.nextset()
            rows.append(results.fetchall())
        return rows

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        from psycopg.pq import TransactionStatus

        return self.connection.info.transaction_status is not TransactionStatus.IDLE

    def _run(self, statement: str, values: Sequence[Any] | None = None) -> Cursor[Any]:
        if self.is_in_transaction:
            return self.connection.execute(statement.encode(), values)
        cursor = self._run_together((*self.settings, statement), values)
        for _ in self.settings:
            cursor.nextset()
        return cursor

    def _run_together(self, statements: Iterable[str], values: Sequence[Any] | None = None) -> Cursor[Any]:
        """Run statements in one round trip; the cursor has the rows of the first one.

        Statements that are sent as one text are one transaction (PostgreSQL, "Multiple Statements in a Simple Query").
        Such a text takes no values, so the driver writes them into it.
        """
        from psycopg import ClientCursor

        return ClientCursor(self.connection).execute("; ".join(statements).encode(), values or None)

    def list_relations(self, dataset: str | None) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.query(_NAMES, dataset, dataset)]

    def columns(self, dataset: str, folded: str | None) -> list[tuple[str, bool, bool, str | None, str]]:
        return [(*row[:4], row[4]) for row in self.query(_COLUMNS, dataset, folded, folded)]

    def replace_rows(
        self, target: str, columns: Sequence[str], conditions: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        row_values = f"({', '.join('%s' for _ in columns)})"
        insert = f"INSERT INTO {target} ({', '.join(map(quote, columns))})".replace("%", "%%")
        deletes = (f"DELETE FROM {target} WHERE {condition}".replace("%", "%%") for condition in conditions)
        settings = () if self.is_in_transaction else self.settings
        statements = (*settings, *deletes, f"{insert} VALUES {', '.join(row_values for _ in rows)}")
        self._run_together(statements, [value for row in rows for value in row])

    def stage(self, name: str, staged: StagedTable) -> None:
        Session.stage(self, name, staged)
        self.execute(f"ANALYZE {quote(name)}")

    def append(self, target: str, staged: StagedTable) -> int:
        from schemactl.destinations.postgresql.csv_rows import csv_of

        columns = ", ".join(quote(name) for name in staged.table.columns)
        with self.connection.cursor() as cursor:
            with cursor.copy(f"COPY {target} ({columns}) FROM STDIN (FORMAT csv)".encode()) as copy:
                for chunk in csv_of(staged):
                    copy.write(chunk)
            return cursor.rowcount

    def lock(self, dataset: str) -> None:
        lock_query = f"SELECT pg_catalog.pg_advisory_xact_lock({lock_key(dataset)})"
        before, after = (
            f"SET LOCAL lock_timeout = '{patience}'" for patience in (_PATIENCE_FOR_LOADS, _PATIENCE_FOR_OTHERS)
        )
        self.execute("; ".join((before, lock_query, after)))

    def translate_error(self, error: Exception, task: str, hint: str | None) -> DestinationError | None:
        import psycopg

        if not isinstance(error, psycopg.Error):
            return None
        error_hint = _LOST if self.connection.closed and not self.is_read_only else hint
        return _translate(error, task, self.address, error_hint, self.is_read_only)


_OF_VALUES: Final = ("22", "23")
"""Classes of errors that quote values: data exceptions and integrity constraints (PostgreSQL, appendix A)."""


def _translate(
    error: Error, task: str, address: ServerAddress, hint: str | None = None, is_read_only: bool = False
) -> DestinationError:
    diagnostics = error.diag
    context = "; ".join((diagnostics.context or "").splitlines())
    description = ". ".join(
        sentence.rstrip(".")
        for sentence in (diagnostics.message_primary, diagnostics.message_detail, context)
        if sentence
    )
    message = without_password(" ".join((description or str(error)).split()), address)
    if (diagnostics.sqlstate or "").startswith(_OF_VALUES):
        message = shown_error(message)
    error_hint = hint if hint == _LOST else hint_of(error, is_read_only) or hint
    kind = _KINDS.get(diagnostics.sqlstate or "", DestinationError)
    return kind(f"cannot {task} in `{address.shown}`: {message}", hint=error_hint)


def hint_of(error: Error, is_read_only: bool) -> str | None:
    """Return the hint for an error; None for codes without a hint. Reading needs fewer grants."""
    function = _IN_FUNCTION.search(error.diag.context or "") if error.sqlstate in _NOT_FOUND else None
    if function is not None:
        return f"name it in full there, or: ALTER FUNCTION {function['name']} SET search_path = SCHEMA, pg_temp"
    if error.sqlstate != _DENIED:
        return _HINTS.get(error.sqlstate or "")
    message = error.diag.message_primary or ""
    if "row-level security" in message:
        return "connect as a role with BYPASSRLS, or as the owner if the table has no FORCE ROW LEVEL SECURITY"
    if owned := _OWNED.fullmatch(message):
        owner = f"the role that owns {owned['kind']} {quote(owned['name'])}"
        return f"no GRANT allows that: connect as {owner}, or as a member of it"
    if temporary := _DENIED_TEMPORARY.fullmatch(message):
        return f"grant the user the missing privilege: GRANT TEMPORARY ON DATABASE {quote(temporary['name'])} TO ..."
    denied = _DENIED_FOR.fullmatch(message)
    if denied is not None and denied["kind"] == "database" and not is_read_only:
        missing = f"GRANT CREATE ON DATABASE {quote(denied['name'])} TO ..."
        return f"grant the user the missing privilege: {missing}; or CREATE and USAGE on the dataset, if it exists"
    if denied is None or denied["kind"] not in ("schema", "table", "view"):
        return _TO_READ if is_read_only else _HINTS[_DENIED]
    if denied["kind"] == "schema":
        privilege = "USAGE" if is_read_only else "CREATE, USAGE"
        return f"grant the user the missing privilege: GRANT {privilege} ON SCHEMA {quote(denied['name'])} TO ..."
    privilege = "SELECT" if is_read_only else "SELECT, INSERT, UPDATE, DELETE"
    return f"grant the user the missing privilege: GRANT {privilege} ON {quote(denied['name'])} TO ..."


def parse_address(url: str) -> ServerAddress:
    """Parse an address; raises ``InputError`` if it cannot be read."""
    address = parse_server_address(url, "PostgreSQL")
    return replace(address, parameters={"connect_timeout": _CONNECT_SECONDS, **address.parameters})


@contextmanager
def open_session(
    address: ServerAddress, settings: Sequence[str] = LOADING, *, is_read_only: bool = False
) -> Iterator[PostgresSession]:
    """Open a connection; closing it rolls back uncommitted changes.

    If the session only reads, hints ask for fewer grants.
    """
    with driver("psycopg", "postgres"):
        import psycopg
        from psycopg.conninfo import make_conninfo
    try:
        # A pool assigns each transaction another connection, without prepared statements.
        target = make_conninfo(**{**address.parameters, "client_encoding": "UTF8"})
        connection = psycopg.connect(target, prepare_threshold=None, autocommit=True)
    except psycopg.Error as error:
        raise _translate(error, "reach the server", address) from None
    try:
        yield PostgresSession(connection, address, tuple(f"SET LOCAL {setting}" for setting in settings), is_read_only)
    finally:
        connection.close()


@contextmanager
def open_transaction(address: ServerAddress, *settings: str) -> Iterator[PostgresSession]:
    """Open a connection on which a transaction has begun, with further settings; see ``open_session``."""
    with open_session(address, (*LOADING, *settings)) as session:
        with session.wrap_errors("begin a load"):
            session.begin()
        yield session


def lock_key(dataset: str) -> str:
    """Return the expression of the number by which loads and migrations of a dataset lock each other out."""
    return f"pg_catalog.hashtextextended({literal(f'schemactl {dataset}')}, 0)"


def lock_holders(session: PostgresSession, table: str, waiting: PostgresSession) -> str:
    """Return the sessions that hold a lock on a table, as the end of a message; empty if the lock is free again.

    ``waiting`` did not get the lock, and cannot run the query itself, as its transaction has failed.
    """
    waiting_pid = waiting.connection.info.backend_pid
    with session.wrap_errors("look for the session with the lock"):
        holders = session.query(_HOLDERS.format(own=waiting_pid, table=literal(table)))
    descriptions = [_describe(*row) for row in holders[:_SHOWN_SESSIONS]]
    if len(holders) > len(descriptions):
        descriptions.append(f"{len(holders) - len(descriptions)} more")
    return f"; {table} is locked by {', '.join(descriptions)}" if descriptions else ""


def _describe(pid: int, state: str | None, seconds: int | None, query: str | None) -> str:
    """Return a session with its state, the age of its transaction and its last statement.

    State and statement are null if the user may not see them.
    """
    age = "" if seconds is None else f" for {seconds} s"
    # A statement may hold values.
    text = shown_error(" ".join((query or "").split()))
    cut = text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."
    return f"session {pid} ({state or 'active'}{age}" + (f": `{cut}`)" if cut else ")")


def milliseconds(seconds: float) -> int:
    """Return a timeout in PostgreSQL's unit, at least 1: 0 would mean no timeout."""
    return max(round(seconds * 1000), 1)
