"""Collects evidence from documents with Spark SQL expressions: what shapes there are, what values, who was first.

Three passes over the documents:

1. shapes: ``schema_of_variant_agg`` by input block, with line counts and records that are no JSON;
2. values: every value as (path, kind, text), grouped by path and family of values (``measure``);
3. witnesses: the raw text of the documents that are the first of something, whose key order decides column order.

What comes back to the driver is bounded by the number of paths, classes and input blocks, not by the rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemactl.engine.input import Input
from schemactl.engine.inputs import by_format, shown_path
from schemactl.engine.measure import Place, count_values, explode_listing, read_parts
from schemactl.engine.parse import is_blank, mark_large_integers, parse_json
from schemactl.engine.shapes import Shape, may_hide_large_integers, parse_shape
from schemactl.engine.sources import FILE, SOURCES, Documents, Typed
from schemactl.engine.spark_types import typed_columns
from schemactl.engine.walk import list_raw_values
from schemactl.errors import InputError, Location
from schemactl.inference.evidence import (
    ClassEvidence,
    Evidence,
    FileEvidence,
    Position,
    add_examples,
    cut_witnesses,
    merge_all,
    merge_classes,
)
from schemactl.inference.paths import Path
from schemactl.inference.sample import Sample

Progress = Callable[[str, float | None], None]
"""Told the name of each phase as it begins, and the share of the work that is done, None where that is not known."""

MAX_BAD_RECORDS = 20
"""Bad records that are shown; all are counted."""

MOST_LEVELS = 200
"""Levels of nesting; not much deeper, Python's own recursion ends."""

