"""Counts what stands in columns whose types the source states: nulls, lengths, ranges, first places, an example each.

One aggregation over a batch of rows tells all of it, by expressions: values within lists are looked at where they
stand, not exploded. What comes back is bounded by the number of columns. No schema depends on any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.sql.window import Window

from schemactl.engine.codegen import whole_stages
from schemactl.engine.input_formats import FILE, Numbering, Typed
from schemactl.engine.reading.places import shown
from schemactl.engine.spark_types import typed_columns
from schemactl.engine.typed_rows import BLOCK, ID, count_rows, placed
from schemactl.engine.typed_values import Part, example_of, facts_of, list_parts, with_values
from schemactl.inference.classes import NULL
from schemactl.inference.evidence import ClassEvidence, Evidence, Position, merge_all
from schemactl.inference.paths import Path
from schemactl.inference.sample import Sample

Progress = Callable[[str, float | None], None]
"""Called with the name of each phase as it begins, and the share of the work that is done, None where not known."""

MOST_PARTS: Final = 15
"""Values that are looked at together, about: Java compiles no longer expressions; columnar files lose nothing by it."""

_Seen = Mapping[Path, Mapping[str, ClassEvidence]]


def scan_typed(
    batches: Sequence[Typed], sample: Sample, progress: Progress = lambda *_: None, *, counts: bool = True
) -> Evidence:
    """Return what columns of stated types are, and, where that is to be counted, what stands in them.

    Raises:
        EngineError: Spark cannot read them.
    """
    if not batches:
        return Evidence()
    progress("counting rows", None)
    rows = [count_rows(batch) for batch in batches]
    share = sample.share_of(sum(file.records for files in rows for file in files.values()))
    if share < 1:
        rows = [count_rows(batch, share) for batch in batches]
    stated = (Evidence(files=files, typed=_stated_types(batch)) for batch, files in zip(batches, rows, strict=True))
    counted = (Evidence(counted=_count_batch(batch, share, progress)) for batch in batches if counts)
    return merge_all((*stated, *counted))


def _stated_types(batch: Typed) -> dict[Path, dict[str, Any]]:
    return typed_columns(StructType([column for column in batch.frame.schema.fields if column.name != FILE]))


def _count_batch(batch: Typed, share: float, progress: Progress) -> _Seen:
    counted: dict[Path, Mapping[str, ClassEvidence]] = {}
    groups = list(_groups(batch))
    for number, parts in enumerate(groups):
        progress("counting values of columns", number / len(groups) if len(groups) > 1 else None)
        counted.update(_count(batch, parts, share))
    return counted


def _groups(batch: Typed) -> Iterator[list[Part]]:
    """Yield the parts of rows that are looked at together, with the row itself in each group."""
    root, *columns = list_parts(batch)
    group = [root]
    for part in columns:
        # A column stays together with all that is in it.
        if len(group) > MOST_PARTS and len(part.path) == 1:
            yield group
            group = [root]
        group.append(part)
    yield group


def _count(batch: Typed, parts: Sequence[Part], share: float) -> _Seen:
    rows = with_values(placed(batch, share), parts)
    with whole_stages(rows.sparkSession):
        found = _totals(_by_block(rows, parts), parts, is_numbered=batch.numbering is Numbering.ROW).first()
    assert found is not None
    seen = {part.path: classes for part in parts if (classes := _seen(part, found))}
    examples = _examples(
        rows, [part for part in parts if part.is_scalar and part.name in seen.get(part.path, {})], found
    )
    for path, (name, example) in examples.items():
        seen[path][name] = replace(seen[path][name], examples=(example,))
    return seen


def _by_block(rows: DataFrame, parts: Sequence[Part]) -> DataFrame:
    facts = [fact.alias(_name(name, part)) for part in parts for name, fact in facts_of(part).items()]
    return rows.groupBy(FILE, BLOCK).agg(F.count("*").alias("rows"), F.min(ID).alias("first_id"), *facts)


def _name(fact: str, part: Part) -> str:
    return f"{fact}_{part.number}"


def _totals(blocks: DataFrame, parts: Sequence[Part], *, is_numbered: bool) -> DataFrame:
    """Return one row: the facts of all blocks together, with the places of the first rows.

    Args:
        blocks: the facts of each block.
        parts: that they are of.
        is_numbered: whether ids are numbers in the file, from 0.
    """
    earlier = Window.partitionBy(FILE).orderBy(BLOCK).rowsBetween(Window.unboundedPreceding, -1)
    before = F.lit(0) if is_numbered else F.coalesce(F.sum("rows").over(earlier), F.lit(0)) - F.col("first_id")
    located = blocks.select("*", before.alias("before"), shown(F.col(FILE)).alias("shown"))
    names = [(fact, _name(fact, part)) for part in parts for fact in facts_of(part)]
    return located.agg(*(_total(fact, F.col(name)).alias(name) for fact, name in names))


def _total(fact: str, column: Column) -> Column:
    match fact:
        case "count" | "size":
            return F.sum(column)
        case "first" | "first_null":
            return F.min(F.when(column.isNotNull(), _place(column)))
        case "shortest":
            return F.min(column)
        case "longest":
            return F.max(column)
        case "least":
            return F.min(column).cast("double")
        case _:
            return F.max(column).cast("double")


def _place(row_id: Column) -> Column:
    """Return the place of a row, by which the first one is found, and what Spark finds it by."""
    number = row_id + F.col("before") + 1
    return F.struct(
        "shown", number.alias("number"), F.col(FILE).alias("file"), F.col(BLOCK).alias("block"), row_id.alias("id")
    )


def _seen(part: Part, found: Row) -> dict[str, ClassEvidence]:
    """Return the classes at one path: the values, and the nulls, as far as there are any."""
    facts = {fact: found[_name(fact, part)] for fact in facts_of(part)}
    values = facts["count"] or 0
    seen: dict[str, ClassEvidence] = {}
    if values:
        lengths, span = (facts.get("shortest"), facts.get("longest")), (facts.get("least"), facts.get("greatest"))
        seen[part.name] = ClassEvidence(values, _position(facts["first"]), (), *lengths, *span)
    if part.parent is not None and facts["first_null"] is not None:
        size = facts["size"] if part.is_many else found[_name("count", part.parent)]
        seen[NULL] = ClassEvidence(size - values, _position(facts["first_null"]))
    return seen


def _position(place: Row) -> Position:
    return Position(place.shown, place.number)


def _examples(rows: DataFrame, parts: Sequence[Part], found: Row) -> dict[Path, tuple[str, str]]:
    """Return class and text of each part's first value; the rows that hold them are read again."""
    if not parts:
        return {}
    places = {part: _key(found[_name("first", part)]) for part in parts}
    wanted = set(places.values())
    texts = [example_of(part).alias(_name("example", part)) for part in parts]
    firsts = rows.select(FILE, BLOCK, ID, *texts).where(_is_at(wanted)).limit(len(wanted)).collect()
    by_place = {(row[FILE], row[BLOCK], row[ID]): row for row in firsts}
    examples = {part: by_place[place][_name("example", part)] for part, place in places.items() if place in by_place}
    return {part.path: (part.name, text) for part, text in examples.items() if text is not None}


def _key(place: Row) -> tuple[str, int, int]:
    return place.file, place.block, place.id


def _is_at(places: Iterable[tuple[str, int, int]]) -> Column:
    ids: dict[tuple[str, int], list[int]] = {}
    for file, block, row_id in sorted(places):
        ids.setdefault((file, block), []).append(row_id)
    of_blocks = (
        (F.col(FILE) == file) & (F.col(BLOCK) == block) & F.col(ID).isin(of) for (file, block), of in ids.items()
    )
    return reduce(or_, of_blocks)
