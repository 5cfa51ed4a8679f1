"""Collects evidence from documents with Spark SQL expressions: what shapes there are, what values, who was first.

Three passes over the documents:

1. shapes (``survey``);
2. values: every value as (path, kind, text), grouped by path and family of values (``measure``);
3. witnesses: the raw text of the documents that are the first of something, whose key order decides column order.

What comes back to the driver is bounded by the number of paths, classes and input blocks, not by the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemactl.engine.input import Input
from schemactl.engine.measure import Place, count_values
from schemactl.engine.null_keys import find_null_keys
from schemactl.engine.parts import Read, read_texts
from schemactl.engine.survey import Progress, Reading, Survey, survey_inputs
from schemactl.engine.typed_evidence import count_typed
from schemactl.inference.classes import NULL
from schemactl.inference.evidence import ClassEvidence, Evidence, Position, merge, merge_all, merge_classes
from schemactl.inference.examples import add_examples
from schemactl.inference.paths import Path
from schemactl.inference.sample import Sample
from schemactl.inference.witnesses import cut_witnesses


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan brings back."""

    evidence: Evidence
    survey: Survey


def scan_inputs(
    spark: SparkSession, inputs: Sequence[Input], sample: Sample, progress: Progress = lambda *_: None
) -> Scan:
    """Collect evidence from files and tables, and count what stands in columns whose types they state.

    Raises:
        InputError, EngineError: Spark cannot read them.
    """
    survey = survey_inputs(spark, inputs, sample, progress)
    evidence = collect_evidence(survey, progress)
    return Scan(merge(evidence, count_typed(survey, progress)), survey)


def collect_evidence(survey: Survey, progress: Progress = lambda *_: None) -> Evidence:
    """Count the values of the documents that were surveyed; columns of stated types are taken as they are stated.

    Raises:
        EngineError: Spark cannot read it.
    """
    stated = Evidence(files=survey.files, typed=survey.types, stated=survey.stated)
    return merge_all((stated, *(_collect(reading, progress) for reading in survey.readings)))


def _collect(reading: Reading, progress: Progress) -> Evidence:
    progress("counting values", None)
    paths, firsts = _count(reading)
    progress("reading first witnesses", None)
    documents = fetch_documents(reading.records, firsts)
    return Evidence(paths=add_examples(paths, documents), witnesses=cut_witnesses(paths, documents))


_Counted = tuple[dict[Path, dict[str, ClassEvidence]], dict[Position, Place]]
"""The classes at each path, and Spark's place of each first document."""


def _count(reading: Reading) -> _Counted:
    null_keys = find_null_keys(reading.texts, reading.shape) if reading.has_nulls else frozenset()
    if reading.parsed is not None and reading.shape.is_object and reading.shape.children:
        paths, firsts = _count_by(_read_objects(reading), reading, null_keys)
        # Spark's reader leaves out what it does not take for an object.
        if _documents(paths) == reading.places.documents:
            return paths, firsts
    paths, firsts = _count_by(read_texts(reading.texts), reading, null_keys)
    if _documents(paths) < reading.places.documents:
        _add_null_documents(reading, paths, firsts)
    return paths, firsts


def _documents(paths: Mapping[Path, Mapping[str, ClassEvidence]]) -> int:
    return sum(seen.count for seen in paths.get((), {}).values())


def _add_null_documents(
    reading: Reading, paths: dict[Path, dict[str, ClassEvidence]], firsts: dict[Position, Place]
) -> None:
    """Add the documents that are ``null``, where all others are objects, or lists: read as such, they are no value."""
    texts = reading.texts.where(F.col("text").rlike(r"^[ \t\r\n]*null[ \t\r\n]*\z"))
    blocks = texts.groupBy("file", "block").agg(F.count("*").alias("count"), F.min("id").alias("first")).collect()
    places = {
        reading.places.position(place): place for place in (Place(row.file, row.block, row.first) for row in blocks)
    }
    if not places:
        return
    first = min(places)
    firsts[first] = places[first]
    paths.setdefault((), {})[NULL] = ClassEvidence(sum(row["count"] for row in blocks), first)


def _read_objects(reading: Reading) -> Read:
    """Return what reads documents by Spark's own reader, where it can have them so."""
    parsed, as_texts = reading.parsed, read_texts(reading.texts)
    return lambda kind: parsed(kind) if parsed is not None and isinstance(kind, StructType) else as_texts(kind)


def _count_by(read: Read, reading: Reading, null_keys: Set[str] | None) -> _Counted:
    paths: dict[Path, dict[str, ClassEvidence]] = {}
    where: dict[Position, Place] = {}
    for path, name, place, counted in count_values(read, reading.shape, null_keys):
        seen = replace(counted, first=reading.places.position(place))
        where[seen.first] = place
        classes = paths.setdefault(path, {})
        classes[name] = merge_classes(classes[name], seen) if name in classes else seen
    firsts = {seen.first for classes in paths.values() for seen in classes.values()}
    return paths, {position: where[position] for position in firsts}


def fetch_documents(records: DataFrame, firsts: Mapping[Position, Place]) -> dict[Position, Any]:
    """Read the documents at ``firsts``."""
    by_place = {(place.file, place.block, place.id): position for position, place in firsts.items()}
    ids = sorted({place.id for place in firsts.values()})
    # As text: each literal made from here is a call to Java. An empty list is no SQL.
    is_first = F.expr(f"id in ({', '.join(map(str, ids))})") if ids else F.lit(False)
    found = records.where(is_first).select("file", "block", "id", "text")
    documents: dict[Position, Any] = {}
    for row in found.toLocalIterator():
        position = by_place.get((row.file, row.block, row.id))
        if position is not None:
            documents[position] = json.loads(row.text)
    return documents