_TOO_DEEP = "StreamWriteConstraints.getMaxNestingDepth"
"""What Spark says of types that nest far deeper."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is no JSON, and how it begins."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Documents as a scan has read them, to be read again.

    Attributes:
        texts: columns ``file``, ``block``, ``id`` and ``text``, as in ``Documents``: JSON documents, none of them bad.
        shape: everything that they can hold.
        is_marked: whether large integers in ``text`` are marked (``parse.mark_large_integers``).
        offsets: for each file and block what an ``id`` is away from the number of its record in the file.
    """

    texts: DataFrame
    shape: Shape
    is_marked: bool
    offsets: Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan brings back.

    Attributes:
        readings: the documents; there is a reading for each batch of sources that has any.
        typed: the batches of sources that state their own types.
    """

    evidence: Evidence
    bad_records: tuple[BadRecord, ...] = ()
    readings: tuple[Reading, ...] = ()
    typed: tuple[Typed, ...] = ()


def scan_inputs(
    spark: SparkSession, inputs: Sequence[Input], sample: Sample, progress: Progress = lambda *_: None
) -> Scan:
    """Collect evidence from files and tables.

    Raises:
        InputError, EngineError: Spark cannot read them.
    """
    batches = [batch for name, group in by_format(inputs).items() for batch in SOURCES[name].read(spark, group)]
    documents = [batch for batch in batches if isinstance(batch, Documents)]
    share = sample.share_of(count_records(documents, progress)) if sample.records else sample.share_of(0)
    scans = [scan_documents(sampled(batch.frame, share), progress) for batch in documents]
    scans += [scan_typed(batch, progress) for batch in batches if isinstance(batch, Typed)]
    unread = Evidence(files={each.path: FileEvidence(documents=0) for each in inputs if each.is_local})
    return Scan(
        merge_all((unread, *(scan.evidence for scan in scans))),
        tuple(sorted((bad for scan in scans for bad in scan.bad_records), key=lambda bad: bad.position)),
        tuple(reading for scan in scans for reading in scan.readings),
        tuple(batch for scan in scans for batch in scan.typed),
    )


def sampled(records: DataFrame, share: float) -> DataFrame:
    """Mark the records to read: the same ones whatever the order and the partitions, spread over all files."""
    buckets = 1_000_000
    is_taken = F.pmod(F.xxhash64("text"), F.lit(buckets)) < round(share * buckets) if share < 1 else F.lit(True)
    return records.select("*", is_taken.alias("sampled"))


def count_records(batches: Iterable[Documents], progress: Progress) -> int:
    """Return how many records there are, blank ones left out."""
    progress("counting records", None)
    return sum(batch.frame.where(~is_blank(F.col("text"))).count() for batch in batches)


def scan_typed(batch: Typed, progress: Progress = lambda *_: None) -> Scan:
    """Collect evidence from rows whose columns state their types; only the rows are counted."""
    progress("counting rows", None)
    counts = batch.frame.groupBy(FILE).count().collect()
    columns = StructType([field for field in batch.frame.schema.fields if field.name != FILE])
    files = {shown_path(row[FILE]): FileEvidence(documents=row["count"], records=row["count"]) for row in counts}
    return Scan(Evidence(files=files, typed=typed_columns(columns)), typed=(batch,))


def scan_documents(records: DataFrame, progress: Progress = lambda *_: None) -> Scan:
    """Collect evidence from JSON documents.

    Args:
        records: columns ``file`` (string), ``block`` (bigint, where in the file the reading task began), ``id``
            (bigint, ascending by one within a block), ``text`` (string, one JSON document; blank ones are skipped)
            and ``sampled`` (boolean, whether to read this one).
        progress: told each phase.
    """
    progress("reading shapes", None)
    text = F.col("text")
    checked = _check(records, text)
    blocks = _read_blocks(checked)
    is_marked = any(may_hide_large_integers(row.shape) for row in blocks if row.shape)
    if is_marked:
        # Looking for them takes as long as parsing, so only data that may have them is read again.
        text = mark_large_integers(text)
        checked = _check(records, text)
        blocks = _read_blocks(checked)
    places = Places(blocks)
    has_bad = any(row.bad for row in blocks)
    good = checked.where("document is not null") if has_bad else records.where("sampled")
    readable = good.select("file", "block", "id", text.alias("text"))
    shape = _shape_of(readable, blocks, progress)
    progress("counting values", None)
    paths, firsts = _count(readable, shape, places)
    progress("reading first witnesses", None)
    documents = fetch_documents(records, firsts)
    evidence = Evidence(
        paths=add_examples(paths, documents), witnesses=cut_witnesses(paths, documents), files=places.files()
    )
    bad = _bad_records(checked, places) if has_bad else ()
    return Scan(evidence, bad, (Reading(readable, shape, is_marked, places.offsets),))


def _check(records: DataFrame, text: Column) -> DataFrame:
    """Return the records with their ``document``, parsed from ``text``; null where it is none, or not sampled."""
    # A column of its own first: within the parsing it would be made anew for each check.
    prepared = records.select("*", text.alias("prepared"))
    document = F.when(F.col("sampled"), parse_json(F.col("prepared"))).alias("document")
    return prepared.select(*records.columns, document)


def _is_bad() -> Column:
    return F.col("sampled") & F.col("document").isNull() & ~is_blank(F.col("text"))


def _read_blocks(documents: DataFrame) -> list[Row]:
    grouped = documents.groupBy("file", "block").agg(
        F.count("*").alias("lines"),
        F.min("id").alias("first_id"),
        F.count_if(~is_blank(F.col("text"))).alias("records"),
        F.count("document").alias("documents"),
        F.count_if(_is_bad()).alias("bad"),
        F.min(F.when(_is_bad(), F.col("id"))).alias("first_bad"),
        F.schema_of_variant_agg("document").alias("shape"),
    )
    with _depth_told():
        return sorted(grouped.collect(), key=lambda row: (row.file, row.block))


class Places:
    """Turns what Spark knows of a record's place into a position in the input."""

    def __init__(self, blocks: Iterable[Row]) -> None:
        self._blocks = list(blocks)
        self.offsets: dict[tuple[str, int], int] = {}
        lines: dict[str, int] = {}
        for row in self._blocks:
            before = lines.get(row.file, 0)
            self.offsets[row.file, row.block] = before - row.first_id + 1
            lines[row.file] = before + row.lines

    def position(self, place: Place) -> Position:
        return Position(shown_path(place.file), self.offsets[place.file, place.block] + place.id)

    def files(self) -> dict[str, FileEvidence]:
        found: dict[str, FileEvidence] = {}
        for row in self._blocks:
            file = shown_path(row.file)
            known = found.get(file, FileEvidence(documents=0))
            first_bad = known.first_bad
            if first_bad is None and row.first_bad is not None:
                first_bad = self.position(Place(row.file, row.block, row.first_bad)).number
            found[file] = FileEvidence(
                documents=known.documents + row.documents,
                bad=known.bad + row.bad,
                first_bad=first_bad,
                records=known.records + row.records,
            )
        return found


