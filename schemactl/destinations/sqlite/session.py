"""A connection to a SQLite file, as loading and migrating see it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from schemactl.destinations._address import FileAddress
from schemactl.destinations._busy import is_busy
from schemactl.destinations._package import StagedTable
from schemactl.destinations._session import Relation, SqlDefaults, quote
from schemactl.destinations.sqlite.catalogue import MAIN, has_tables, recover
from schemactl.destinations.sqlite.conversion import SECONDS, register, stored_rows
from schemactl.destinations.sqlite.types import NAMES, column_type
from schemactl.errors import DestinationError
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column

_RELATIONS: Final = """
    select tables.name, tables.type = 'table', columns.name, columns.type
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type in ('table', 'view') and tables.name not like 'sqlite\\_%' escape '\\'
        and (:folded is null or lower(tables.name) = lower(:folded))
    order by tables.rowid, columns.cid
"""

_NAMES: Final = r"""
    select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\_%' escape '\'
"""


@dataclass(frozen=True, slots=True)
class SqliteDatabase(SqlDefaults):
    """A connection on which every statement is kept at once, but within a transaction; see ``_session.Session``."""

    connection: sqlite3.Connection
    address: FileAddress
    path: Path

    @property
    def dialect(self) -> str:
        return "sqlite"

    @property
    def shown(self) -> str:
        return str(self.address)

    def column_type(self, column: Column) -> str:
        return column_type(column)

    def execute(self, statement: str) -> int:
        return max(self.connection.execute(statement).rowcount, 0)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()

    def insert(self, target: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        places = ", ".join("?" for _ in columns)
        found = [[_stored(value) for value in row] for row in rows]
        self.connection.executemany(f"INSERT INTO {target} ({listed}) VALUES ({places})", found)

    def datasets(self) -> list[str]:
        return [MAIN]

    def relations(self, dataset: str, folded: str | None = None) -> Mapping[str, Relation]:  # noqa: ARG002
        columns: dict[tuple[str, bool], dict[str, str]] = {}
        for table, is_table, name, kind in self.connection.execute(_RELATIONS, {"folded": folded}).fetchall():
            columns.setdefault((table, bool(is_table)), {})[name] = kind
        return {name.lower(): Relation(name, is_table, held) for (name, is_table), held in columns.items()}

    def relation_names(self, dataset: str) -> list[str]:  # noqa: ARG002
        return [row[0] for row in self.connection.execute(_NAMES).fetchall()]

    def relation(self, dataset: str, name: str) -> Relation | None:
        found = self.relations(dataset, name).values()
        return next((each for each in found if each.name == name), None)

    @property
    def names(self) -> NameLimits:
        return NAMES

    @property
    def makes_unique(self) -> bool:
        return False

    @property
    def has_merge_statement(self) -> bool:
        return False

    @property
    def tie(self) -> str:
        return "n.rowid"

    @property
    def takes_moments_as_texts(self) -> bool:
        return True

    def grown_type(self, column: Column, there: str) -> None:  # noqa: ARG002 - structs are JSON texts
        return None

    def stage(self, name: str, staged: StagedTable) -> None:
        columns = ", ".join(f"{quote(column.name)} {column_type(column)}" for column in staged.table.columns.values())
        self.execute(f"CREATE TEMPORARY TABLE {quote(name)} ({columns})")
        self.append(quote(name), staged)

    def append(self, target: str, staged: StagedTable) -> int:
        listed = ", ".join(quote(name) for name in staged.table.columns)
        places = ", ".join("?" for _ in staged.table.columns)
        statement = f"INSERT INTO {target} ({listed}) VALUES ({places})"
        return sum(max(self.connection.executemany(statement, rows).rowcount, 0) for rows in stored_rows(staged))

    def lock(self, dataset: str) -> None:
        """Do nothing: whoever has the file open for writing is alone."""

    def seconds_of(self, value: str) -> str:
        return f"{SECONDS}({value})"

    @contextmanager
    def wrap_errors(self, task: str, hint: str | None = None) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            found = "another process has it open: end that first, or wait" if is_busy(error) else hint
            raise DestinationError(f"cannot {task} in `{self.path}`: {error}", hint=found) from error


def _stored(value: Any) -> Any:
    """Return a value as dlt's loader stores it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return value


_COMMIT_SECONDS: Final = 5.0
"""How long readers wait at least: without a write-ahead log each commit of others locks them out for a moment."""


@contextmanager
def open_database(
    address: FileAddress, path: Path, *, patience: float = 0.0, is_read_only: bool = False
) -> Iterator[SqliteDatabase]:
    """Open a file; who may write is alone until the connection ends, however it ends.

    To read, a file that is not there is an empty one.

    Args:
        address: for messages.
        path: of the dataset's own file.
        patience: seconds to wait for another process.
        is_read_only: whether nothing is written.

    Raises:
        DestinationError: it cannot be opened, or another process holds it.
    """
    is_new = not path.exists()
    if is_read_only:
        recover(path)
    if is_read_only:
        patience = max(patience, _COMMIT_SECONDS)
    mode = "ro" if is_read_only else "rwc"
    place = "file::memory:" if is_new and is_read_only else f"{path.absolute().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(place, uri=True, timeout=patience, isolation_level=None)
    except sqlite3.Error as error:
        raise DestinationError(f"cannot open `{path}`: {error}") from error
    try:
        with closing(connection):
            # A blob that stands in a text column is shown as well as it can be.
            connection.text_factory = lambda text: text.decode(errors="replace")
            register(connection)
            database = SqliteDatabase(connection, address, path)
            if not is_read_only:
                with database.wrap_errors("take the lock"):
                    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
                    connection.execute("BEGIN EXCLUSIVE")
                    connection.execute("COMMIT")
            yield database
    finally:
        if is_new and not is_read_only and path.exists() and not has_tables(path):
            path.unlink()
