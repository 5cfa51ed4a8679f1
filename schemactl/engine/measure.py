"""Counts the values of documents by path and class, with their ranges, examples and first places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from schemactl.engine import walk
from schemactl.engine.codegen import whole_stages
from schemactl.engine.detections import detect_installed, has_installed_detectors
from schemactl.engine.families import LARGE_KIND, number_family, text_family
from schemactl.engine.large_integers import is_marked
from schemactl.engine.shapes import Shape, cut_shape, pruned
from schemactl.engine.siblings import fold_keys, fold_path
from schemactl.engine.walk import Listing, document_type, list_raw_values, list_values
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


@dataclass(frozen=True, slots=True)
class Part:
    """Documents, or what lies deep in them, read with a type of their own.

    Attributes:
        documents: columns ``file``, ``block``, ``id`` and ``document``.
        shape: the shape of ``document``.
        base: where ``document`` stands.
        leave_out: paths in ``document`` that other parts tell about.
    """

    documents: DataFrame
    shape: Shape
    base: Path
    leave_out: Set[Path]

    def folded(self, paths: Iterable[Path]) -> set[Path]:
        """Return where in ``shape`` paths of whole documents are, those left out that this part does not tell about."""
        size = len(self.base)
        inside = (fold_path(self.shape, path[size:]) for path in paths if path[:size] == self.base)
        return {path for path in inside if path is not None} - self.leave_out


def read_folded(texts: DataFrame, shape: Shape) -> Iterator[Part]:
    """Yield what ``read_parts`` does, with the keys of objects that have many of them folded (``siblings``)."""
    return _parts(texts, shape, (), fold_keys)


def read_parts(texts: DataFrame, shape: Shape) -> Iterator[Part]:
    """Yield documents with all parts of them that are nested too deep to be walked together.

    Args:
        texts: columns ``file``, ``block``, ``id`` and ``text``, JSON documents.
        shape: everything that the documents can hold.
    """
    return _parts(texts, shape, (), lambda shape, _: shape)


def _parts(texts: DataFrame, shape: Shape, base: Path, fold: Callable[[Shape, Set[Path]], Shape]) -> Iterator[Part]:
    whole, deep = cut_shape(shape)
    top = fold(whole, deep.keys())
    documents = _read(texts, top)
    yield Part(documents, top, base, frozenset(deep))
    for path, inner in deep.items():
        items = explode_listing(documents, list_raw_values(top, "document", {path}))
        texts_there = items.select(*_PLACE, F.to_json("item").alias("text"))
        yield from _parts(texts_there, inner, (*base, *path), fold)


def _read(texts: DataFrame, shape: Shape) -> DataFrame:
    root = StructType([StructField("document", document_type(shape))])
    wrapped = F.concat(F.lit('{"document":'), "text", F.lit("}"))
    return texts.select(*_PLACE, F.from_json(wrapped, root).alias("root")).select(*_PLACE, "root.document")


def count_values(texts: DataFrame, shape: Shape) -> Iterator[tuple[Path, str, Place, ClassEvidence]]:
    """Yield evidence of each class at each path, one item for each block of the input.

    Args:
        texts: columns ``file``, ``block``, ``id`` and ``text``, JSON documents.
        shape: everything that the documents can hold.
    """
    for part in read_folded(texts, shape):
        listing = list_values(part.shape, "document", part.leave_out)
        counted = _group(unmark(describe_items(explode_listing(part.documents, listing), listing)))
        with _stages(texts.sparkSession, part):
            for row in counted.toLocalIterator():
                path = (*part.base, *listing.path(row))
                yield path, _class_of(row), Place(row.file, row.block, row.first), _evidence_of(row)


def find_firsts(texts: DataFrame, shape: Shape, wanted: Set[Path]) -> Iterator[tuple[Path, str, Place]]:
    """Yield the first place of each kind of values at the paths that are wanted, one item for each block of the input.

    Args:
        texts: as in ``count_values``.
        shape: everything that the documents can hold.
        wanted: paths.
    """
    for part in read_folded(texts, pruned(shape, wanted)):
        there = part.folded(wanted)
        if not there:
            continue
        listing = list_values(part.shape, "document", frozenset(path for path, _ in part.shape.walk()) - there)
        items = describe_items(explode_listing(part.documents, listing), listing)
        firsts = items.groupBy("file", "block", *_node(items), "kind").agg(F.min("id").alias("first"))
        for row in firsts.toLocalIterator():
            path = (*part.base, *listing.path(row))
            if path in wanted:
                yield path, _kind_of(row.kind), Place(row.file, row.block, row.first)


_PLACE = ("file", "block", "id")

_MOST_FIELDS = 30
"""Listing the values of wider documents makes a method too long for Java to compile well: it takes twice the time."""

_MOST_LEVELS = 16
"""Deeper documents make more code than it saves: 48 levels take twice the time, 200 fill a heap of 2 GiB."""


def _stages(spark: SparkSession, part: Part) -> AbstractContextManager[None]:
    levels = len(part.base) + max(len(path) for path, _ in part.shape.walk())
    return whole_stages(spark, _MOST_FIELDS) if levels <= _MOST_LEVELS else nullcontext()


def explode_listing(documents: DataFrame, listing: Listing) -> DataFrame:
    """Return a row for each value: its document's place, ``node``, ``item``, and ``keys`` if the listing has them."""
    arrays = documents.select(*_PLACE, F.explode(F.expr(listing.sql)).alias("array"))
    groups = arrays.select(*_PLACE, F.explode("array").alias("group"))
    first, step = F.col("group.first").alias("first"), F.col("group.step").alias("step")
    keys = [F.col("group.keys").alias("keys")] if listing.has_keys else []
    items = groups.select(*_PLACE, first, step, *keys, F.posexplode("group.items").alias("at", "item"))
    node = (F.col("first") + F.col("step") * F.col("at")).alias("node")
    return items.where("item is not null").select(*_PLACE, node, *(["keys"] if keys else []), "item")


