"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.parquet_faults import unreadable_rows
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import columnar_batch


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together; a column that only some have is one of all."""
    for each in inputs:
        _check(each)
    frame = spark.read.option("mergeSchema", True).orc([each.address for each in inputs])
    yield columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK)


def _check(file: Input) -> None:
    """Refuse a file that has no footer: Spark takes it for a failure of its own."""
    import pyarrow
    import pyarrow.orc

    if not file.is_local:
        return
    try:
        pyarrow.orc.ORCFile(file.path)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable_rows(file.path, error) from error
