"""Reads the tables of SQLite files, without writing to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final

from schemactl.destinations._address import FileAddress, file_address
from schemactl.destinations._catalogue import (
    VERSIONS_TABLE,
    Catalogue,
    choose_dataset,
    column_of,
    hashes_of,
    keeps_versions,
    keys_of,
    schema_name,
    schema_of,
)
from schemactl.destinations.sqlite.types import kind_of, kind_of_key
from schemactl.errors import DestinationError

_COLUMNS: Final = """
    select tables.name, columns.name, columns.type, columns."notnull", columns.pk
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\' and columns.hidden <> 1
    order by tables.rowid, columns.cid
"""

_UNIQUE: Final = """
    select tables.name, indexes.name, columns.name
    from sqlite_master as tables
        join pragma_index_list(tables.name) as indexes join pragma_index_info(indexes.name) as columns
    where tables.type = 'table' and indexes."unique" and indexes.origin <> 'pk' and not indexes.partial
"""

MAIN: Final = "main"
_WAL_MARK: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, by the types that they were declared with; nothing is written.

    Raises:
        InputError: the address is wrong, there is no such file, or it names no dataset.
        DestinationError: SQLite cannot read the file.
    """
    address = file_address(url)
    files = {name: path for name, path in files_of(address.path) if has_tables(path)}
    dataset = choose_dataset(files, address.dataset, str(address))
    path = files[dataset]
    with _opened(path) as connection:
        return read_connection(connection, address, dataset, path)


def read_connection(connection: Connection, address: FileAddress, dataset: str, path: Path) -> Catalogue:
    """Return the tables of an open file; ``address`` and ``path`` are for names and messages."""
    rows = connection.execute(_COLUMNS).fetchall()
    primary = [(table, True, [name]) for table, name, _, _, place in rows if place]
    unique: dict[tuple[str, str], list[str]] = {}
    for table, index, name in connection.execute(_UNIQUE).fetchall():
        unique.setdefault((table, index), []).append(name)
    keys = keys_of([*primary, *((table, False, names) for (table, _), names in unique.items())])
    stated: list[tuple[Any, ...]] = []
    if keeps_versions(row[:2] for row in rows):
        newest_first = f"select schema_name, version_hash from {VERSIONS_TABLE} order by inserted_at desc"
        stated = connection.execute(newest_first).fetchall()
    several = {table for table, place in ((row[0], row[4]) for row in rows) if place > 1}
    columns = (
        (
            table,
            column_of(
                name, kind_of_key(of) if place and table not in several else kind_of(of), not forbids, keys.get(table)
            ),
        )
        for table, name, of, forbids, place in rows
    )
    name = schema_name({row[0] for row in stated}, path.stem if dataset == MAIN else dataset)
    return Catalogue(schema_of(name, columns), f"{address}?dataset={dataset}", hashes_of(stated))


def files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the datasets of a file with their own files, those without tables too."""
    yield MAIN, path
    start = f"{path.stem}__"
    for beside in sorted(path.parent.iterdir()):
        if beside.suffix == path.suffix and beside.stem.startswith(start):
            yield beside.stem.removeprefix(start), beside


def has_tables(path: Path) -> bool:
    """Return whether a file that is there holds tables."""
    if path.stat().st_size == 0:
        return False
    with _opened(path) as connection:
        return bool(connection.execute("select 1 from sqlite_master where type = 'table' limit 1").fetchall())


@contextmanager
def _opened(path: Path) -> Iterator[Connection]:
    recover(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{_mode(path)}", uri=True)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise DestinationError(f"cannot read `{path}`: {error}") from error


def recover(path: Path) -> None:
    """Take back what a killed writer has left half done: who opens a file for reading only could not, nor read it."""
    if not path.with_name(f"{path.name}-journal").exists():
        return
    # A file that may not be written, or that somebody writes: reading it says so.
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("select 1 from sqlite_master limit 1").fetchall()


def _mode(path: Path) -> str:
    # A reader of a database with a write-ahead log would make that log where it is not there; then nobody writes.
    with path.open("rb") as file:
        has_log = file.read(_WAL_MARK.stop)[_WAL_MARK] == _WAL
    is_quiet = has_log and not path.with_name(f"{path.name}-wal").exists()
    return "mode=ro&immutable=1" if is_quiet else "mode=ro"
