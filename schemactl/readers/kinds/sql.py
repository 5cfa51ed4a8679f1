"""SQL files: ``sql:queries/**/*.sql``. Each file is a reader."""

from __future__ import annotations

from dataclasses import replace

from schemactl.errors import Location
from schemactl.readers.sql_graph import SqlNode, read_sql_graph
from schemactl.readers.sql_texts import SqlText
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
    readership = read_sql_graph([SqlNode(text) for text in texts])
    return replace(readership, blind=(*readership.blind, *blind))
