"""Plain text: a row for each line, in the column ``value``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.reading.files import read_files, split_inputs
from schemactl.engine.spark.reading.texts import read_lines
from schemactl.kernel.files import Form


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the lines as documents ``{"value": line}``."""
    worker_inputs, spark_inputs = split_inputs(spark, inputs)
    yield from read_files(spark, worker_inputs, Form.TEXTS)
    for frame in read_lines(spark, spark_inputs):
        value = F.to_json(F.struct(F.col("text").alias("value")))
        yield Documents(frame.select("file", "block", "id", value.alias("text")))
