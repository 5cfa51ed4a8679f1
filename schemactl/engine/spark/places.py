"""Positions of records in the input: the columns of Spark frames that contain them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FILE: Final = "__schemactl_file"
"""The column of frames that names the file; too odd a name for data to have."""


class Numbering(StrEnum):
    """The finest position of a row that Spark knows; Spark logs an error if asked for more."""

    BLOCK = "_metadata.file_block_start"
    """The offset in the file at which the reading task began."""
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
    # Not by name, because a column of the data could have the same name.
    metadata = records.metadataColumn("_metadata")
    return (
        metadata["file_path"].alias("file"),
        metadata["file_block_start"].alias("block"),
        F.monotonically_increasing_id().alias("id"),
    )
