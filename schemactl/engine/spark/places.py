"""Where records are in the input: the columns that say so in Spark's frames."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FILE: Final = "__schemactl_file"
"""The column of frames that names the file; too odd a name for data to have."""


class Numbering(StrEnum):
    """Names the place of a row as well as Spark knows it; it logs an error where it is asked for more."""

    BLOCK = "_metadata.file_block_start"
    """Where in the file the task that reads it began."""
    PARTITION = "partition"
    """No more than the task that reads it."""


def place_of(numbering: Numbering) -> tuple[Column, Column]:
    """Return the columns ``file`` and ``block`` (``kernel.partitions.read_rows``)."""
    return F.col(FILE).alias("file"), block_column(numbering).alias("block")


def block_column(numbering: Numbering) -> Column:
    """Return the number of the block that a row is in."""
    block = F.spark_partition_id() if numbering is Numbering.PARTITION else F.col(numbering)
    return block.cast("bigint")


def place_columns(records: DataFrame) -> tuple[Column, Column, Column]:
    """Return the columns ``file``, ``block`` and ``id`` of records as they come out of a reader of files."""
    # By its name alone, a column of the data could be taken for it.
    metadata = records.metadataColumn("_metadata")
    return (
        metadata["file_path"].alias("file"),
        metadata["file_block_start"].alias("block"),
        F.monotonically_increasing_id().alias("id"),
    )
