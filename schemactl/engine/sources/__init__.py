"""The formats that data is read from, one module each.

A source module holds ``ENDINGS`` (of file names, lower case, with the dot) and ``read(spark, inputs)``, which gives
batches: ``Documents`` where the data has to be looked at, ``Typed`` where it states its own types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from schemactl.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from schemactl.engine.input import Input


@dataclass(frozen=True, slots=True)
class Documents:
    """JSON documents.

    Attributes:
        frame: columns ``file`` (string: Spark's address of it), ``block`` (bigint: where in the file the task that
            read it began), ``id`` (bigint, ascending by one within a block), ``text`` (string: one JSON document,
            blank where there is none).
    """

    frame: DataFrame


class Numbering(StrEnum):
    """What Spark knows of the place of a row in what it reads; it logs an error where it is asked for more."""

    ROW = "_metadata.row_index"
    """Its number in the file, from 0."""
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
    """

    frame: DataFrame
    numbering: Numbering


FILE = "__schemactl_file"
"""The column of ``Typed.frame`` that tells the file; too odd a name for data to have."""

Batch: TypeAlias = "Documents | Typed"


class Source(Protocol):
    """What a source module offers."""

    ENDINGS: tuple[str, ...]

    def read(self, spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Batch]:
        """Yield the inputs as batches; nothing is read yet."""
        ...


SOURCES: Registry[Source] = Registry("input format", "schemactl.engine.sources")
