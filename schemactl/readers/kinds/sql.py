"""SQL files: ``sql:queries/**/*.sql``. Each file is a reader."""

from __future__ import annotations

from schemactl.errors import Location
from schemactl.readers.sql_uses import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import fill_in
from schemactl.review.readers import Blindness, Reader, Readership, merge
from schemactl.store.file_trees import FileTree


def read(where: str, tables: ReadTables, dialect: str | None, files: FileTree) -> Readership | None:
    """Return the uses in all files that a pattern names (``*``, ``**``, ``?``); a folder means its ``.sql`` files.

    Raises:
        InputError: there are too many files.
    """
    readerships = []
    for file in files.find(where, ".sql"):
        path = file.path.as_posix()
        if file.fault is None:
            readerships.append(read_file(path, file.text, tables, dialect))
        else:
            blindness = Blindness(Reader("query", path, Location(path)), file.fault, location=Location(path))
            readerships.append(Readership(blind=(blindness,)))
    return merge(readerships) if readerships else None


def read_file(path: str, text: str, tables: ReadTables, dialect: str | None) -> Readership:
    """Return the uses in the text of one file."""
    reader = Reader("query", path, Location(path))
    sql, unknown_line = fill_in(text)
    readership = read_sql(sql, reader, tables, dialect)
    if unknown_line is None:
        return readership
    blindness = Blindness(reader, "a template that may be any SQL", location=Location(path, unknown_line))
    return merge((readership, Readership(blind=(blindness,))))
