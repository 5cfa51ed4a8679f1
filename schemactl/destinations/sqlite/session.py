"""A connection to a SQLite file, as loading and migrating see it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemactl.destinations._address import FileAddress, is_busy
from schemactl.destinations._database_files import check_sqlite_files
from schemactl.destinations._folder import is_link, link_error
from schemactl.destinations._load import LACKS_VALUE
from schemactl.destinations._session import Session
from schemactl.destinations.sqlite.conversion import register, stored_decimal
from schemactl.destinations.sqlite.types import NAMES, column_type
from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable
from schemactl.schema.types import Column

MAIN: Final = "main"
_WAL_MARK: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"

_COLUMNS: Final = """
    select tables.name, tables.type = 'table', true, columns.name, columns.type
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type in ('table', 'view') and tables.name not like 'sqlite\\_%' escape '\\'
        and (?1 is null or lower(tables.name) = lower(?1))
    order by tables.rowid, columns.cid
"""

_NAMES: Final = r"""
    select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\_%' escape '\'
"""


_HAS_VIRTUAL_TABLES: Final = "select 1 from sqlite_master where type = 'table' and sql like 'create virtual %' limit 1"


@dataclass(frozen=True, slots=True)
class SqliteDatabase(Session):
    """A connection on which every statement is kept at once, but within a transaction; see ``_session.Session``."""

    dialect = "sqlite"
    names = NAMES
    has_merge_statement = False
    has_short_floats = False
    takes_moments_as_texts = True
    tie = "n.rowid"

    connection: sqlite3.Connection
    address: FileAddress
    path: Path

    def column_type(self, column: Column) -> str:
        return column_type(column)

    def execute(self, statement: str) -> int:
        return max(self.connection.execute(statement).rowcount, 0)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        return max(self.connection.executemany(statement, rows).rowcount, 0)

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, values).fetchall()

    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(statement)

    def datasets(self) -> list[str]:
        return [MAIN]

    def list_relations(self, dataset: str | None) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(MAIN, row[0]) for row in self.query(_NAMES)]

    def columns(self, dataset: str, folded: str | None) -> list[tuple[str, bool, bool, str | None, str]]:  # noqa: ARG002
        return [(*row[:3], row[3], row[4]) for row in self.query(_COLUMNS, folded)]

    def stored_rows(self, staged: StagedTable) -> Iterator[list[tuple[Any, ...]]]:
        from schemactl.destinations._rows import stored_rows

        return stored_rows(staged, stored_decimal)

    def moment_of(self, value: str) -> str:
        return value  # a text

    def translate_error(self, error: Exception, task: str, hint: str | None) -> DestinationError | None:
        if not isinstance(error, sqlite3.Error | OSError):
            return None
        error_hint = "another process has it open: end that first, or wait" if is_busy(error) else hint
        error_hint = LACKS_VALUE if "NOT NULL constraint failed" in str(error) else error_hint
        return DestinationError(f"cannot {task} in `{self.path}`: {error}", hint=error_hint)


_COMMIT_SECONDS: Final = 5.0
"""How long readers wait at least: without a write-ahead log each commit locks them out briefly."""


@contextmanager
def open_database(
    address: FileAddress, path: Path, *, patience: float = 0.0, is_read_only: bool = False
) -> Iterator[SqliteDatabase]:
    """Open the file of a dataset; a connection that can write keeps other writers out until it ends, even by a kill.

    For reading, a missing file is an empty one. It waits ``patience`` seconds for another process.
    """
    check_sqlite_files(path)
    is_new = not path.exists()
    if is_read_only:
        recover(path)
        patience = max(patience, _COMMIT_SECONDS)
    mode = "ro" if is_read_only else "rwc"
    uri = "file::memory:" if is_new and is_read_only else f"{path.absolute().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    except sqlite3.Error as error:
        raise DestinationError(f"cannot open `{path}`: {error}") from error
    try:
        with closing(connection):
            # A blob in a text column is shown as well as it can be.
            connection.text_factory = lambda text: text.decode(errors="replace")
            register(connection)
            database = SqliteDatabase(connection, address, path)
            if not is_read_only:
                with database.wrap_errors("take the lock"):
                    connection.execute("BEGIN EXCLUSIVE")
                    # Not earlier: in this mode a waiting session still holds its read lock, which a committing writer
                    # waits for.
                    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
                    connection.execute("COMMIT")
            with database.wrap_errors("read the file"):
                distrust(connection)
            yield database
    finally:
        if is_new and not is_read_only and path.exists() and not has_tables(path):
            path.unlink()


def distrust(connection: sqlite3.Connection) -> None:
    """Withdraw rights that a file's views and triggers do not need (https://www.sqlite.org/security.html)."""
    connection.execute("PRAGMA cell_size_check = ON").fetchall()
    # Older SQLites refuse full-text search in views and triggers without that trust; of ours they would call functions
    # that only convert values.
    is_trusted = connection.execute(_HAS_VIRTUAL_TABLES).fetchone() is not None
    connection.execute(f"PRAGMA trusted_schema = {'ON' if is_trusted else 'OFF'}").fetchall()
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)


def files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the datasets of a file with their own files, including datasets without tables; links do not count."""
    yield MAIN, path
    if not path.parent.is_dir():
        return
    start = f"{path.stem}__"
    for beside in sorted(path.parent.iterdir()):
        if beside.suffix == path.suffix and beside.stem.startswith(start) and not is_link(beside):
            yield beside.stem.removeprefix(start), beside


def dataset_file(path: Path, dataset: str) -> Path:
    """Return the file of a dataset next to another file; raises ``DestinationError`` if it is a link."""
    file = path.with_name(f"{path.stem}__{dataset}{path.suffix}")
    if is_link(file):
        raise link_error(file)
    return file


def has_tables(path: Path) -> bool:
    """Return whether an existing file holds tables."""
    if path.stat().st_size == 0:
        return False
    with reading(path) as connection:
        return bool(connection.execute("select 1 from sqlite_master where type = 'table' limit 1").fetchall())


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file for reading only, after rolling back the transaction of a killed writer."""
    recover(path)
    try:
        # A reader of a database with a write-ahead log would create a missing log; without a log there is no writer.
        with path.open("rb") as file:
            has_log = file.read(_WAL_MARK.stop)[_WAL_MARK] == _WAL
        is_quiet = has_log and not path.with_name(f"{path.name}-wal").exists()
        mode = "mode=ro&immutable=1" if is_quiet else "mode=ro"
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as connection:
            distrust(connection)
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise DestinationError(f"cannot read `{path}`: {error}") from error


def recover(path: Path) -> None:
    """Roll back the transaction of a killed writer, which a read-only connection could not do, nor read the file."""
    check_sqlite_files(path)
    if not path.with_name(f"{path.name}-journal").exists():
        return
    # Errors of a read-only or busy file are reported when it is read.
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("select 1 from sqlite_master limit 1").fetchall()
