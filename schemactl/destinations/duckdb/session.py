"""One transaction on a DuckDB file, as loading sees it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import FileAddress
from schemactl.destinations._catalogue import driver
from schemactl.destinations._database_files import check_duckdb_files
from schemactl.destinations._errors import wrap_errors
from schemactl.destinations._load import LACKS_VALUE
from schemactl.destinations._session import BATCH_ROWS, Relation, Session
from schemactl.destinations._structure import Clash, grown
from schemactl.destinations.duckdb.types import NAMES, WIDER, column_type, duckdb_type, spelt, structure_in
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.normalization.package import StagedTable
from schemactl.schema.nested_types import structure_of
from schemactl.schema.quoting import literal, quote
from schemactl.schema.types import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OFFLINE: Final[Mapping[str, Any]] = {"autoinstall_known_extensions": "false"}
"""Nothing is fetched from the network: all needed extensions come with the package."""
_ALIAS: Final = "_schemactl_file"
"""The file's name within the session. Its own would make `shop.orders` ambiguous in `shop.duckdb`."""

_MACROS: Final = "SELECT function_name FROM duckdb_functions() WHERE database_name = ? AND schema_name = 'main'"
_BUILTIN: Final = "SELECT lower(function_name) FROM duckdb_functions() WHERE database_name = 'system'"

_DATASETS: Final = """
    select schema_name from duckdb_schemas()
    where database_name = current_database() and schema_name not in ('information_schema', 'pg_catalog')
    order by oid
"""

_COLUMNS: Final = """
    select c.table_name, t.table_oid is not null, true, c.column_name, c.data_type
    from duckdb_columns() c left join duckdb_tables() t using (database_name, schema_name, table_name)
    where database_name = current_database() and lower(schema_name) = lower(?)
    order by c.table_name, c.column_index
"""

_NAMES: Final = """
    select schema_name, table_name from duckdb_tables()
    where database_name = current_database() and ($1 is null or lower(schema_name) = lower($1))
    union all
    select schema_name, view_name from duckdb_views()
    where database_name = current_database() and not internal and ($1 is null or lower(schema_name) = lower($1))
"""

_VIEW: Final = """
    select view_name from duckdb_views()
    where database_name = current_database() and lower(schema_name) = lower(?)
        and lower(view_name) = lower(?)
"""

_IS_EMPTY: Final = """
    select not exists (from duckdb_schemas() where database_name = current_database() and not internal)
        and not exists (from duckdb_tables() where database_name = current_database())
        and not exists (from duckdb_views() where database_name = current_database() and not internal)
"""

_HINTS: Final[dict[str, str]] = {
    "No space left": "free space on the disk, then load again",
    "File too large": "free space on the disk, then load again",
    "Permission denied": "check the rights of the file and its folder",
    "Cannot open file": "check the rights of the file and its folder",
    "not a valid DuckDB": "use a DuckDB file, or a new file name",
    "NOT NULL constraint failed": LACKS_VALUE,
    "Out of Memory": "add memory, or load fewer files at a time",
}


_QUOTED: Final = re.compile(r'"[^"]*"')
"""Names of files and tables, which can contain any words."""

_ROWS_AT_ONCE: Final = 100
_PAUSE_SECONDS: Final = 0.2
_IN_USE: Final = "IO Error: Could not set lock on file"
_END_FIRST: Final = "another process has the file open: end it first, as DuckDB allows one writer"


