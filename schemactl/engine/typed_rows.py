"""Rows whose columns state their types, with their places, and the sample of them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemactl.engine.codegen import whole_stages
from schemactl.engine.input_formats import FILE, Numbering, Typed
from schemactl.engine.inputs import shown_path
from schemactl.inference.evidence import FileEvidence

BLOCK: Final = "__schemactl_block"
"""Where in the file the task that read a row began; 0 where rows have numbers of their own."""

ID: Final = "__schemactl_id"
"""Ascending by one within a block."""

TAKEN: Final = "__schemactl_taken"
"""Whether a row is in the sample."""

_BUCKETS: Final = 1_000_000


def is_sampled(share: float, *columns: str) -> Column:
    """Return whether a record is taken, told by ``columns``: the same ones at any time, spread over all files."""
    return F.pmod(F.xxhash64(*columns), F.lit(_BUCKETS)) < round(share * _BUCKETS) if share < 1 else F.lit(True)


def placed(batch: Typed, share: float = 1.0) -> DataFrame:
    """Return the rows with the columns ``BLOCK``, ``ID`` and ``TAKEN`` beside them."""
    match batch.numbering:
        case Numbering.ROW:
            block, number = F.lit(0), F.col(Numbering.ROW)
        case Numbering.BLOCK:
            block, number = F.col(Numbering.BLOCK), F.monotonically_increasing_id()
        case Numbering.PARTITION:
            block, number = F.spark_partition_id(), F.monotonically_increasing_id()
    rows = batch.frame.select("*", block.cast("bigint").alias(BLOCK), number.alias(ID))
    return rows.select("*", is_sampled(share, FILE, BLOCK, ID).alias(TAKEN))


def count_rows(batch: Typed, share: float = 1.0) -> dict[str, FileEvidence]:
    """Return how many rows there are and how many are taken, by input."""
    # No column is read where all rows are taken.
    rows = batch.frame.withColumn(TAKEN, F.lit(True)) if share == 1 else placed(batch, share)
    by_file = rows.groupBy(FILE).agg(F.count("*").alias("rows"), F.count_if(TAKEN).alias("taken"))
    with whole_stages(rows.sparkSession):
        counts = by_file.collect()
    return {shown_path(row[FILE]): FileEvidence(documents=row["taken"], records=row["rows"]) for row in counts}
