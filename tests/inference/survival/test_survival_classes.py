"""What evidence says of classes is so for their values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from survival_samples import SCALARS, TARGETS, evidence_of

from schemactl.inference.classes import classify, kind_of
from schemactl.inference.survival.classes import Verdict, judge_class
from schemactl.inference.survival.target import Target
from schemactl.inference.survival.values import survives
from schemactl.schema.types import DataType


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(SCALARS, st.integers(-(10**90), 10**90)), min_size=1, max_size=12))
def test_what_evidence_is_sure_of_is_so(values: list[Any]) -> None:
    for name, seen in evidence_of(*({"v": value} for value in values)).paths[("v",)].items():
        members = [value for value in values if classify(value) == name]
        for target in TARGETS:
            answers = {survives(value, target) for value in members}
            allowed = {Verdict.ALL: {True}, Verdict.NONE: {False}, Verdict.OPEN: {True, False}}
            assert answers <= allowed[judge_class(name, seen, target)], (name, members, target)


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        (["a", "abc"], Target(DataType.TEXT, 3), Verdict.ALL),
        (["abcd", "abcde"], Target(DataType.TEXT, 3), Verdict.NONE),
        (["a b", "a bc"], Target(DataType.TEXT, 3), Verdict.OPEN),
        ([-3, -300], Target(DataType.BIGINT, 8), Verdict.OPEN),
        ([3, 127], Target(DataType.BIGINT, 8), Verdict.ALL),
        ([2**63, 2**64 - 1], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([2.5], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([300.0, 3.0], Target(DataType.BIGINT, 64), Verdict.ALL),
        ([2, 999], Target(DataType.DECIMAL, 5, 2), Verdict.ALL),
        ([2, 1000], Target(DataType.DECIMAL, 5, 2), Verdict.OPEN),
        ([2, 10**6], Target(DataType.DOUBLE), Verdict.ALL),
        (["words here"], Target(DataType.DATE), Verdict.NONE),
        ([True], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([{"a": 1}], Target(DataType.JSON), Verdict.ALL),
        ([[1]], Target(DataType.BIGINT, 64), Verdict.NONE),
    ],
)
def test_evidence_decides_what_it_can(values: list[Any], target: Target, expected: Verdict) -> None:
    classes = {
        name: seen
        for name, seen in evidence_of(*({"v": value} for value in values)).paths[("v",)].items()
        if kind_of(name) == kind_of(classify(values[-1]))
    }
    verdicts = {judge_class(name, seen, target) for name, seen in classes.items()}
    assert verdicts == {expected}
