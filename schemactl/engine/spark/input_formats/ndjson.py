"""Lines of JSON (NDJSON, JSON Lines): one document a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.reading.files import read_files, split_inputs
from schemactl.engine.spark.reading.texts import read_lines
from schemactl.engine.spark.shipping import for_workers
from schemactl.kernel.files import TEXTS, Form


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the lines as documents; workers read files unless only Spark can."""
    worker_inputs, spark_inputs = split_inputs(spark, inputs)
    yield from read_files(spark, worker_inputs, Form.LINES)
    if spark_inputs:
        selection = spark_inputs[0].selection
        for lines in read_lines(spark, spark_inputs):
            if selection is not None:
                texts = lines.selectExpr("file", "block", "cast(text as binary) as text")
                select = for_workers(spark, "schemactl.kernel.files", "select_texts", selection=selection)
                yield Documents(texts.mapInArrow(select, TEXTS))
            else:
                yield Documents(lines)
