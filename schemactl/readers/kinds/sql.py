"""SQL files: ``sql:queries/**/*.sql``. Each file is a reader."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Final

from schemactl.errors import InputError, Location
from schemactl.readers.sql_uses import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import fill_in
from schemactl.review.readers import Blindness, Reader, Readership, merge
from schemactl.store.text import read_text

MAX_FILES: Final = 20_000


def read(where: str, tables: ReadTables, dialect: str | None) -> Readership:
    """Return the uses in all files that a pattern names (``*``, ``**``, ``?``); a folder means its ``.sql`` files.

    Raises:
        InputError: no file, or more than ``MAX_FILES``, or one cannot be read.
    """
    pattern = f"{where.rstrip('/')}/**/*.sql" if Path(where).is_dir() else where
    names = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    paths = [Path(name) for name in names if Path(name).is_file()]
    if not paths:
        raise InputError(f"no file matches `{where}`", hint="quote the pattern: `--readers 'sql:queries/**/*.sql'`")
    if len(paths) > MAX_FILES:
        raise InputError(f"`{where}` matches {len(paths):,} files, more than {MAX_FILES:,}")
    return merge(read_file(path.as_posix(), read_text(path), tables, dialect) for path in paths)


def read_file(path: str, text: str, tables: ReadTables, dialect: str | None) -> Readership:
    """Return the uses in the text of one file."""
    reader = Reader("query", path, Location(path))
    sql, unknown_line = fill_in(text)
    readership = read_sql(sql, reader, tables, dialect)
    if unknown_line is None:
        return readership
    blindness = Blindness(reader, "a template that may be any SQL", location=Location(path, unknown_line))
    return merge((readership, Readership(blind=(blindness,))))
