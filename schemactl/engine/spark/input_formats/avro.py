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
"""Spark contains the reader, but its short name `avro` only works with an extra package."""


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of the files, grouped by the fields of their schemas; remote files form one group.

    A column with only nulls is left out, as in dlt.
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
