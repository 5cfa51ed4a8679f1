"""Avro files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.avro_files import read_header, same_columns
from schemactl.engine.input import Input
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch, described_columns
from schemactl.engine.spark.sql import quoted

_READER: Final = "org.apache.spark.sql.avro.AvroFileFormat"
"""Spark has the reader, but its short name `avro` only with a package of its own."""


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of the files, those whose schemas have the same fields together; files elsewhere all together.

    A column of nulls alone is left out, as dlt leaves it.
    """
    allow_all_types(spark)
    groups = same_columns({file.address: read_header(file) for file in inputs if file.is_local})
    far = [file.address for file in inputs if not file.is_local]
    for addresses in (*groups, far):
        if addresses:
            frame = spark.read.format(_READER).load(addresses)
            names = [name for name, of in described_columns(frame) if of != "void"]
            frame = frame.select(*(F.col(quoted(name)) for name in names))
            yield columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK)
