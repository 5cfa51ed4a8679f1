"""CSV with tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from schemactl.engine.csv_header import SEPARATORS
from schemactl.engine.input import TEXTS, Input
from schemactl.engine.input_formats import Documents, csv

ENDINGS = TEXTS["tsv"]


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the rows of the files."""
    yield from csv.read(spark, inputs, SEPARATORS["tsv"])
