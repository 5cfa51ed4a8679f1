"""Checks the files that SQLite and DuckDB keep next to a database before they open it: journals and logs.

They read, write and remove these files by name, so a writer to the folder can replace them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from schemactl.destinations._folder import link_error
from schemactl.errors import DestinationError

_SQLITE: Final = ("-journal", "-wal", "-shm")
_DUCKDB: Final = (".wal", ".tmp")

_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_END: Final = 16
"""Bytes at the end of a journal that names a super-journal: the name's length, a checksum, the mark."""
_SUPER_JOURNAL: Final = re.compile(r"-mj[0-9A-F]{6}9[0-9A-F]{2}")
"""How SQLite ends the name of a journal of several files that one transaction writes to."""


def check_sqlite_files(database: Path) -> None:
    """Find out whether SQLite can open a database without touching files elsewhere.

    SQLite removes the super-journal that a journal names once it has rolled the journal back, whatever file that is
    (https://www.sqlite.org/atomiccommit.html, "Multi-file Commit").
    """
    _refuse_links(database, _SQLITE)
    journal_name = _super_journal(Path(f"{database}-journal"))
    if journal_name is None:
        return
    super_journal = Path(journal_name)
    is_beside = super_journal.resolve().parent == database.resolve().parent
    if not (is_beside and _SUPER_JOURNAL.search(super_journal.name)):
        message = f"the journal `{database}-journal` makes SQLite delete `{journal_name}`, which is not its own file"
        raise DestinationError(message, hint="delete the journal, and check who can write to the folder")


def check_duckdb_files(database: Path) -> None:
    """Raise ``DestinationError`` if a file or folder that DuckDB writes to next to a database is a link."""
    _refuse_links(database, _DUCKDB)


def _refuse_links(database: Path, endings: tuple[str, ...]) -> None:
    for ending in endings:
        beside = Path(f"{database}{ending}")
        if beside.is_symlink():
            raise link_error(beside)


def _super_journal(journal: Path) -> str | None:
    """Return the file that a journal of SQLite names at its end; None without one."""
    if not journal.is_file():
        return None
    try:
        with journal.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _END, 0))
            end = file.read(_END)
            length = int.from_bytes(end[:4], "big")
            if len(end) < _END or end[8:] != _MAGIC or not 0 < length <= size - _END:
                return None
            file.seek(size - _END - length)
            return file.read(length).decode(errors="surrogateescape")
    except FileNotFoundError:
        return None  # its writer has committed since
    except OSError as error:
        raise DestinationError(f"cannot read `{journal}`: {error.strerror or error}") from error
