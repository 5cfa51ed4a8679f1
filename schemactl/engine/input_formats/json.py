"""JSON files of one document each: an object is one record, a list has a record for each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.input_formats import Documents
from schemactl.engine.parse import parse_json
from schemactl.engine.reading.places import whole_file_place_columns
from schemactl.engine.reading.texts import read_whole

ENDINGS = (".json",)

MOST_VARIANT_BYTES = 100_000_000
"""A VARIANT holds up to 128 MiB; of a longer list, what follows it is overlooked."""


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the documents; a file that is no JSON comes as one text."""
    for frame in read_whole(spark, inputs):
        records = frame.select("file", F.posexplode(_records(F.col("content"))).alias("number", "text"))
        yield Documents(records.select(*whole_file_place_columns(F.col("number")), "text"))


def _records(content: Column) -> Column:
    # Only the elements as texts have their keys in order; but among them texts have lost their quotes.
    listed = F.zip_with(
        F.from_json(content, "array<variant>"),
        F.from_json(content, "array<string>"),
        lambda element, text: (
            F.when(F.schema_of_variant(element) == "STRING", F.to_json(element))
            .when(text.isNull(), F.lit("null"))
            .otherwise(text)
        ),
    )
    is_whole = parse_json(content).isNotNull() | (F.octet_length(content) > MOST_VARIANT_BYTES)
    return F.when(content.rlike(r"^\s*\[") & is_whole & listed.isNotNull(), listed).otherwise(F.array(content))
