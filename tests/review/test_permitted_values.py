"""Limits of values are judged by the values that they permit together, in both directions."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.review.comparison import Side
from schemactl.review.permitted_values import Limit, PermittedValues
from schemactl.review.review import ReviewSettings, compare, review
from schemactl.review.severity import Impact, Severity
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

SAME, LOOSER, TIGHTER, OTHER = "same", "looser", "tighter", "other"
REVERSED = {SAME: SAME, LOOSER: TIGHTER, TIGHTER: LOOSER, OTHER: OTHER}


def shop(properties: dict[str, Any]) -> Schema:
    table = Table("orders", {"v": Column("v", properties)}, {"write_disposition": "append", "resource": "orders"})
    return new_schema("shop").with_table(table)


def verdict(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what the findings say together of the values that a column permits."""
    findings = review(compare(Side(shop(before)), Side(shop(after)), date(2026, 1, 1)), ReviewSettings())
    impacts = [finding.impact for finding in findings if finding.rule.startswith("Q95")]
    assert impacts, "a changed limit is always reported"
    loosens = any(impact.readers.rank >= Severity.WARN.rank for impact in impacts)
    tightens = any(impact.writers is Severity.ERROR for impact in impacts)
    if not (loosens or tightens):
        assert set(impacts) == {Impact()}
        assert all(finding.severity is Severity.INFO for finding in findings if finding.rule.startswith("Q95"))
    return {(True, True): OTHER, (True, False): LOOSER, (False, True): TIGHTER, (False, False): SAME}[loosens, tightens]


INTEGER, NUMBER, MONEY = (
    {"data_type": "bigint"},
    {"data_type": "double"},
    {"data_type": "decimal", "precision": 10, "scale": 2},
)
TEXT, LIST, FLAG, DAY = ({"data_type": kind} for kind in ("text", "json", "bool", "date"))