def _shape_of(records: DataFrame, blocks: Iterable[Row], progress: Progress) -> Shape:
    shape = Shape()
    for row in blocks:
        if row.shape is not None:
            found = parse_shape(row.shape)
            _check_depth(found, Location(shown_path(row.file)))
            shape.absorb(found)
    while mixed := {path for path, found in shape.walk() if found.is_mixed}:
        progress("reading mixed values", None)
        _settle(records, shape, mixed)
        _check_depth(shape)
    return shape


def _check_depth(shape: Shape, at: Location | None = None) -> None:
    if any(len(path) > MOST_LEVELS for path, _ in shape.walk()):
        raise _too_deep(at)


@contextmanager
def _depth_told() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if _TOO_DEEP in str(error):
            raise _too_deep() from error
        raise


def _too_deep(at: Location | None = None) -> InputError:
    return InputError(f"a record nests deeper than {MOST_LEVELS} levels", at=at)


def _settle(records: DataFrame, shape: Shape, mixed: set[Path]) -> None:
    """Find out what stands at paths where kinds mix, each kind by itself."""
    kind = F.schema_of_variant("item")
    is_object, is_list = kind.startswith("OBJECT"), kind.startswith("ARRAY")
    is_scalar = ~is_object & ~is_list & (kind != "VOID")
    nodes = dict(shape.walk())
    for part in read_parts(records, shape):
        paths = {path: (*part.base, *path) for path, _ in part.shape.walk() if path not in part.leave_out}
        listing = list_raw_values(part.shape, "document", {path for path, whole in paths.items() if whole in mixed})
        found = (
            explode_listing(part.documents, listing)
            .groupBy("node")
            .agg(
                F.schema_of_variant_agg(F.when(is_object, F.col("item"))).alias("objects"),
                F.schema_of_variant_agg(F.when(is_list, F.col("item"))).alias("lists"),
                F.collect_set(F.when(is_scalar, kind)).alias("scalars"),
            )
        )
        with _depth_told():
            rows = found.collect()
        for row in rows:
            node = nodes[paths[listing.nodes[row.node].path]]
            node.scalars.update(row.scalars)
            for text in (row.objects, row.lists):
                if text not in (None, "VOID"):
                    node.absorb(parse_shape(text))
    for path in mixed:
        nodes[path].is_mixed = False


def _count(
    texts: DataFrame, shape: Shape, places: Places
) -> tuple[dict[Path, dict[str, ClassEvidence]], dict[Position, Place]]:
    """Return the classes at each path, and Spark's place of each first document."""
    paths: dict[Path, dict[str, ClassEvidence]] = {}
    where: dict[Position, Place] = {}
    for path, name, place, counted in count_values(texts, shape):
        seen = replace(counted, first=places.position(place))
        where[seen.first] = place
        classes = paths.setdefault(path, {})
        classes[name] = merge_classes(classes[name], seen) if name in classes else seen
    firsts = {seen.first for classes in paths.values() for seen in classes.values()}
    return paths, {position: where[position] for position in firsts}


def fetch_documents(records: DataFrame, firsts: Mapping[Position, Place]) -> dict[Position, Any]:
    """Read the documents at ``firsts``."""
    by_place = {(place.file, place.block, place.id): position for position, place in firsts.items()}
    ids = sorted({place.id for place in firsts.values()})
    found = records.where(F.col("id").isin(ids)).select("file", "block", "id", "text")
    documents: dict[Position, Any] = {}
    for row in found.toLocalIterator():
        position = by_place.get((row.file, row.block, row.id))
        if position is not None:
            documents[position] = json.loads(row.text)
    return documents


def _bad_records(documents: DataFrame, places: Places) -> tuple[BadRecord, ...]:
    found = documents.where(_is_bad()).select("file", "block", "id", F.substring("text", 1, 200).alias("text"))
    first = found.orderBy("file", "block", "id").limit(MAX_BAD_RECORDS).collect()
    return tuple(BadRecord(places.position(Place(row.file, row.block, row.id)), row.text) for row in first)
