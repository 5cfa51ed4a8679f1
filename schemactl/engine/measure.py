"""Counts the values of documents by path and class, with their ranges, examples and first places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from schemactl.engine import walk
from schemactl.engine.detections import detect_installed, has_installed_detectors
from schemactl.engine.families import LARGE_KIND, is_number_kind, number_family, text_family
from schemactl.engine.large_integers import is_marked
from schemactl.engine.parts import PLACE, Part, Read, node_columns, read_folded
from schemactl.engine.shapes import ANY_KEY, Shape, pruned
from schemactl.inference.classes import KEYED_OBJECT, LIST, NULL, OBJECT, classify, kind_of
from schemactl.inference.evidence import ClassEvidence, Position
from schemactl.inference.paths import Path
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands, as Spark knows it: file, block of the file, id within the block."""

    file: str
    block: int
    id: int


def count_values(
    read: Read, shape: Shape, null_keys: Set[str] | None = None
) -> Iterator[tuple[Path, str, Place, ClassEvidence]]:
    """Yield evidence of each class at each path, one item for each block of the input.

    Args:
        read: reads the documents.
        shape: everything that they can hold.
        null_keys: as in ``read_folded``.
    """

    def may_be_null(path: Path) -> bool:
        # Any key may stand in place of a folded one.
        return null_keys is None or path[-1] in null_keys or (path[-1] == ANY_KEY and bool(null_keys))

    for part in read_folded(read, shape, null_keys):
        for items, listing in part.list_apart():
            counted = _group(unmark(items))
            with part.stages(counted.sparkSession, listing):
                for row in counted.toLocalIterator():
                    path = (*part.base, *listing.path(row))
                    yield path, _class_of(row), Place(row.file, row.block, row.first), _evidence_of(row)
        for path, place, count in _count_nulls(part, may_be_null):
            yield path, NULL, place, ClassEvidence(count, Position("", 0))


def find_firsts(read: Read, shape: Shape, wanted: Set[Path]) -> Iterator[tuple[Path, str, Place]]:
    """Yield the first place of each kind of values at the paths that are wanted, one item for each block of the input.

    Args:
        read: reads the documents.
        shape: everything that they can hold.
        wanted: paths.
    """
    for part in read_folded(read, pruned(shape, wanted)):
        there = part.folded(wanted)
        if not there:
            continue
        others = frozenset(path for path, _ in part.shape.walk()) - there
        for items, listing in part.list_apart(others):
            firsts = items.groupBy("file", "block", *node_columns(items), "kind").agg(F.min("id").alias("first"))
            with part.stages(firsts.sparkSession, listing):
                for row in firsts.toLocalIterator():
                    path = (*part.base, *listing.path(row))
                    if path in wanted:
                        yield path, _kind_of(row.kind), Place(row.file, row.block, row.first)
        for path, place, _ in _count_nulls(part, there.__contains__):
            if path in wanted:
                yield path, NULL, place


def _count_nulls(part: Part, may_be_null: Callable[[Path], bool]) -> Iterator[tuple[Path, Place, int]]:
    """Yield the first place and the number of nulls in the place of objects and lists, by path and block.

    Apart from other values: Spark plans half a second to tell the families of these.
    """
    for nulls, listing in part.list_nulls(may_be_null):
        grouped = nulls.groupBy("file", "block", *node_columns(nulls))
        counted = grouped.agg(F.count("*").alias("count"), F.min("id").alias("first"))
        with part.stages(counted.sparkSession, listing):
            for row in counted.toLocalIterator():
                yield (*part.base, *listing.path(row)), Place(row.file, row.block, row.first), row["count"]


def unmark(values: DataFrame) -> DataFrame:
    """Return large integers as they were before ``mark_large_integers``."""
    kind, text = F.col("kind"), F.col("text")
    is_large = (kind == "STRING") & is_marked(text)
    return values.select(
        *PLACE,
        *node_columns(values),
        "length",
        F.when(is_large, LARGE_KIND).otherwise(kind).alias("kind"),
        F.when(is_large, F.substring(text, 2, 2**31 - 1)).otherwise(text).alias("text"),
    )


def _group(values: DataFrame) -> DataFrame:
    kind, text = F.col("kind"), F.col("text")
    is_text, is_number = kind == "STRING", is_number_kind(kind)
    # A step of its own: within the families it would be read anew for each of their bounds.
    number = F.when(kind == "BIGINT", text.try_cast("bigint").cast("double")).when(is_number, text.try_cast("double"))
    numbers = values.withColumn("number", number)
    family = F.when(is_text, text_family(text)).when(is_number, number_family(text, kind, F.col("number")))
    length = F.when(is_text, F.length(text)).otherwise(F.col("length"))
    told = numbers.select(
        *PLACE,
        *node_columns(values),
        F.when(is_number, _NUMBER).otherwise(kind).alias("kind"),
        family.alias("family"),
        length.alias("length"),
        "number",
        "text",
        *([detect_installed(text, is_text, is_number).alias(_DETECTED)] if has_installed_detectors() else []),
    )
    keys = ["file", "block", *node_columns(values), "kind", "family"]
    facts = [
        F.count("*").alias("count"),
        F.min("id").alias("first"),
        F.min("length").alias("shortest"),
        F.max("length").alias("longest"),
        F.min("number").alias("least"),
        F.max("number").alias("greatest"),
    ]
    if not has_installed_detectors():
        # Only numbers are aggregated: an aggregate over texts makes Spark sort all values.
        return told.groupBy(keys).agg(*facts)
    return told.groupBy([*keys, _DETECTED]).agg(*facts, F.any_value("text").alias("text"))


_NUMBER = "NUMBER"

_DETECTED = "detected"
"""What detectors of third parties say; only where there are any."""


def _class_of(row: Row) -> str:
    if _DETECTED in row and row[_DETECTED] is not None:
        return classify(row.text if row.kind == "STRING" else json.loads(row.text))
    match row.kind:
        case "BOOLEAN":
            return classify(True)
        case "NUMBER":
            return classify(json.loads(row.family))
        case "STRING":
            return classify(row.family)
        case kind:
            return _CLASSES[kind]


_CLASSES = {
    walk.NULL_KIND: NULL,
    walk.OBJECT_KIND: OBJECT,
    walk.KEYED_KIND: KEYED_OBJECT,
    walk.LIST_KIND: LIST,
}


def _kind_of(spark_kind: str) -> str:
    """Return the kind of a value by Spark's name of it; integers past 64 bits are not told from other numbers."""
    if spark_kind in _CLASSES:
        return kind_of(_CLASSES[spark_kind])
    return str(_SCALARS.get(spark_kind, DataType.DOUBLE))


_SCALARS = {"STRING": DataType.TEXT, "BIGINT": DataType.BIGINT, "BOOLEAN": DataType.BOOL}


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
