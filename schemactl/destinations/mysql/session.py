"""A connection to a MySQL or MariaDB server, as loading and migrating see it.

It sets the server to standard SQL: names in double quotes, no escapes in texts, UTC, errors instead of truncated
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import ServerAddress, parse_server_address, without_password
from schemactl.destinations._catalogue import driver
from schemactl.destinations._session import BATCH_ROWS, Session
from schemactl.destinations._types import is_short_float
from schemactl.destinations.mysql.types import NAMES, column_type, kind_of, own_type, without_width
from schemactl.errors import DestinationError, InputError, LockNotAvailable
from schemactl.examples import shown_error
from schemactl.normalization.package import StagedTable
from schemactl.schema.quoting import literal
from schemactl.schema.types import Column, DataType

if TYPE_CHECKING:
    from pymysql.connections import Connection

_TAKEN: Final = ("host", "user", "password", "unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "read_default_file")
"""Parameters of an address that go to the driver unchanged."""

_MODES: Final = "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"

_DATASETS: Final = """
    select schema_name from information_schema.schemata
    where schema_name not in ('information_schema', 'performance_schema', 'mysql', 'sys') order by schema_name
"""
_COLUMNS: Final = """
    select t.table_name, t.table_type = 'BASE TABLE', c.column_name, c.column_type
    from information_schema.tables t
        join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name
    where t.table_schema = %s and (%s is null or lower(t.table_name) = lower(%s))
    order by t.table_name, c.ordinal_position
