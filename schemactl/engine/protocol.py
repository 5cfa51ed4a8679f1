"""The protocol between flows and engines: an engine reads inputs as batches and runs kernel functions over them.

A batch is some inputs of one format that are read together. Its records lie in partitions, which only its engine knows;
a kernel function (``schemactl.kernel``) is called once for each partition with Arrow record batches. Spark
(``engine.spark``) distributes partitions over its workers, the local engine (``engine.local``) over processes of this
machine. The same data gives the same answers on both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from schemactl.arc.fields import TypingTask
from schemactl.schema.paths import Path
from schemactl.schema.types import Table

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.kernel.cells import CsvLayout
    from schemactl.kernel.partitions import Gaps

Records: TypeAlias = Any
"""Partitions of records, as one engine has them: a Spark DataFrame, or recipes for record batches."""


@dataclass(frozen=True, slots=True)
class RowRecords:
    """Rows whose columns have types, as ``kernel.partitions.read_rows`` reads them.

    Attributes:
        records: the partitions.
        names: the names of the columns.
        json_paths: paths whose values are JSON texts (Spark's VARIANT).
    """

    records: Records
    names: tuple[str, ...]
    json_paths: frozenset[Path] = frozenset()


class DocumentBatch(ABC):
    """JSON documents, or rows of texts that become documents.

    Attributes:
        gaps: rows of the files that are not documents (``kernel.partitions.row_number``); None if files have no rows.
    """

    __slots__ = ()
    gaps: Gaps | None

    @property
    @abstractmethod
    def has_columns(self) -> bool:
        """Whether the documents are rows of texts, which a typing takes a column at a time."""

    @abstractmethod
    def csv_layout(self) -> CsvLayout | None:
        """Return the layout of CSV that the kernel reads a column at a time; None for other documents."""

    @abstractmethod
    def records(self) -> Records:
        """Return the batches that ``kernel.partitions.records_of`` reads."""

    @abstractmethod
    def typed_by(self, task: TypingTask) -> TextBatch:
        """Return the columns of the rows that a typing is about, in its order."""


class RowBatch(ABC):
    """Rows whose source declares the types of their columns.

    Attributes:
        nulls: whether columns may be null, if the source declares it, by path.
    """

    __slots__ = ()
    nulls: Mapping[Path, bool]

    @abstractmethod
    def column_types(self) -> dict[Path, dict[str, Any]]:
        """Return the dlt properties of every column, nested ones too, by path."""

    @abstractmethod
    def count_by_block(self) -> dict[tuple[str, int], int]:
        """Return the number of rows by file (as shown to people) and block; no column is read."""

    @abstractmethod
    def rows(self, keys: Set[str | None] | None = None) -> RowRecords:
        """Return the rows.

        Args:
            keys: the columns that are read; None for all.
        """

    @abstractmethod
    def typed_by(self, task: TypingTask) -> TextBatch:
        """As of ``DocumentBatch``."""

    @abstractmethod
    def warn_of_nanoseconds(self) -> None:
        """Warn of timestamps that only columns with nanoseconds keep whole."""


class TextBatch(ABC):
    """Texts that a typing gives types; columns that have their type already are among them.

    Attributes:
        gaps: as in ``DocumentBatch``.
        task: how texts are typed.
    """

    __slots__ = ()
    gaps: Gaps | None
    task: TypingTask

    @abstractmethod
    def texts(self) -> RowRecords:
        """Return the columns in the order of the typing, and after them why a row is bad."""


Batch: TypeAlias = "DocumentBatch | RowBatch"


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The places of a table's rows if a merge keeps one row for each primary key.

    Attributes:
        folder: the address of the folder that has the files.
        files: the name of the Parquet file with the places of a partition's rows, by the partition's number: columns
            ``c0``, ``c1`` ... (``columns``, as in ``kernel.ordering.comparable``), ``ordinal``, and ``file``, ``line``,
            ``indexes`` and ``list``, the place of a row in the input (``kernel.rows.RowMaker``).
        columns: the names of the columns that identify and order rows.
        table: the table, with its primary key and the order of its rows.
    """

    folder: str
    files: Mapping[int, str]
    columns: Sequence[str]
    table: Table


class Engine(Protocol):
    """Reads inputs and runs kernel functions over their partitions."""

    @property
    def name(self) -> str:
        """``spark`` or ``local``."""
        ...

    @property
    def session_origin(self) -> str:
        """Whose open Spark session this is, for people; empty if the engine was opened for one call."""
        ...

    def read(self, inputs: Sequence[Input], null_values: Sequence[str] = ()) -> list[Batch]:
        """Return the inputs as batches, by format; nothing is read except metadata.

        Args:
            inputs: files and tables.
            null_values: strings that mean null in rows of strings.
        """
        ...

    def run(self, records: Records, module: str, function: str, /, **arguments: Any) -> list[Any]:
        """Return the result of ``module.function(batches, **arguments)`` for each partition."""
        ...

    def distribute(self, texts: Sequence[str]) -> Records:
        """Return texts as partitions, in a column ``part``."""
        ...

    def explaining(self, inputs: Sequence[Input]) -> AbstractContextManager[None]:
        """Name these inputs in errors of the engine that are raised in the block."""
        ...

    def write_superseded(self, places: RowPlaces, target: FilePath) -> bool:
        """Write the rows that another row with the same primary key supersedes; return whether any row is superseded.

        Of several rows with one key, the first by the table's ``dedup_sort``, then by its position in the input, is
        kept.

        Args:
            places: the positions of the rows.
            target: a folder for Parquet files with the columns ``part`` (number of the partition) and ``ordinal``.
        """
        ...
