"""SQL files: ``sql:queries/**/*.sql``. Each file is a reader."""

from __future__ import annotations

from schemactl.errors import Location
from schemactl.readers.sql_texts import SqlText, read_sql_texts
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import fill_in
from schemactl.review.readers import Blindness, Reader, Readership
from schemactl.store.file_trees import FileTree


def read(where: str, tables: ReadTables, dialect: str | None, files: FileTree) -> Readership | None:
    """Return the uses in all files that a pattern names (``*``, ``**``, ``?``); a folder means its ``.sql`` files.

    Raises:
        InputError: there are too many files.
    """
    texts, blind = [], []
    has_files = False
    for file in files.find(where, ".sql"):
        has_files = True
        path = file.path.as_posix()
        reader = Reader("query", path, Location(path))
        sql, template_line = fill_in(file.text)
        if file.fault is not None:
            blind.append(Blindness(reader, file.fault, location=Location(path)))
        elif template_line is not None:
            blind.append(Blindness(reader, "a template that may be any SQL", location=Location(path, template_line)))
        texts.append(SqlText(sql, reader, tables, dialect))
    if not has_files:
        return None
    # Each file is another reader: no use is in two files.
    readerships = read_sql_texts(texts)
    uses = tuple(use for readership in readerships for use in readership.uses)
    return Readership(uses, (*(item for readership in readerships for item in readership.blind), *blind))
