"""Input formats: what data is read from (``--input-format``), one module each, named as users name the format.

To add one, add a module here (or in a package of your own, by the entry-point group ``schemactl.input_format``) with

- ``ENDINGS``: how names of its files end, lower case, with the dot, a compression's ending left off;
- ``read(spark, inputs)``: yields batches, without starting to read: ``Documents`` where the data has to be looked at
  for its types, ``Typed`` where it states them.

Nothing else has to know of it. ``engine.reading`` helps: a format whose lines are JSON once they are rewritten takes
``texts.read_lines``, one that Spark reads as rows of texts ``rows.rows_as_documents``, one with types
``typed.typed_batch``; ``ndjson``, ``xml`` and ``orc`` are examples of each. A format that is recognized from the
first bytes needs a line in ``MAGIC`` of ``engine.input``. docs/extending.md shows one from end to end.

A SOURCE is something else: what a user names (a file, a folder, a glob, a table). ``engine.inputs`` finds its files,
each an ``Input`` with its input format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from schemactl.registry import Registry
from schemactl.schema.typing.model import TypingTask

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from schemactl.engine.input import Input
    from schemactl.kernel.cells import CsvLayout
    from schemactl.kernel.files import FilePart
    from schemactl.kernel.partitions import Gaps


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows of texts as they come out of a reader of files.

    Attributes:
        texts: SQL of each column's texts, nulls in the place of texts that stand for them.
        cells: the columns that are taken of a row, by key, in order.
        fault: why a row is bad, in words that are no JSON; null for a good one. None where all are good.
    """

    frame: DataFrame
    texts: Mapping[str, str]
    cells: Mapping[str, str]
    fault: Column | None = None


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of texts that workers read of files by themselves.

    Attributes:
        shares: what each task reads; all parts are of one layout.
    """

    shares: tuple[tuple[FilePart, ...], ...]
    layout: CsvLayout

    def with_layout(self, layout: CsvLayout) -> FileRows:
        """Return the same files with another layout."""
        return FileRows(tuple(tuple(replace(part, layout=layout) for part in parts) for parts in self.shares), layout)


@dataclass(frozen=True, slots=True)
class Documents:
    """JSON documents.

    Attributes:
        frame: columns ``file`` (string: Spark's address of it), ``block`` (bigint: where in the file the task that
            read it began), ``text`` (string: one JSON document, blank where there is none), in the order of the file;
            or what workers read by themselves (``kernel.files``).
        rows: the same as columns of texts, where they were made of those.
        gaps: rows of the files that are no documents (``row_number``); None where files have no rows.
        is_for_workers: whether the frame is one of shares or pieces of ``kernel.files``.
    """

    frame: DataFrame
    rows: TextRows | FileRows | None = None
    gaps: Gaps | None = None
    is_for_workers: bool = False

    def records(self) -> DataFrame:
        """Return what ``kernel.partitions.records_of`` reads."""
        if self.is_for_workers:
            return self.frame
        return self.frame.selectExpr("file", "block", "cast(text as binary) as text")


class Numbering(StrEnum):
    """Names the place of a row as well as Spark knows it; it logs an error where it is asked for more."""

    BLOCK = "_metadata.file_block_start"
    """Where in the file the task that reads it began."""
    PARTITION = "partition"
    """No more than the task that reads it."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Rows whose columns have types of their own.

    Attributes:
        frame: the columns, and ``file`` beside them under the name in ``FILE``.
        numbering: what rows can be numbered by.
        task: how texts are typed, where they are to be: then the columns are those of the typing, in its order, named
            ``c0``, ``c1`` and so on, and ``FAULT`` stands beside them; or the frame is one of shares, which have these
            columns (``Documents.is_for_workers``).
        gaps: as of ``Documents``.
        is_for_workers: as of ``Documents``.
    """

    frame: DataFrame
    numbering: Numbering
    task: TypingTask | None = None
    gaps: Gaps | None = None
    is_for_workers: bool = False


FAULT = "__schemactl_fault"
"""The column of ``Typed.frame`` that says why a row is bad, null for a good one; only where texts are typed."""


FILE = "__schemactl_file"
"""The column of ``Typed.frame`` that names the file; too odd a name for data to have."""

Batch: TypeAlias = "Documents | Typed"


class InputFormat(Protocol):
    """The functions and constants of an input format's module."""

    ENDINGS: tuple[str, ...]

    def read(self, spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Batch]:
        """Yield the inputs as batches; nothing is read yet."""
        ...


INPUT_FORMATS: Registry[InputFormat] = Registry("input format", "schemactl.engine.input_formats")
"""All input formats by name."""
