"""Lines of JSON (NDJSON, JSON Lines): one document a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from schemactl.engine.input import Input
from schemactl.engine.input_formats import Documents
from schemactl.engine.reading.texts import read_lines

ENDINGS = (".jsonl", ".ndjson", ".jl")


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the lines as documents."""
    for lines in read_lines(spark, inputs):
        yield Documents(lines)
