"""Finds out what documents can hold at all: their shapes, and which records are none. No value is counted.

``schema_of_variant_agg`` gives the shape of the documents by input block, with line counts and records that are no
JSON; where kinds mix, it is asked again for each kind by itself (``shape_reading``). What comes back to the driver is
bounded by the number of paths and input blocks, not by the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemactl.engine.codegen import whole_stages
from schemactl.engine.input import Input
from schemactl.engine.input_formats import FILE, INPUT_FORMATS, Documents, Typed
from schemactl.engine.inputs import by_format, shown_path
from schemactl.engine.large_integers import mark_large_integers, may_hold_large_integer
from schemactl.engine.measure import Place
from schemactl.engine.parse import Wrapper, is_blank, parse_json
from schemactl.engine.shape_reading import depth_told, read_shape
from schemactl.engine.shapes import Shape, may_hide_large_integers
from schemactl.engine.spark_types import typed_columns
from schemactl.engine.typed_rows import count_rows, is_sampled
from schemactl.inference.evidence import Evidence, FileEvidence, Position, merge_all
from schemactl.inference.paths import Path
from schemactl.inference.sample import Sample
from schemactl.schema.types import DataType

Progress = Callable[[str, float | None], None]
"""Told the name of each phase as it begins, and the share of the work that is done, None where that is not known."""

MAX_BAD_RECORDS = 20
"""Bad records that are shown; all are counted."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is no JSON, and how it begins."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A batch of documents as it was read, to be read again.

    Attributes:
        records: as ``survey_documents`` was given them.
        texts: columns ``file``, ``block``, ``id`` and ``text``: the JSON documents among them, none of them bad.
        shape: everything that they can hold.
        is_marked: whether large integers in ``text`` are marked (``large_integers.mark_large_integers``).
        places: where each record stands.
        parsed: reads the documents as objects of a type (``Documents.parsed``), where all records are documents.
        has_nulls: whether a key may have a null.
    """

    records: DataFrame
    texts: DataFrame
    shape: Shape
    is_marked: bool
    places: Places
    parsed: Callable[[StructType], DataFrame] | None = None
    has_nulls: bool = True

    def has_nulls_in_lists(self) -> bool:
        """Return whether a list may hold a null; reads the texts once."""
        found = self.texts.agg(F.bool_or(F.col("text").rlike(r"[\[,]\s*null"))).first()
        return bool(found and found[0])


@dataclass(frozen=True, slots=True)
class Survey:
    """What sources can hold.

    Attributes:
        readings: the documents; there is a reading for each batch of sources that has any.
        typed: the batches of sources that state their own types.
        types: what these state: dlt column properties by path.
        stated: all types of those columns that batches do not agree about (``Evidence.stated``).
        files: what was read, by input.
        bad_records: the first ones.
        inputs: all that was read.
        typed_share: the share of the rows in ``typed`` that is in the sample.
    """

    readings: tuple[Reading, ...] = ()
    typed: tuple[Typed, ...] = ()
    types: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)
    stated: Mapping[Path, frozenset[DataType]] = field(default_factory=dict)
    files: Mapping[str, FileEvidence] = field(default_factory=dict)
    bad_records: tuple[BadRecord, ...] = ()
    inputs: tuple[Input, ...] = ()
    typed_share: float = 1.0


def survey_inputs(
    spark: SparkSession, inputs: Sequence[Input], sample: Sample, progress: Progress = lambda *_: None
) -> Survey:
    """Find out what files and tables can hold.

    Raises:
        InputError, EngineError: Spark cannot read them.
    """
    batches = [batch for name, group in by_format(inputs).items() for batch in INPUT_FORMATS[name].read(spark, group)]
    documents = [batch for batch in batches if isinstance(batch, Documents)]
    typed = [survey_typed(batch, progress) for batch in batches if isinstance(batch, Typed)]
    share = sample.share_of(count_records(documents, progress)) if sample.records else sample.share_of(0)
    surveys = [survey_documents(replace(each, frame=sampled(each.frame, share)), progress) for each in documents]
    typed_share = sample.share_of(sum(file.records for each in typed for file in each.files.values()))
    surveys += typed if typed_share == 1 else [_sampled_rows(each, typed_share) for each in typed]
    unread = Evidence(files={each.path: FileEvidence(documents=0) for each in inputs if each.is_local})
    # Two batches may state types of one column.
    found = merge_all((unread, *(Evidence(files=each.files, typed=each.types) for each in surveys)))
    return Survey(
        readings=tuple(reading for each in surveys for reading in each.readings),
        typed=tuple(batch for each in surveys for batch in each.typed),
        types=found.typed,
        stated=found.stated,
        files=found.files,
        bad_records=tuple(sorted((bad for each in surveys for bad in each.bad_records), key=lambda bad: bad.position)),
        inputs=tuple(inputs),
        typed_share=typed_share,
    )


def sampled(records: DataFrame, share: float) -> DataFrame:
    """Mark the records to read: the same ones whatever the order and the partitions, spread over all files."""
    return records.select("*", is_sampled(share, "text").alias("sampled"))


def count_records(batches: Iterable[Documents], progress: Progress) -> int:
    """Return how many records there are, blank ones left out."""
    progress("counting records", None)
    return sum(batch.frame.where(~is_blank(F.col("text"))).count() for batch in batches)


def survey_typed(batch: Typed, progress: Progress = lambda *_: None) -> Survey:
    """Count rows whose columns state their types."""
    progress("counting rows", None)
    columns = StructType([column for column in batch.frame.schema.fields if column.name != FILE])
    return Survey(typed=(batch,), types=typed_columns(columns), files=count_rows(batch))


def _sampled_rows(found: Survey, share: float) -> Survey:
    (batch,) = found.typed
    return replace(found, files=count_rows(batch, share))


def survey_documents(documents: Documents, progress: Progress = lambda *_: None) -> Survey:
    """Find out what JSON documents can hold.

    Args:
        documents: with a column ``sampled`` (boolean, whether to read this one) besides.
        progress: told each phase.
    """
    progress("reading shapes", None)
    records, text = documents.frame, F.col("text")
    blocks = _read_blocks(records, text)
    # Marking takes as long as parsing, and looking for what is to be marked a third of it.
    is_marked = any(may_hide_large_integers(row.shape) for row in blocks if row.shape) and _has_large(records)
    if is_marked:
        text = mark_large_integers(text)
        blocks = _read_blocks(records, text)
    places = Places(blocks)
    has_bad = any(row.bad for row in blocks)
    checked = _check(records, text)
    good = checked.where("document is not null") if has_bad else records.where("sampled")
    readable = good.select("file", "block", "id", text.alias("text"))
    shape = read_shape(readable, blocks, progress)
    bad = _bad_records(checked, places) if has_bad else ()
    are_all_read = not is_marked and all(row.documents == row.lines for row in blocks)
    parsed = documents.parsed if are_all_read else None
    reading = Reading(records, readable, shape, is_marked, places, parsed, documents.has_nulls)
    return Survey((reading,), files=places.files(), bad_records=bad)


def _has_large(records: DataFrame) -> bool:
    found = records.agg(F.bool_or(F.col("sampled") & may_hold_large_integer(F.col("text")))).first()
    return bool(found and found[0])


def _check(records: DataFrame, text: Column) -> DataFrame:
    """Return the records with their ``document``, parsed from ``text``; null where it is none, or not sampled."""
    # A column of its own first: within the parsing it would be made anew for each check.
    prepared = records.select("*", text.alias("prepared"))
    document = F.when(F.col("sampled"), parse_json(F.col("prepared"))).alias("document")
    return prepared.select(*records.columns, document)


def _is_bad() -> Column:
    return F.col("sampled") & F.col("document").isNull() & ~is_blank(F.col("text"))


def _read_blocks(records: DataFrame, text: Column) -> list[Row]:
    """Return what is in each block of the input, with the shape of its documents, parsed from ``text``."""
    wrapper = Wrapper()
    document, prepared, wrapped = F.col("document"), F.col("prepared"), F.col("wrapped")
    parsed = records.select("*", text.alias("prepared")).select(
        "*", F.when(F.col("sampled"), wrapper.wrap(prepared)).alias("wrapped")
    )
    checked = parsed.select(*records.columns, wrapper.checked(prepared, wrapped).alias("document"))
    # The texts of documents would be copied on the way to the groups, to no use.
    lean = checked.withColumn("text", F.when(document.isNull(), F.col("text")))
    blocks = _group_blocks(lean)
    shapes = [wrapper.unwrap(row.shape) if row.documents else None for row in blocks]
    if any(shape is None and row.documents for shape, row in zip(shapes, blocks, strict=True)):
        return _group_blocks(_check(records, text))
    return [Row(**{**row.asDict(), "shape": shape}) for shape, row in zip(shapes, blocks, strict=True)]


def _group_blocks(documents: DataFrame) -> list[Row]:
    is_record = F.col("document").isNotNull() | ~is_blank(F.col("text"))
    grouped = documents.groupBy("file", "block").agg(
        F.count("*").alias("lines"),
        F.min("id").alias("first_id"),
        F.count_if(is_record).alias("records"),
        F.count("document").alias("documents"),
        F.count_if(_is_bad()).alias("bad"),
        F.min(F.when(_is_bad(), F.col("id"))).alias("first_bad"),
        F.schema_of_variant_agg("document").alias("shape"),
    )
    with depth_told(), whole_stages(documents.sparkSession):
        return sorted(grouped.collect(), key=lambda row: (row.file, row.block))


class Places:
    """Turns what Spark knows of a record's place into a position in the input."""

    def __init__(self, blocks: Iterable[Row]) -> None:
        self.blocks = tuple(blocks)
        self.offsets: dict[tuple[str, int], int] = {}
        lines: dict[str, int] = {}
        for row in self.blocks:
            before = lines.get(row.file, 0)
            self.offsets[row.file, row.block] = before - row.first_id + 1
            lines[row.file] = before + row.lines

    @property
    def documents(self) -> int:
        """How many documents there are in all blocks."""
        return sum(row.documents for row in self.blocks)

    def position(self, place: Place) -> Position:
        return Position(shown_path(place.file), self.offsets[place.file, place.block] + place.id)

    def files(self) -> dict[str, FileEvidence]:
        found: dict[str, FileEvidence] = {}
        for row in self.blocks:
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


def _bad_records(documents: DataFrame, places: Places) -> tuple[BadRecord, ...]:
    found = documents.where(_is_bad()).select("file", "block", "id", F.substring("text", 1, 200).alias("text"))
    first = found.orderBy("file", "block", "id").limit(MAX_BAD_RECORDS).collect()
    return tuple(BadRecord(places.position(Place(row.file, row.block, row.id)), row.text) for row in first)
