"""CSV with tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from schemactl.engine.csv_header import SEPARATORS
from schemactl.engine.input import Input
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.input_formats import csv


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the rows of the files."""
    yield from csv.read(spark, inputs, SEPARATORS["tsv"])
