"""A column's values are counted as far as evidence decides."""

from __future__ import annotations

from typing import Any

from survival_samples import evidence_of

from schemactl.inference.evidence import Position
from schemactl.inference.resolve import resolve
from schemactl.inference.survival import Tally, feeds, judge_values
from schemactl.schema.full_types import FullType
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType


def judged(column: str, target: FullType, *documents: Any, table: str = "t") -> Any:
    evidence = evidence_of(*documents)
    resolution = resolve(evidence, new_schema("made"), "t")
    return judge_values(evidence, feeds(resolution, table, column), target)


def test_a_column_is_counted_with_its_variants_and_keys() -> None:
    found = judged("v", FullType(DataType.BIGINT, 64), {"v": 1}, {"V": 2}, {"v": "x"}, {"v": True}, {"v": None})
    assert found.open_paths == ()
    assert found.tally == Tally(4, 2, ("x", True), Position("a.jsonl", 3))


def test_only_paths_with_something_open_are_left_to_be_counted() -> None:
    found = judged("v", FullType(DataType.TEXT, 3), {"v": "a"}, {"v": "a to z"}, {"V": "abc"}, {"V": "b"})
    assert found.open_paths == (("v",),)
    assert found.tally == Tally(2)


def test_objects_that_stay_whole_are_counted_but_not_measured() -> None:
    schema = new_schema("made")
    schema = schema.with_table(resolve(evidence_of({"v": 1}), schema, "t").schema.tables["t"])
    columns = dict(schema.tables["t"].columns)
    stated = {**columns["v"].properties, "data_type": "json"}
    kept = resolve(evidence_of(), schema, "t").schema.tables["t"]
    kept = type(kept)("t", {**columns, "v": type(columns["v"])("v", stated)}, kept.properties)
    evidence = evidence_of({"v": {"a": 1}}, {"v": [1]})
    fed = feeds(resolve(evidence, schema.with_table(kept), "t"), "t", "v")

    number = judge_values(evidence, fed, FullType(DataType.BIGINT, 64))
    assert number is not None
    assert (number.tally.values, number.tally.bad) == (2, 2)
    assert judge_values(evidence, fed, FullType(DataType.TEXT, 3)) is None
