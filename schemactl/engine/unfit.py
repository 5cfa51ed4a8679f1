"""Looks at single values again, where evidence leaves open which of them fit a type, or which rows lack one.

Spark says what is sure of a value by SQL; of the others it gives one of each family (``families``) or the very value,
and Python judges those (``inference.survival``), so that the rules stand in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from schemactl.engine import walk
from schemactl.engine.families import is_number_kind, number_family, text_family
from schemactl.engine.fit import REAL_KIND, look, unsure
from schemactl.engine.input import Input
from schemactl.engine.input_formats import INPUT_FORMATS, Documents
from schemactl.engine.inputs import by_format
from schemactl.engine.large_integers import mark_large_integers
from schemactl.engine.measure import Place, unmark
from schemactl.engine.parts import read_parts, read_texts
from schemactl.engine.scan import fetch_documents
from schemactl.engine.shapes import Shape
from schemactl.engine.survey import Places, count_records, sampled
from schemactl.engine.walk import Listing
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import Evidence, Position
from schemactl.inference.paths import ELEMENT, Path, values_at
from schemactl.inference.resolve import Taken
from schemactl.inference.sample import Sample
from schemactl.inference.survival.tallies import MAX_EXAMPLES, Tally, distinct, shown
from schemactl.inference.survival.target import TargetType
from schemactl.inference.survival.values import survives

_PLACE = ("file", "block", "id")
_BOOL_KIND = "BOOLEAN"
_MARKS = ("uint64", "wide", "beyond-wei")
"""Marks of the classes of integers past 64 bits."""


@dataclass(frozen=True, slots=True)
class Scalars:
    """Asks which scalars at some paths survive in a type."""

    paths: tuple[Path, ...]
    target: TargetType


@dataclass(frozen=True, slots=True)
class Absences:
    """Asks for the first document with a row that lacks a value.

    Attributes:
        rows: paths whose values make the rows.
        fed: paths and classes of the values, at most one a row.
    """

    rows: tuple[Path, ...]
    fed: tuple[Taken, ...]


@dataclass(frozen=True)
class Records:
    """Documents that evidence was collected from, to be read again.

    Attributes:
        frame: as for ``survey.survey_documents``.
        evidence: what they hold, and maybe more.
    """

    frame: DataFrame
    evidence: Evidence

    def texts(self, paths: Iterable[Path]) -> DataFrame:
        """Return places and texts; large integers are marked where there are any at ``paths``."""
        classes = (name for path in paths for name in self.evidence.paths.get(path, {}))
        is_marked = any(mark in name for name in classes for mark in _MARKS)
        text = mark_large_integers(F.col("text")) if is_marked else F.col("text")
        return self.frame.where("sampled").select(*_PLACE, text.alias("text"))

    @cached_property
    def places(self) -> Places:
        blocks = self.frame.groupBy("file", "block").agg(F.count("*").alias("lines"), F.min("id").alias("first_id"))
        return Places(sorted(blocks.collect(), key=lambda row: (row.file, row.block)))


def read_again(spark: SparkSession, inputs: Sequence[Input], sample: Sample, evidence: Evidence) -> list[Records]:
    """Return the documents that a scan of the same inputs and sample has read; rows that state types are left out."""
    batches = [batch for name, group in by_format(inputs).items() for batch in INPUT_FORMATS[name].read(spark, group)]
    documents = [batch for batch in batches if isinstance(batch, Documents)]
    total = count_records(documents, lambda *_: None) if sample.records else 0
    return [Records(sampled(batch.frame, sample.share_of(total)), evidence) for batch in documents]


def count_unfit(records: Records, asked: Sequence[Scalars]) -> list[Tally]:
    """Count the scalars that do not survive, for each question; nulls, objects and lists do not count."""
    found = [_Found() for _ in asked]
    asks: dict[Path, list[int]] = {}
    for number, ask in enumerate(asked):
        for path in ask.paths:
            asks.setdefault(path, []).append(number)
    for values, listing, base in _list(records, asks):
        wanted = [asks.get((*base, *node.path), []) for node in listing.nodes]
        scalars = values.where("text is not null").withColumn("ask", F.explode(_by_node(wanted)))
        for row in _grouped(scalars, [ask.target for ask in asked]).toLocalIterator():
            is_fit = row.sure if row.sure is not None else survives(_value(row), asked[row.ask].target)
            found[row.ask].add(row, is_fit, records)
    firsts = {position: place for each in found for position, place in each.firsts.items()}
    documents = fetch_documents(records.frame, firsts)
    return [each.tally(ask, documents) for each, ask in zip(found, asked, strict=True)]


class _Found:
    """What was found for one question."""

    def __init__(self) -> None:
        self.values = 0
        self.bad = 0
        self.firsts: dict[Position, Place] = {}

    def add(self, row: Row, is_fit: bool, records: Records) -> None:
        self.values += row["count"]
        if is_fit:
            return
        self.bad += row["count"]
        place = Place(row.file, row.block, row.first)
        self.firsts[records.places.position(place)] = place
        if len(self.firsts) > MAX_EXAMPLES:
            del self.firsts[max(self.firsts)]

    def tally(self, ask: Scalars, documents: Mapping[Position, Any]) -> Tally:
        read = [documents[position] for position in sorted(self.firsts) if position in documents]
        values = (value for document in read for path in ask.paths for value in values_at(document, path))
        bad = (shown(value) for value in values if _is_scalar(value) and not survives(value, ask.target))
        return Tally(self.values, self.bad, distinct(bad), min(self.firsts, default=None))


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def find_absences(records: Records, asked: Sequence[Absences]) -> list[Position | None]:
    """Return the first document with a row that lacks a value, for each question."""
    weights: dict[Path, dict[int, dict[str, int]]] = {}
    for number, ask in enumerate(asked):
        for path in ask.rows:
            kinds = dict.fromkeys((_NULLS, _OBJECTS, _LISTS, _SCALARS), 1)
            weights.setdefault(path, {})[number] = kinds
        for path, name in ask.fed:
            kinds = weights.setdefault(path, {}).setdefault(
                number, dict.fromkeys((_NULLS, _OBJECTS, _LISTS, _SCALARS), 0)
            )
            kinds[_group_of(name)] = int(path in ask.rows) - 1
    found: dict[int, list[Position]] = {}
    by_document: DataFrame | None = None
    for values, listing, base in _list(records, weights):
        nodes = [weights.get((*base, *node.path), {}) for node in listing.nodes]
        weighed = _weighed(values, nodes)
        by_document = weighed if by_document is None else by_document.unionByName(weighed)
    if by_document is not None:
        missing = by_document.groupBy(*_PLACE, "ask").agg(F.sum("weight").alias("missing")).where("missing > 0")
        firsts = missing.groupBy("file", "block", "ask").agg(F.min("id").alias("first"))
        for row in firsts.collect():
            found.setdefault(row.ask, []).append(records.places.position(Place(row.file, row.block, row.first)))
    return [min(found.get(number, ()), default=None) for number in range(len(asked))]


_NULLS, _OBJECTS, _LISTS, _SCALARS = "nulls", "objects", "lists", "scalars"


def _group_of(name: str) -> str:
    return {NULL: _NULLS, OBJECT: _OBJECTS, LIST: _LISTS}.get(kind_of(name), _SCALARS)


def _weighed(values: DataFrame, nodes: Sequence[Mapping[int, Mapping[str, int]]]) -> DataFrame:
    """Return ``ask`` and ``weight`` for each value: one more row, one more value, or both."""
    kind = F.col("kind")
    group = (
        F.when(kind == walk.NULL_KIND, _NULLS)
        .when(kind.isin(walk.OBJECT_KIND, walk.KEYED_KIND), _OBJECTS)
        .when(kind == walk.LIST_KIND, _LISTS)
        .otherwise(_SCALARS)
    )
    asks = values.select(*_PLACE, "node", group.alias("group"), F.explode(_by_node(nodes)).alias("ask"))
    weight = F.lit(0)
    for node, by_ask in enumerate(nodes):
        for ask, kinds in by_ask.items():
            for name, number in kinds.items():
                if number:
                    is_this = (F.col("node") == node) & (F.col("ask") == ask) & (F.col("group") == name)
                    weight = weight + F.when(is_this, number).otherwise(0)
    return asks.select(*_PLACE, "ask", weight.alias("weight"))


def _by_node(wanted: Sequence[Iterable[int]]) -> Column:
    """Return the questions that a value of ``node`` is for: an array."""
    arrays = (f"cast(array({', '.join(map(str, asks))}) as array<int>)" for asks in wanted)
    return F.expr(f"element_at(array({', '.join(arrays)}), node + 1)")


def _list(records: Records, paths: Iterable[Path]) -> Iterator[tuple[DataFrame, Listing, Path]]:
    """Yield the values at ``paths``: place, ``node``, ``kind``, ``text`` (of scalars) and ``length``."""
    wanted = set(paths)
    for part in read_parts(read_texts(records.texts(wanted)), shape_for(records.evidence, wanted)):
        others = {path for path, _ in part.shape.walk() if (*part.base, *path) not in wanted}
        items, listing = part.list_values(others)
        yield unmark(items), listing, part.base


def shape_for(evidence: Evidence, paths: Iterable[Path]) -> Shape:
    """Return the shape of what leads to ``paths`` in documents that ``evidence`` tells of."""
    root = Shape()
    for path in paths:
        shape = root
        for end in range(len(path) + 1):
            _describe(shape, evidence, path[:end])
            if end < len(path):
                step = path[end]
                if step is ELEMENT:
                    shape.element = shape.element or Shape()
                    shape = shape.element
                else:
                    shape = shape.children.setdefault(step, Shape())
    return root


def _describe(shape: Shape, evidence: Evidence, path: Path) -> None:
    names = set(evidence.paths.get(path, ())) - {NULL}
    kinds = {kind_of(name) for name in names}
    shape.has_objects = OBJECT in kinds
    shape.has_lists = LIST in kinds
    is_large = any(mark in name for name in names for mark in _MARKS)
    # `DOUBLE` stands for a mix: each value is asked for its kind.
    shape.scalars = {_SURE_KINDS.get(kind, REAL_KIND) if not is_large else REAL_KIND for kind in kinds - {OBJECT, LIST}}


_SURE_KINDS = {"text": "STRING", "bigint": "BIGINT", "bool": _BOOL_KIND}


def _grouped(scalars: DataFrame, targets: Sequence[TargetType]) -> DataFrame:
    """Group values by what is ``sure`` of them (boolean), else by ``family``."""
    kind, text = F.col("kind"), F.col("text")
    is_number, number = is_number_kind(kind), text.try_cast("double")
    group = F.when(kind.startswith("DECIMAL"), REAL_KIND).otherwise(kind)
    own = F.when(kind == "STRING", text_family(text)).when(is_number, number_family(text, kind, number)).otherwise(text)
    values = scalars.select(*_PLACE, "ask", "text", group.alias("kind"), own.alias("own"))
    sure, family = unsure(), F.col("own")
    for target in dict.fromkeys(targets):
        asks = [number for number, each in enumerate(targets) if each == target]
        its_sure, its_family = look(target)
        sure = F.when(F.col("ask").isin(asks), its_sure).otherwise(sure)
        family = F.when(F.col("ask").isin(asks), its_family).otherwise(family)
    looked_at = values.select(*_PLACE, "ask", "kind", sure.alias("sure"), family.alias("family"))
    family = F.when(F.col("sure").isNull(), F.col("family"))
    grouped = looked_at.groupBy("file", "block", "ask", "sure", "kind", family.alias("family"))
    return grouped.agg(F.count("*").alias("count"), F.min("id").alias("first"))


def _value(row: Row) -> Any:
    match row.kind:
        case "STRING":
            return row.family
        case "BIGINT" | "LARGE":
            return int(row.family)
        case "BOOLEAN":
            return row.family == "true"
        case _:
            return float(row.family)
