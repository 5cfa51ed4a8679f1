"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.parquet_faults import unreadable_rows
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch, read_agreeing


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together; a column that only some have is one of all.

    If files do not agree about a type, those with the same columns come together.
    """
    allow_all_types(spark)
    for file in inputs:
        _check(file)
    reader = spark.read.option("mergeSchema", True)
    for frame, _ in read_agreeing([file.address for file in inputs], lambda *addresses: reader.orc(list(addresses))):
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
