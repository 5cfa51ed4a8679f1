"""Name the place of a record by the columns that Spark knows beside the data of a file."""

from __future__ import annotations

from pathlib import Path

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


def shown(file: Column) -> Column:
    """Return what ``input.shown_path`` gives for Spark's addresses of files."""
    # Unlike forms of browsers, addresses of files have no plus for a blank.
    path = F.try_url_decode(F.replace(F.regexp_replace(file, "^file:/*", "/"), F.lit("+"), F.lit("%2B")))
    here = f"{Path.cwd()}/"
    near = F.when(path.startswith(here), F.substring(path, len(here) + 1, 2**31 - 1)).otherwise(path)
    return F.when(file.startswith("file:"), near).otherwise(file)
