"""Rows without a value are counted, and the first is reported where evidence knows it."""

from __future__ import annotations

from typing import Any

from survival_samples import evidence_of

from schemactl.inference.evidence import Position
from schemactl.inference.resolve import resolve
from schemactl.inference.survival import Tally, feeds, is_in_rows, judge_absences
from schemactl.schema.paths import ELEMENT
from schemactl.schema.templates import new_schema


def absences(table: str, column: str, *documents: Any) -> Tally:
    evidence = evidence_of(*documents)
    resolution = resolve(evidence, new_schema("made"), "t")
    return judge_absences(evidence, resolution.rows[table], feeds(resolution, table, column))


def test_rows_are_documents_and_elements_of_lists() -> None:
    documents = [{"l": [{"x": 1}, 5, [6, 7], None]}, {"l": [{}], "m": {"l": [{"x": 1}]}}]
    evidence = evidence_of(*documents)
    rows = resolve(evidence, new_schema("made"), "t").rows
    assert rows == {
        "t": ((),),
        "t__l": (("l", ELEMENT),),
        "t__l__list": (("l", ELEMENT, ELEMENT),),
        "t__m__l": (("m", "l", ELEMENT),),
    }
    assert absences("t__l", "x", *documents) == Tally(5, 4)
    assert absences("t__l__list", "value", *documents) == Tally(2, 0)


def test_the_first_absence_is_reported_where_evidence_knows_it() -> None:
    assert absences("t", "x", {"x": 1}, {"x": None}) == Tally(2, 1, first=Position("a.jsonl", 2))
    assert absences("t", "y", {"x": 1}, {"x": None}) == Tally(2, 2, first=Position("a.jsonl", 1))
    assert absences("t", "x", {"x": 1}, {}, {"x": None}) == Tally(3, 2)


def test_values_of_other_lists_are_in_other_rows() -> None:
    assert is_in_rows(("a", "b"), [()])
    assert is_in_rows(("l", ELEMENT, "x"), [("l", ELEMENT)])
    assert not is_in_rows(("l", ELEMENT, "x"), [()])
    assert not is_in_rows(("a",), [("l", ELEMENT)])