@dataclass(frozen=True, slots=True)
class DuckDbSession(Session):
    """A transaction that is open; see ``destinations._session.Session``."""

    dialect = "duckdb"
    names = NAMES
    datasets_query = _DATASETS

    connection: DuckDBPyConnection
    address: FileAddress

    def column_type(self, column: Column) -> str:
        return column_type(column)

    def grown_type(self, column: Column, stored_type: str) -> str | Clash | None:
        old, ours = structure_in(stored_type), structure_of(column)
        if old is None or ours is None:
            return None
        new = grown(old, ours, WIDER)
        return new if isinstance(new, Clash) else duckdb_type(new) if new != old else None

    def moment_of(self, value: str) -> str:
        return f"epoch_us({value})"

    def execute(self, statement: str) -> int:
        row = self.connection.execute(statement).fetchone()
        return row[0] if row and isinstance(row[0], int) else 0

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        # DuckDB plans a statement again for each row: of many rows at once it takes a tenth of the time.
        start, values, of_row = statement.rpartition(" VALUES ")
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            of_rows = ", ".join([of_row] * len(some))
            self.connection.execute(f"{start}{values}{of_rows}", [value for row in some for value in row])
        return len(rows)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.execute(statement, values or None).fetchall()
        return rows

    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        result = self.connection.execute(statement)
        while rows := result.fetchmany(BATCH_ROWS):
            yield from rows

    def list_relations(self, dataset: str | None) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.query(_NAMES, dataset)]

    def columns(self, dataset: str, folded: str | None) -> list[tuple[str, bool, bool, str | None, str]]:
        if folded is None:
            return [(*row[:3], row[3], spelt(row[4])) for row in self.query(_COLUMNS, dataset)]
        relation_names = [name for name in self.relation_names(dataset) if name.lower() == folded.lower()]
        return [row for name in relation_names for row in self._columns_of(dataset, name)]

    def relation(self, dataset: str, name: str) -> Relation | None:
        rows = self._columns_of(dataset, name)
        return Relation(name, rows[0][1], {column: kind for *_, column, kind in rows}) if rows else None

    def _columns_of(self, dataset: str, name: str) -> list[tuple[str, bool, bool, str, str]]:
        # Of each list of tables or columns DuckDB makes all before it leaves any out: 15 ms of 1,000 tables.
        import duckdb

        full_name = ".".join(quote(name_part) for name_part in (_ALIAS, dataset, name))
        try:
            columns = self.query("select name, type from pragma_table_info(?)", full_name)
        except duckdb.CatalogException:
            return []
        is_table = not self.query(_VIEW, dataset, name)
        return [(name, is_table, True, column, spelt(kind)) for column, kind in columns]

    def use_file(self) -> None:
        """Find names in the file again, whatever custom SQL has set."""
        self.execute(f"USE {quote(_ALIAS)}")

    def is_empty(self) -> bool:
        """Return whether nothing was ever put into the file."""
        return self.query(_IS_EMPTY) == [(True,)]

    def stage(self, name: str, staged: StagedTable) -> None:
        self.execute(f"CREATE TEMPORARY VIEW {quote(name)} AS {_select(staged)}")

    def append(self, target: str, staged: StagedTable) -> int:
        columns = ", ".join(quote(name) for name in staged.table.columns)
        return self.execute(f"INSERT INTO {target} ({columns}) {_select(staged)}")

    def translate_error(self, error: Exception, task: str, hint: str | None) -> DestinationError | None:
        return translate_error(self.address, error, task, hint)


def _select(staged: StagedTable) -> str:
    """Return the query of a staged table's rows, with dlt's types of its columns."""
    columns = ", ".join(
        f"CAST({quote(column.name)} AS {column_type(column)}) AS {quote(column.name)}"
        for column in staged.table.columns.values()
    )
    # DuckDB takes every path for a pattern.
    paths = (
        "".join(f"[{character}]" if character in "[*?" else character for character in str(file.absolute()))
        for file in staged.files
    )
    files = ", ".join(map(literal, paths))
    return f"SELECT {columns} FROM read_parquet([{files}], hive_partitioning = false)"


_OF_VALUES: Final = ("ConversionException", "ConstraintException", "InvalidInputException", "OutOfRangeException")
"""Errors of DuckDB that quote values."""