CASES = [
    # exclusive and inclusive bounds are one bound
    (INTEGER, {"x-exclusive-minimum": 0}, {"x-minimum": 1}, SAME),
    (INTEGER, {"x-exclusive-minimum": 0}, {"x-minimum": 0}, LOOSER),
    (INTEGER, {"x-exclusive-minimum": 0}, {"x-minimum": 2}, TIGHTER),
    (INTEGER, {"x-exclusive-maximum": 10}, {"x-maximum": 9}, SAME),
    (INTEGER, {"x-exclusive-maximum": 10}, {"x-maximum": 10}, LOOSER),
    (INTEGER, {"x-minimum": 0.5}, {"x-minimum": 1}, SAME),
    (INTEGER, {"x-exclusive-minimum": 0.5}, {"x-minimum": 1}, SAME),
    (INTEGER, {"x-maximum": 9.5}, {"x-exclusive-maximum": 10}, SAME),
    (INTEGER, {"x-exclusiveMinimum": 0}, {"x-minimum": 1}, SAME),
    (INTEGER, {"x-minimum": 0, "x-exclusive-minimum": True}, {"x-minimum": 1}, SAME),
    (INTEGER, {"x-minimum": 0, "x-exclusive-minimum": True}, {"x-minimum": 0}, LOOSER),
    (NUMBER, {"x-exclusive-minimum": 0}, {"x-minimum": 0}, LOOSER),
    (NUMBER, {"x-exclusive-minimum": 0}, {"x-minimum": 1}, TIGHTER),
    (NUMBER, {"x-exclusive-maximum": 1}, {"x-maximum": 1}, LOOSER),
    (NUMBER, {"x-minimum": 0, "x-exclusive-minimum": 0}, {"x-exclusive-minimum": 0}, SAME),
    (NUMBER, {"x-minimum": 0, "x-exclusive-minimum": 0}, {"x-minimum": 0}, LOOSER),
    (NUMBER, {"x-minimum": 1}, {"x-minimum": 1, "x-exclusive-minimum": 0}, SAME),
    (NUMBER, {"x-minimum": 0}, {"x-minimum": 0.0}, SAME),
    (NUMBER, {"x-minimum": 0}, {"x-maximum": 0}, OTHER),
    (NUMBER, {"x-minimum": 0, "x-maximum": 9}, {"x-minimum": 1, "x-maximum": 10}, OTHER),
    (MONEY, {"x-exclusive-minimum": 0}, {"x-minimum": 0.01}, SAME),
    (MONEY, {"x-exclusive-minimum": 0}, {"x-minimum": "0.01"}, SAME),
    (MONEY, {"x-exclusive-minimum": 0}, {"x-minimum": 0.1}, TIGHTER),
    ({"data_type": "wei"}, {"x-exclusive-minimum": 0}, {"x-minimum": 1}, SAME),
    (DAY, {"x-minimum": "2024-01-01"}, {"x-minimum": "2023-01-01"}, LOOSER),
    (DAY, {"x-exclusive-minimum": "2024-01-01"}, {"x-minimum": "2024-01-01"}, LOOSER),
    (DAY, {"x-minimum": "2024-01-01"}, {"x-minimum": "soon"}, OTHER),
    (NUMBER, {"x-minimum": 1}, {"x-minimum": "many"}, OTHER),
    (NUMBER, {"x-minimum": 1}, {"x-minimum": "1e999999999"}, OTHER),
    # a type has bounds of its own
    ({"data_type": "bigint", "precision": 8}, {}, {"x-minimum": -128, "x-maximum": 127}, SAME),
    ({"data_type": "bigint", "precision": 8}, {}, {"x-minimum": 0}, TIGHTER),
    ({"data_type": "bigint", "precision": 32}, {}, {"x-maximum": 2**31 - 1}, SAME),
    (INTEGER, {}, {"x-minimum": -(2**63)}, SAME),
    (NUMBER, {}, {"x-minimum": -(2**63)}, TIGHTER),
    # steps
    (INTEGER, {}, {"x-multiple-of": 1}, SAME),
    (INTEGER, {}, {"x-multiple-of": 0.5}, SAME),
    (INTEGER, {"x-multiple-of": 1.5}, {"x-multiple-of": 3}, SAME),
    (INTEGER, {"x-multiple-of": 2}, {"x-multiple-of": 4}, TIGHTER),
    (INTEGER, {"x-multiple-of": 2}, {"x-multiple-of": 3}, OTHER),
    (INTEGER, {"x-multiple-of": 2, "x-minimum": 1}, {"x-multiple-of": 2, "x-minimum": 2}, SAME),
    (INTEGER, {"x-multiple-of": 5, "x-exclusive-maximum": 100}, {"x-multiple-of": 5, "x-maximum": 95}, SAME),
    (NUMBER, {}, {"x-multiple-of": 1}, TIGHTER),
    (NUMBER, {"x-multiple-of": 0.1}, {"x-multiple-of": 0.3}, TIGHTER),
    (NUMBER, {"x-multiple-of": 0.5, "x-exclusive-minimum": 0}, {"x-multiple-of": 0.5, "x-minimum": 0.5}, SAME),
    (NUMBER, {"x-multiple-of": 0.5, "x-minimum": 0}, {"x-multiple-of": 1, "x-minimum": 0}, TIGHTER),
    (MONEY, {}, {"x-multiple-of": 0.01}, SAME),
    (NUMBER, {"x-multiple-of": 2}, {"x-multiple-of": 0}, OTHER),
    # lengths and items
    (TEXT, {}, {"x-min-length": 0}, SAME),
    (TEXT, {}, {"x-min-length": 1}, TIGHTER),
    (TEXT, {"x-minLength": 2}, {"x-min-length": 1}, LOOSER),
    (TEXT, {"x-max-length": 20}, {"x-max-length": 10}, TIGHTER),
    (TEXT, {"x-min-length": 1, "x-max-length": 9}, {"x-min-length": 2, "x-max-length": 10}, OTHER),
    ({"data_type": "text", "precision": 10}, {}, {"x-max-length": 20}, SAME),
    ({"data_type": "text", "precision": 10}, {}, {"x-max-length": 10}, SAME),
    ({"data_type": "text", "precision": 10}, {}, {"x-max-length": 9}, TIGHTER),
    (LIST, {}, {"x-min-items": 0}, SAME),
    (LIST, {"x-max-items": 3}, {"x-max-items": 4}, LOOSER),
    (LIST, {}, {"x-unique-items": True}, TIGHTER),
    # patterns are equal or not
    (TEXT, {}, {"x-pattern": "^a"}, TIGHTER),
    (TEXT, {"x-pattern": "^a"}, {"x-pattern": "^(?:a)"}, OTHER),
    (TEXT, {"x-pattern": "^a", "x-min-length": 1}, {"x-pattern": "^a"}, LOOSER),
    # enumerations and all else
    (INTEGER, {"x-minimum": 1, "x-maximum": 3}, {"x-enum": [1, 2, 3]}, SAME),
    (INTEGER, {"x-minimum": 1, "x-maximum": 3}, {"x-enum": [1, 2]}, TIGHTER),
    (INTEGER, {"x-minimum": 1, "x-maximum": 3}, {"x-enum": [1, 2, 3, 4]}, LOOSER),
    (INTEGER, {"x-enum": [1, 5]}, {"x-minimum": 1, "x-maximum": 5}, LOOSER),
    (INTEGER, {"x-enum": [1, 5]}, {"x-minimum": 2, "x-maximum": 9}, OTHER),
    (INTEGER, {"x-enum": [0, 2, 4]}, {"x-multiple-of": 2, "x-minimum": 0, "x-maximum": 4}, SAME),
    (INTEGER, {"x-enum": [0, 1, 2], "x-minimum": 1}, {"x-enum": [1, 2]}, SAME),
    (INTEGER, {"x-enum": [1, 2]}, {"x-enum": [1, 2], "x-minimum": 1}, SAME),
    (INTEGER, {"x-enum": [1, 2]}, {"x-enum": [1, 2], "x-minimum": 2}, TIGHTER),
    (INTEGER, {"x-enum": [1, 2]}, {"x-enum": [1, 2, 3], "x-maximum": 2}, SAME),
    (INTEGER, {"x-enum": [1, 2]}, {"x-enum": [1, 2, 3]}, LOOSER),
    (INTEGER, {"x-enum": [1]}, {"x-enum": [1], "x-pattern": "^1"}, TIGHTER),
    (NUMBER, {"x-minimum": 1, "x-maximum": 3}, {"x-enum": [1, 2, 3]}, TIGHTER),
    (TEXT, {"x-enum": ["a", "bb"]}, {"x-enum": ["a", "bb"], "x-max-length": 2}, SAME),
    (TEXT, {"x-enum": ["a", "bb"]}, {"x-max-length": 2}, LOOSER),
    (TEXT, {"x-enum": ["a", "bb"]}, {"x-enum": ["a", "bb"], "x-max-length": 1}, TIGHTER),
    (TEXT, {"x-enum": ["a", None]}, {"x-enum": ["a"]}, TIGHTER),
    (FLAG, {}, {"x-enum": [True, False]}, SAME),
    (FLAG, {}, {"x-enum": [True]}, TIGHTER),
    (FLAG, {}, {"x-enum": [1, 0]}, TIGHTER),
    ({"data_type": "bigint", "precision": 8}, {"x-enum": list(range(-128, 128))}, {}, SAME),
]  # fmt: skip


