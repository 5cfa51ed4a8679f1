"""What a table format must be able to do so that migrations can be carried out on it. Nothing here knows a format.

No format has a transaction over several tables: a step is kept at once, whole or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from schemactl.destinations import Catalogue
from schemactl.destinations._lake.table import FilesTable
from schemactl.migration.abilities import Way
from schemactl.migration.records import Blocker
from schemactl.migration.steps import DescribeTable, Step
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow


class LakeStore(ABC):
    """A dataset. All methods raise ``DestinationError`` where they fail, and then nothing has changed.

    Attributes:
        read: each table as of the commit that its rows were last read of. A rewrite replaces this one and no other:
            where another program has committed since, it fails, and rows of that program stay.
    """

    __slots__ = ()

    read: dict[str, Any]

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The dataset's name."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """The dataset's address without a password and a dataset."""

    @abstractmethod
    def read_catalogue(self) -> Catalogue:
        """Return the tables as they are now, ours (``_schemactl_…``) among them; none where nothing is there."""

    @abstractmethod
    def table(self, name: str) -> FilesTable:
        """Return a table that is there, as it is now.

        Raises:
            InputError: a folder has no such table; catalogs and logs raise ``DestinationError``.
        """

    def fields(self, table: str) -> pyarrow.Schema:
        """Return a table's columns as new files are to hold them, with what the format keeps beside them."""
        return self.table(table).fields

    @abstractmethod
    def field(self, column: Column, before: pyarrow.Field | None = None) -> pyarrow.Field:
        """Return a column as new files are to hold it.

        Args:
            column: with its new type.
            before: the column whose place it takes: what people have said of that one stays. None for a new one.
        """

    def row_count(self, table: str) -> int:
        """Return how many rows a table holds, by what its files say of themselves."""
        return self.table(table).row_count()

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        """Return all rows of a table in the types of ``fields``; columns that a file lacks are null."""
        opened = self.read[table] = self.table(table)
        return opened.batches(columns)

    @abstractmethod
    def find_table_blocker(self, step: Step, way: Way) -> Blocker | None:
        """Return why a table does not take a step about its columns, by the way that the format does it.

        The step's column may not be there yet.
        """

    @abstractmethod
    def create(self, table: Table) -> None:
        """Make a table without rows."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table with its files."""

    @abstractmethod
    def rename(self, before: str, after: str) -> None:
        """Give a table another name."""

    @abstractmethod
    def describe(self, step: DescribeTable) -> None:
        """Set the descriptions of a table and of its columns; asked only where ``Abilities`` say that it can."""

    @abstractmethod
    def alter(self, step: Step) -> None:
        """Do a step about a column by the catalog alone; asked only where ``Abilities`` say that it can."""

    @abstractmethod
    def rewrite(self, table: str, fields: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]) -> None:
        """Put rows in the place of all rows of a table, and columns in the place of its columns, in one commit."""
