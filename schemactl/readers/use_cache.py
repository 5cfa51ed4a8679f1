"""Caches which columns SQL texts use, in a SQLite database of the user.

An entry is compressed JSON, whose checksum tells a damaged entry: it counts as missing. Nothing in an entry is
executed. A cache that cannot be read or written is no error: its texts are parsed again.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

FILE_NAME: Final = "readers.sqlite"

MAX_BYTES: Final = 64 << 20
"""Of entries; the longest unused ones go first."""

_MAX_FILE_BYTES: Final = 4 * MAX_BYTES
"""Of the database: a larger one is not ours, or is damaged."""

_SECONDS_PER_DAY: Final = 86_400
_KEYS_PER_QUERY: Final = 500
_WAIT_SECONDS: Final = 2.0

_CREATE: Final = """
create table if not exists entry (
    key blob primary key, content blob not null, size integer not null, used_day integer not null
) without rowid
"""


def read_entries(folder: Path, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the contents of entries by key, without entries that are missing or damaged."""
    contents: dict[bytes, bytes] = {}
    path = folder / FILE_NAME
    if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
        return contents
    day = _today()
    try:
        with _connection(path) as connection:
            old_keys = []
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                chunk = keys[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(chunk))
                query = f"select key, content, used_day from entry where key in ({marks})"
                for key, content, used_day in connection.execute(query, chunk):
                    if (expanded := _expand(content)) is not None:
                        contents[key] = expanded
                    if used_day != day:
                        old_keys.append((day, key))
            if old_keys:
                connection.executemany("update entry set used_day = ? where key = ?", old_keys)
    except sqlite3.Error:
        return contents
    return contents


def write_entries(folder: Path, contents: Mapping[bytes, bytes]) -> None:
    """Add entries, and drop the longest unused ones if there are too many."""
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.is_file() and path.stat().st_size > _MAX_FILE_BYTES:
            path.unlink()
        _write(path, contents)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            return  # locked, or on a disk that is full or read-only
        try:
            path.unlink(missing_ok=True)  # damaged: the next run begins with an empty cache
        except OSError:
            return
    except OSError:
        return


def _write(path: Path, contents: Mapping[bytes, bytes]) -> None:
    with _connection(path) as connection:
        connection.execute(_CREATE)
        day = _today()
        entries = [(key, zlib.compress(content, level=1)) for key, content in contents.items()]
        rows = [(key, content, len(key) + len(content), day) for key, content in entries]
        connection.executemany("insert or replace into entry values (?, ?, ?, ?)", rows)
        (size,) = connection.execute("select coalesce(sum(size), 0) from entry").fetchone()
        if size <= MAX_BYTES:
            return
        dropped_keys = []
        for key, entry_size in connection.execute("select key, size from entry order by used_day, key"):
            if size <= MAX_BYTES * 3 // 4:
                break
            dropped_keys.append((key,))
            size -= entry_size
        connection.executemany("delete from entry where key = ?", dropped_keys)


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, and commit at the end: an entry is written fully or not at all."""
    with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as connection, connection:
        yield connection


def _expand(content: object) -> bytes | None:
    try:
        return zlib.decompress(content) if isinstance(content, bytes) else None
    except zlib.error:
        return None


def _today() -> int:
    return int(time.time() // _SECONDS_PER_DAY)
