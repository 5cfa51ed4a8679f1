"""Values of one class are alike to inference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.inference.classes import classify, has_row_key, is_row_key, kind_of
from schemactl.inference.values import fits
from schemactl.schema.coercion import WEI_LIMIT, WEI_STOP
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.types import DataType

texts = st.sampled_from(
    ["", "word", "words", "12", "-1", "1.5", "2024-01-02", "2024-01-02T03:04:05Z", "true", "[1]", "{"]
)
scalars = st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | texts


@settings(max_examples=500)
@given(scalars, scalars)
def test_values_of_one_class_fit_the_same_columns_and_are_detected_alike(left, right):
    if classify(left) == classify(right):
        assert [fits(left, data_type) for data_type in DataType] == [fits(right, data_type) for data_type in DataType]
        assert [DETECTORS[name].detect(left) for name in DETECTORS] == [
            DETECTORS[name].detect(right) for name in DETECTORS
        ]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "bool"),
        (1, "bigint"),
        (1.0, "double"),
        ("1", "text"),
        ([], "list"),
        ({}, "object"),
        ({"_dlt_id": "a"}, "object"),
    ],
)
def test_the_kind_is_in_the_class(value, kind):
    assert kind_of(classify(value)) == kind


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("word", "12"),
        ("12", "1.5"),
        ("2024-01-02", "2024-01-02T03:04:05Z"),
        (1.0, 1.5),
        (-1, 1),
        (2**63 - 1, 2**63),
        (2**64 - 1, 2**64),
        (WEI_STOP - 1, WEI_STOP),
        (WEI_LIMIT, WEI_LIMIT + 1),
        ({}, {"_dlt_id": "a"}),
    ],
)
def test_what_inference_reports_apart_is_of_two_classes(left, right):
    assert classify(left) != classify(right)


def test_an_empty_row_key_is_none():
    assert not has_row_key({"_dlt_id": ""})
    assert not has_row_key({"_dlt_id": None, "id": "a"})
    assert has_row_key({"_dlt_id": 5})


@pytest.mark.parametrize(("key", "expected"), [("_dlt_id", True), ("DltId", True), ("dlt-id", True), ("id", False)])
def test_spellings_of_the_row_key(key, expected):
    assert is_row_key(key) is expected


def test_what_is_no_json_is_refused():
    with pytest.raises(TypeError, match="not a JSON value: set"):
        classify({1})