@pytest.mark.parametrize(("column", "before", "after", "expected"), CASES)
def test_limits_are_judged_by_what_they_permit_in_both_directions(
    column: dict[str, Any], before: dict[str, Any], after: dict[str, Any], expected: str
) -> None:
    assert verdict({**column, **before}, {**column, **after}) == expected
    assert verdict({**column, **after}, {**column, **before}) == REVERSED[expected]


LIMITS = {
    "x-minimum": lambda limit, value: value >= limit,
    "x-maximum": lambda limit, value: value <= limit,
    "x-exclusive-minimum": lambda limit, value: value > limit,
    "x-exclusive-maximum": lambda limit, value: value < limit,
    "x-multiple-of": lambda limit, value: value % limit == 0,
    "x-enum": lambda limit, value: value in limit,
}
BOUNDS = st.integers(-130, 130) | st.integers(-12, 12).map(lambda number: number / 2)
HINTS = st.fixed_dictionaries(
    {},
    optional={
        **{name: BOUNDS for name in LIMITS if name not in ("x-multiple-of", "x-enum")},
        "x-multiple-of": st.integers(1, 6) | st.sampled_from([0.5, 1.5, 2.5]),
        "x-enum": st.lists(st.integers(-5, 5), max_size=6),
    },
)


def permitted(hints: dict[str, Any], values: list[Any]) -> set[Any]:
    return {value for value in values if all(LIMITS[name](limit, value) for name, limit in hints.items())}


def is_within(column: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    base, head = PermittedValues.of({**column, **before}), PermittedValues.of({**column, **after})
    return all(base.is_within(head, limit) for limit in Limit)


@settings(max_examples=300)
@given(HINTS, HINTS)
def test_integers_of_one_byte_are_within_others_if_each_is_one_of_them(before, after) -> None:
    values = list(range(-128, 128))
    expected = permitted(before, values) <= permitted(after, values)
    assert is_within({"data_type": "bigint", "precision": 8}, before, after) is expected


@settings(max_examples=300)
@given(HINTS, HINTS, st.sampled_from(["bigint", "double", "decimal"]))
def test_what_is_within_others_has_no_value_that_they_exclude(before, after, kind) -> None:
    values = [number / 8 for number in range(-1100, 1100)] if kind != "bigint" else list(range(-300, 300))
    if is_within({"data_type": kind}, before, after):
        assert permitted(before, values) <= permitted(after, values)
