"""What evidence says of classes is so for their values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survival_samples import SCALARS, TARGETS, evidence_of

from schemactl.inference.classes import classify, kind_of
from schemactl.inference.survival import Verdict, judge_class, survives
from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType


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
        (["a", "abc"], FullType(DataType.TEXT, 3), Verdict.ALL),
        (["abcd", "abcde"], FullType(DataType.TEXT, 3), Verdict.NONE),
        (["a b", "a bc"], FullType(DataType.TEXT, 3), Verdict.OPEN),
        ([-3, -300], FullType(DataType.BIGINT, 8), Verdict.OPEN),
        ([3, 127], FullType(DataType.BIGINT, 8), Verdict.ALL),
        ([2**63, 2**64 - 1], FullType(DataType.BIGINT, 64), Verdict.NONE),
        ([2.5], FullType(DataType.BIGINT, 64), Verdict.NONE),
        ([300.0, 3.0], FullType(DataType.BIGINT, 64), Verdict.ALL),
        ([2, 999], FullType(DataType.DECIMAL, 5, 2), Verdict.ALL),
        ([2, 1000], FullType(DataType.DECIMAL, 5, 2), Verdict.OPEN),
        ([2, 10**6], FullType(DataType.DOUBLE), Verdict.ALL),
        ([2**53 - 1], FullType(DataType.DOUBLE), Verdict.ALL),
        ([2**53 + 1], FullType(DataType.DOUBLE), Verdict.OPEN),
        (["words here"], FullType(DataType.DATE), Verdict.NONE),
        ([True], FullType(DataType.BIGINT, 64), Verdict.NONE),
        ([{"a": 1}], FullType(DataType.JSON), Verdict.ALL),
        ([[1]], FullType(DataType.BIGINT, 64), Verdict.NONE),
    ],
)
def test_evidence_decides_what_it_can(values: list[Any], target: FullType, expected: Verdict) -> None:
    classes = {
        name: seen
        for name, seen in evidence_of(*({"v": value} for value in values)).paths[("v",)].items()
        if kind_of(name) == kind_of(classify(values[-1]))
    }
    verdicts = {judge_class(name, seen, target) for name, seen in classes.items()}
    assert verdicts == {expected}