def translate_error(
    address: FileAddress, error: Exception, task: str, hint: str | None = None
) -> DestinationError | None:
    """Return our error for DuckDB's; None for any other error."""
    import duckdb

    if not isinstance(error, duckdb.Error | OSError):
        return None
    error_hint = next((known_hint for text, known_hint in _HINTS.items() if text in _QUOTED.sub("", str(error))), hint)
    error_hint = _END_FIRST if is_lock(error) else error_hint
    return DestinationError(f"cannot {task} in `{address}`: {first_line(error)}", hint=error_hint)


def first_line(error: BaseException) -> str:
    """Return the first line of DuckDB's message, without values that must not be shown."""
    first = next(iter(str(error).splitlines()), "")
    return shown_error(first) if type(error).__name__ in _OF_VALUES else first


def is_in_use(error: DestinationError) -> bool:
    """Return whether it is that another process has the file open."""
    return is_lock(error.__cause__)


def is_lock(error: BaseException | None) -> bool:
    """Return whether DuckDB's error means that another process has the file open."""
    # DuckDB's errors have no codes: the class, and how it begins before it names the file.
    return type(error).__name__ == "IOException" and str(error).startswith(_IN_USE)


@contextmanager
def open_session(address: FileAddress, *, is_read_only: bool = False) -> Iterator[DuckDbSession]:
    """Open a transaction on a file; closing the connection rolls back uncommitted changes.

    For reading, a missing file is an empty one.
    """
    with driver("duckdb", "duckdb"):
        import duckdb
    config = {**OFFLINE, "temp_directory": f"{address.path}.tmp"}
    is_empty = is_read_only and not address.path.exists()
    check_duckdb_files(address.path)
    with duckdb.connect(config=config) as connection:
        with wrap_errors(lambda error: translate_error(address, error, "open a table")):
            path = ":memory:" if is_empty else str(address.path.absolute())
            attach(connection, path, is_read_only=is_read_only and not is_empty)
            # Files may contain timestamps without their zone; all of them are in UTC.
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("BEGIN TRANSACTION")
        yield DuckDbSession(connection, address)


def attach(connection: DuckDBPyConnection, path: str, *, is_read_only: bool) -> None:
    """Attach a file, and use it; raises DuckDB's errors if it cannot be opened."""
    # Without the type, DuckDB opens some files of other formats as a database in memory.
    mode = "TYPE duckdb, READ_ONLY" if is_read_only else "TYPE duckdb"
    connection.execute(f"ATTACH {literal(path)} AS {quote(_ALIAS)} ({mode})")
    _check_macros(connection)
    connection.execute(f"USE {quote(_ALIAS)}")


def _check_macros(connection: DuckDBPyConnection) -> None:
    """Refuse a file whose macros are called like functions, or operators, of DuckDB's own; it is not in use yet.

    DuckDB would call them in our statements (``count_star`` for ``count(*)``), and a macro may read any file.
    """
    macros = {name for (name,) in connection.execute(_MACROS, (_ALIAS,)).fetchall()}
    # Few files have macros, and reading the names of all functions takes as long as opening a file.
    builtin = {name for (name,) in connection.execute(_BUILTIN).fetchall()} if macros else frozenset()
    shadowing = sorted(name for name in macros if name.lower() in builtin)
    if shadowing:
        macro_list = ", ".join(f"`{name}`" for name in shadowing)
        message = f"macros of the file would be called in the place of DuckDB's own functions: {macro_list}"
        raise DestinationError(message, hint=f"DROP MACRO main.{quote(shadowing[0])}; or: DROP MACRO TABLE")


@contextmanager
def await_session(address: FileAddress, patience: float, *, is_read_only: bool = False) -> Iterator[DuckDbSession]:
    """Open a transaction on a file as soon as no other process has it open, within ``patience`` seconds."""
    end = time.monotonic() + patience
    with ExitStack() as stack:
        while True:
            try:
                session = stack.enter_context(open_session(address, is_read_only=is_read_only))
                break
            except DestinationError as error:
                if not is_in_use(error) or time.monotonic() >= end:
                    raise
                time.sleep(_PAUSE_SECONDS)
        yield session