"""
_NAMES: Final = "select table_schema, table_name from information_schema.tables"

_HINTS: Final[dict[int, str]] = {
    1044: "grant the user CREATE, ALTER, DROP, SELECT, INSERT, UPDATE and DELETE on the dataset",
    1045: "check the user and the password",
    1142: "grant the user CREATE, ALTER, DROP, SELECT, INSERT, UPDATE and DELETE on the dataset",
    1062: "two rows have the same value in a primary key or a `unique` column",
    1205: "another session has a lock on it: end the session, or wait",
    1406: "the column is narrower than in the schema",
}
"""Hints for errors, by their number."""

_JSON_CHECK: Final = re.compile(r"""json_valid\((?P<mark>[`"])(?P<name>.*)(?P=mark)\)""", re.IGNORECASE)
_LOCKED: Final = (1205, 3572)
_PATIENCE_SECONDS: Final = 600
_CONNECT_SECONDS: Final = 10
_OF_VALUES: Final = (1062, 1264, 1265, 1292, 1366, 1406)
"""Errors that quote values."""


@dataclass(frozen=True, slots=True)
class MySqlSession(Session):
    """An open connection; see ``destinations._session.Session``."""

    dialect = "mysql"
    names = NAMES
    datasets_query = _DATASETS
    placeholder = "%s"
    has_transactional_ddl = False
    casts_to_columns = False
    has_merge_statement = False
    takes_moments_as_texts = True
    tie = "NULL"  # the engine has chosen of rows with one key, and a row has no text here

    connection: Connection[Any]
    address: ServerAddress

    @property
    def merges(self) -> bool:
        return self.is_mariadb  # MySQL reads a temporary table once in a statement, and merges read theirs twice

    @property
    def is_mariadb(self) -> bool:
        """Whether the server is MariaDB."""
        return "mariadb" in self.connection.get_server_info().lower()

    def update_from(self, target: str, columns: Sequence[str], source: str, match: str) -> str:
        assignments = ", ".join(f"o.{name} = n.{name}" for name in columns)
        return f"UPDATE {target} AS o JOIN {source} AS n ON {match} SET {assignments}"

    def delete_from(self, target: str, condition: str) -> str:
        return f"DELETE o FROM {target} AS o WHERE {condition}"

    def column_type(self, column: Column) -> str:
        return without_width(column_type(column))

    def execute(self, statement: str) -> int:
        with self.connection.cursor() as cursor:
            row_count: int = cursor.execute(statement)
            return max(row_count, 0)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        with self.connection.cursor() as cursor:
            return max(cursor.executemany(statement, rows) or 0, 0)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        from pymysql.cursors import SSCursor

        with self.connection.cursor(SSCursor) as cursor:
            cursor.execute(statement)
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield from rows

    def list_relations(self, dataset: str | None) -> list[tuple[str, str]]:
        if dataset is None:
            return [(row[0], row[1]) for row in self.query(_NAMES)]
        # If the condition names one dataset, MariaDB looks only into its folder.
        return [(row[0], row[1]) for row in self.query(f"{_NAMES} where table_schema = %s", dataset)]

    def columns(self, dataset: str, folded: str | None) -> list[tuple[str, bool, bool, str | None, str]]:
        jsons = json_columns(self, dataset)
        columns: list[tuple[str, bool, bool, str | None, str]] = []
        for table, is_table, name, stored_type in self.query(_COLUMNS, dataset, folded, folded):
            written = "json" if (table, name) in jsons else text_of(stored_type)
            kind = kind_of(written)
            # The catalog has several spellings of a type; loads compare with the one that they write.
            if is_short_float(written):
                spelling = written
            elif "data_type" in kind:
                spelling = column_type(Column("", kind))
            else:
                spelling = without_width(own_type(written) or written)
            columns.append((table, is_table, True, name, spelling))
        return columns

    def stored_rows(self, staged: StagedTable) -> Iterator[list[tuple[Any, ...]]]:
        from schemactl.destinations._rows import stored_rows

        # Without a scale it keeps no digits after the point, as with dlt: MySQL would round them.
        integral = [
            (index, column)
            for index, column in enumerate(staged.table.columns.values())
            if column.data_type is DataType.DECIMAL and column_type(column).endswith(",0)")
        ]
        for rows in stored_rows(staged):
            for index, column in integral:
                if any(row[index] is not None and row[index] != row[index].to_integral_value() for row in rows):
                    message = f"column `{column.name}` of table `{staged.table.name}` is `{column_type(column)}`"
                    raise DestinationError(
                        f"{message}, which stores no decimal places", hint="set a `scale` in the schema"
                    )
            yield rows

    def lock(self, dataset: str) -> None:
        take_lock(self, dataset, _PATIENCE_SECONDS)

    def text_of(self, value: str) -> str:
        return f"CAST({value} AS CHAR)"

    def moment_of(self, value: str) -> str:
        return f"timestampdiff(MICROSECOND, '1970-01-01', {value})"

    def translate_error(self, error: Exception, task: str, hint: str | None) -> DestinationError | None:
        import pymysql

        return _translate(error, task, self.address, hint) if isinstance(error, pymysql.Error) else None


def take_lock(session: MySqlSession, dataset: str, patience: float) -> None:
    """Take a dataset's lock for the connection; ``DestinationError`` after ``patience`` seconds."""
    name = literal(f"schemactl {dataset}"[:64])
    if session.query(f"SELECT GET_LOCK({name}, {patience:f})")[0][0] != 1:
        raise DestinationError(
            f"another schemactl loads into or migrates dataset `{dataset}` of `{session.shown}`",
            hint="wait for its end: `--lock-timeout SECONDS`",
        )


def text_of(written: Any) -> str:
    """Return a text of the catalog, which some versions hand out as bytes."""
    return written.decode() if isinstance(written, bytes) else str(written)


def json_columns(session: MySqlSession, dataset: str) -> frozenset[tuple[str, str]]:
    """Return the columns that MariaDB keeps as texts which a check holds to JSON."""
    if not session.is_mariadb:
        return frozenset()
    query = "select table_name, check_clause from information_schema.check_constraints where constraint_schema = %s"
    rows = ((table, _JSON_CHECK.fullmatch(text_of(clause))) for table, clause in session.query(query, dataset))
    return frozenset((table, match["name"].replace('""', '"')) for table, match in rows if match)


def _translate(error: Any, task: str, address: ServerAddress, hint: str | None = None) -> DestinationError:
    number, message_text = (error.args[0], str(error.args[1])) if len(error.args) == 2 else (0, str(error))
    message = without_password(" ".join(message_text.split()), address)
    if number in _OF_VALUES:
        message = shown_error(message)
    kind = LockNotAvailable if number in _LOCKED else DestinationError
    return kind(f"cannot {task} in `{address.shown}`: {message}", hint=_HINTS.get(number, hint))


def parse_address(url: str) -> ServerAddress:
    """Parse an address, whose path names the dataset, too; raises ``InputError`` if it cannot be read."""
    address = parse_server_address(url, "MySQL")
    unknown = next((key for key in address.parameters if key not in (*_TAKEN, "port", "dbname")), None)
    if unknown:
        raise InputError(
            f"`{unknown}` is not a parameter of `mysql`", hint=f"known: {', '.join(('dataset', *_TAKEN[3:]))}"
        )
    return ServerAddress(address.parameters, address.dataset or address.parameters.get("dbname"), address.shown)


@contextmanager
def open_session(address: ServerAddress) -> Iterator[MySqlSession]:
    """Open a connection; writes of a load are rolled back unless it commits."""
    with driver("pymysql", "mysql"):
        import pymysql
    parameters: dict[str, Any] = {key: value for key, value in address.parameters.items() if key in _TAKEN}
    try:
        connection = pymysql.connect(
            **parameters,
            port=int(address.parameters.get("port", 0)),
            charset="utf8mb4",
            connect_timeout=_CONNECT_SECONDS,
            autocommit=False,
        )
    except pymysql.Error as error:
        raise _translate(error, "reach the server", address) from None
    session = MySqlSession(connection, address)
    try:
        with session.wrap_errors("begin"):
            # Datasets that are made keep all of Unicode, and distinguish texts as dlt does.
            session.execute(
                f"SET SESSION sql_mode = '{_MODES}', SESSION time_zone = '+00:00', "
                "SESSION character_set_server = 'utf8mb4', SESSION collation_server = 'utf8mb4_bin'"
            )
            session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        yield session
    finally:
        connection.close()
