"""Name the place of a record by the columns that Spark knows beside the data of a file."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def place_columns(records: DataFrame) -> tuple[Column, Column, Column]:
    """Return the columns ``file``, ``block`` and ``id`` of records as they come out of a reader of files."""
    # By its name alone, a column of the data could be taken for it.
    metadata = records.metadataColumn("_metadata")
    return (
        metadata["file_path"].alias("file"),
        metadata["file_block_start"].alias("block"),
        F.monotonically_increasing_id().alias("id"),
    )


def whole_file_place_columns(number: Column) -> tuple[Column, Column, Column]:
    """Return the same for records that were cut out of a file in one piece; ``number`` counts them from 0."""
    return F.col("file"), F.lit(0).cast("bigint").alias("block"), number.cast("bigint").alias("id")
