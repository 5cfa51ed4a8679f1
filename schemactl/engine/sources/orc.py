"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.sources import Numbering, Typed
from schemactl.engine.sources._typed import typed

ENDINGS = (".orc",)


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Typed]:
    """Yield the rows of all files together; a column that only some have is one of all."""
    frame = spark.read.option("mergeSchema", True).orc([each.address for each in inputs])
    yield typed(frame, F.col("_metadata.file_path"), Numbering.BLOCK)