def _node(values: DataFrame) -> list[str]:
    """Return the columns that tell a value's path."""
    return [name for name in ("node", "keys") if name in values.columns]


def describe_items(items: DataFrame, listing: Listing) -> DataFrame:
    """Return ``kind``, ``text`` (of scalars) and ``length`` (of lists) in place of the items."""
    item = F.col("item")
    # One literal, however many nodes there are: Spark plans thousands of them for seconds.
    kinds = F.split(F.lit(",".join(node.kind or "" for node in listing.nodes)), ",")
    known = F.element_at(kinds, F.col("node") + 1)
    kind = (
        F.when(known == "", F.substring_index(item, " ", 1))
        .when(item == F.expr(walk.NULL_TEXT), walk.NULL_KIND)
        .otherwise(known)
    )
    text = F.when(known == "", F.substring(item, F.instr(item, " ") + 1, F.lit(2**31 - 1))).otherwise(item)
    described = items.select(*_PLACE, *_node(items), kind.alias("kind"), text.alias("text"))
    is_scalar = ~F.col("kind").isin(walk.NULL_KIND, walk.OBJECT_KIND, walk.KEYED_KIND, walk.LIST_KIND)
    return described.select(
        *_PLACE,
        *_node(items),
        "kind",
        F.when(is_scalar, F.col("text")).alias("text"),
        F.when(F.col("kind") == walk.LIST_KIND, F.col("text").cast("int")).alias("length"),
    )


def unmark(values: DataFrame) -> DataFrame:
    """Return large integers as they were before ``mark_large_integers``."""
    kind, text = F.col("kind"), F.col("text")
    is_large = (kind == "STRING") & is_marked(text)
    return values.select(
        *_PLACE,
        *_node(values),
        "length",
        F.when(is_large, LARGE_KIND).otherwise(kind).alias("kind"),
        F.when(is_large, F.substring(text, 2, 2**31 - 1)).otherwise(text).alias("text"),
    )


def _group(values: DataFrame) -> DataFrame:
    kind, text = F.col("kind"), F.col("text")
    is_number = kind.isin("BIGINT", "DOUBLE", LARGE_KIND) | kind.startswith("DECIMAL")
    group = F.when(is_number, _NUMBER).otherwise(kind)
    family = F.when(kind == "STRING", text_family(text)).when(is_number, number_family(text, kind))
    length = F.coalesce("length", F.length(text))
    number = F.when(is_number, text.try_cast("double"))
    keys: list[Column | str] = ["file", "block", *_node(values), group.alias("kind"), family.alias("family")]
    facts = [
        F.count("*").alias("count"),
        F.min("id").alias("first"),
        F.min(length).alias("shortest"),
        F.max(length).alias("longest"),
        F.min(number).alias("least"),
        F.max(number).alias("greatest"),
    ]
    if not has_installed_detectors():
        # Only numbers are aggregated: an aggregate over texts makes Spark sort all values.
        return values.groupBy(keys).agg(*facts)
    asked = values.withColumn(_DETECTED, detect_installed(text, kind == "STRING", is_number))
    return asked.groupBy([*keys, _DETECTED]).agg(*facts, F.any_value(text).alias("text"))


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
