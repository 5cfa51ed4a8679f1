"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow
import pyarrow.orc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.parquet_faults import unreadable_rows
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch, read_agreeing


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together; a column of some files becomes a column of all rows.

    If files disagree about a type, they are grouped by their columns.
    """
    allow_all_types(spark)
    for file in inputs:
        if file.is_local:
            _check(file)
    reader = spark.read.option("mergeSchema", True)
    for frame, _ in read_agreeing([file.address for file in inputs], lambda *addresses: reader.orc(list(addresses))):
        yield columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK)


def _check(file: Input) -> None:
    """Raise an error for a file without a footer, which Spark would report as an internal failure."""
    try:
        pyarrow.orc.ORCFile(file.path)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable_rows(file.path, error) from error
