"""Counts the values of documents by path and class, with their ranges, examples and first places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from schemactl.engine import walk
from schemactl.engine.families import number_family, text_family
from schemactl.engine.shapes import Shape
from schemactl.engine.walk import list_values
from schemactl.inference.classes import KEYED_OBJECT, LIST, NULL, OBJECT, classify
from schemactl.inference.evidence import ClassEvidence, Position
from schemactl.inference.paths import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands, as Spark knows it: file, block of the file, id within the block."""

    file: str
    block: int
    id: int


def count_values(documents: DataFrame, shape: Shape) -> Iterator[tuple[Path, str, Place, ClassEvidence]]:
    """Yield evidence of each class at each path, one item for each block of the input.

    Args:
        documents: columns ``file``, ``block``, ``id`` and ``document``, of the type ``document_type(shape)``.
        shape: everything that ``document`` can hold.
    """
    listing = list_values(shape, "document")
    groups = documents.select(*_PLACE, F.explode(F.expr(listing.sql)).alias("group"))
    items = groups.select(*_PLACE, F.explode("group").alias("item")).where("item is not null")
    for row in _group(items.select(*_PLACE, "item.*")).toLocalIterator():
        place = Place(row.file, row.block, row.first)
        yield listing.paths[row.node], _class_of(row), place, _evidence_of(row)


_PLACE = ("file", "block", "id")


def _group(values: DataFrame) -> DataFrame:
    kind, text = F.col("kind"), F.col("text")
    is_nested = kind.isin(walk.OBJECT_KIND, walk.KEYED_KIND, walk.LIST_KIND)
    is_number = kind.isin("BIGINT", "DOUBLE") | kind.startswith("DECIMAL")
    group = F.when(text.isNull() & ~is_nested, walk.NULL_KIND).when(is_number, _NUMBER).otherwise(kind)
    family = F.when(kind == "STRING", text_family(text)).when(is_number, number_family(text, kind))
    length = F.when(is_nested, F.col("length")).otherwise(F.length(text))
    number = F.when(is_number, text.try_cast("double"))
    # Only numbers are aggregated: an aggregate over texts makes Spark sort all values.
    return values.groupBy("file", "block", "node", group.alias("kind"), family.alias("family")).agg(
        F.count("*").alias("count"),
        F.min("id").alias("first"),
        F.min(length).alias("shortest"),
        F.max(length).alias("longest"),
        F.min(number).alias("least"),
        F.max(number).alias("greatest"),
    )


_NUMBER = "NUMBER"


def _class_of(row: Row) -> str:
    match row.kind:
        case walk.NULL_KIND:
            return NULL
        case walk.OBJECT_KIND:
            return OBJECT
        case walk.KEYED_KIND:
            return KEYED_OBJECT
        case walk.LIST_KIND:
            return LIST
        case "BOOLEAN":
            return classify(True)
        case "NUMBER":
            return classify(json.loads(row.family))
        case _:
            return classify(row.family)


def _evidence_of(row: Row) -> ClassEvidence:
    has_length = row.kind in ("STRING", walk.LIST_KIND)
    return ClassEvidence(
        count=row["count"],
        first=Position("", 0),
        shortest=row.shortest if has_length else None,
        longest=row.longest if has_length else None,
        least=row.least,
        greatest=row.greatest,
    )
