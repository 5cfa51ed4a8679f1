"""Reads who reads the tables of a schema: one module for each kind of source, found by its name.

To add a kind, add a module with ``read`` as in ``ReaderKind`` to ``readers/kinds``. Third parties use the entry-point
group ``schemactl.reader_kind``.
"""

from __future__ import annotations

from typing import Protocol

from schemactl.readers.tables import ReadTables
from schemactl.registry import Registry
from schemactl.review.readers import Readership
from schemactl.store.file_trees import FileTree


class ReaderKind(Protocol):
    """A module that knows one kind of source: a project of dbt, SQL files ..."""

    def read(self, where: str, tables: ReadTables, dialect: str | None, files: FileTree) -> Readership | None:
        """Return the uses of tables by the readers that a source holds; None if the source does not exist.

        Args:
            where: the source, as the user names it after the kind and the colon.
            tables: the tables to look for.
            dialect: sqlglot's name of the SQL dialect; None for the one that the source names, or sqlglot's own.
            files: the files of the working folder, or of the git revision whose readers are requested. A source that
                is built, and so is in no revision, is read from disk.

        Raises:
            InputError: the source cannot be read. A single reader in it that cannot be understood is reported as
                ``Blindness`` instead.
        """
        ...


READER_KINDS: Registry[ReaderKind] = Registry("reader kind", "schemactl.readers.kinds")
"""All kinds by name."""
