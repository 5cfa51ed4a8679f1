"""JSON files of one document each: an object is one record, a list has a record for each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.inputs import Input
from schemactl.engine.parse import parse_json
from schemactl.engine.sources import Documents
from schemactl.engine.sources._place import whole_file_place
from schemactl.engine.sources._text import read_whole

ENDINGS = (".json",)


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the documents; a file that is no JSON comes as one text."""
    for frame in read_whole(spark, inputs):
        records = frame.select("file", F.posexplode(_records(F.col("content"))).alias("number", "text"))
        yield Documents(records.select(*whole_file_place(F.col("number")), "text"))


def _records(content: Column) -> Column:
    document = parse_json(content)
    # Only the elements as texts have their keys in order and their numbers as written; but texts have lost their quotes.
    elements = F.try_variant_get(document, "$", "array<variant>")
    texts = F.from_json(content, "array<string>")
    listed = F.zip_with(
        elements,
        texts,
        lambda element, text: (
            F.when(F.schema_of_variant(element) == "STRING", F.to_json(element))
            .when(text.isNull(), F.lit("null"))
            .otherwise(text)
        ),
    )
    return F.when(elements.isNotNull(), listed).otherwise(F.array(content))
