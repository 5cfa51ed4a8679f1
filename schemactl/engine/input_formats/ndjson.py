"""Lines of JSON (NDJSON, JSON Lines): one document a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemactl.engine.input import UTF8, Input
from schemactl.engine.input_formats import Documents
from schemactl.engine.reading.places import place_columns
from schemactl.engine.reading.texts import by_encoding, read_lines

ENDINGS = (".jsonl", ".ndjson", ".jl")


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the lines as documents."""
    for encoding, files in by_encoding(inputs).items():
        parsed = partial(_read_objects, spark, [each.address for each in files]) if encoding == UTF8 else None
        yield from (Documents(lines, parsed) for lines in read_lines(spark, files))


def _read_objects(spark: SparkSession, paths: list[str], objects: StructType) -> DataFrame:
    """Read lines by Spark's reader of JSON: from the bytes, in half the time that ``from_json`` takes for texts."""
    lines = spark.read.schema(objects).option("mode", "DROPMALFORMED").json(paths)
    return lines.select(*place_columns(lines), F.struct("*").alias("document"))
