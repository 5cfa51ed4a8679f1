"""Of two stated types the wider one takes what both take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.values import TypedValue, fits
from schemactl.inference.widening import widen
from schemactl.schema.types import DataType

numbers = st.sampled_from(
    [{}, {"precision": 16}, {"precision": 32}, {"precision": 10, "scale": 2}, {"precision": 38, "scale": 9}]
)
zones = st.sampled_from([{}, {"timezone": False}])
types = st.sampled_from([str(data_type) for data_type in DataType])
columns = st.builds(lambda data_type, *more: {"data_type": data_type, **more[0], **more[1]}, types, numbers, zones)


@given(columns, columns, columns)
def test_widening_is_associative_and_commutative(first, second, third):
    assert widen(first, second) == widen(second, first)
    assert widen(widen(first, second), third) == widen(first, widen(second, third))
    assert widen(first, first) == first


@given(columns, columns)
def test_both_fit_the_wider_one(left, right):
    wider = DataType(widen(left, right)["data_type"])
    assert fits(TypedValue(left), wider)
    assert fits(TypedValue(right), wider)


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        (
            {"data_type": "bigint", "precision": 16},
            {"data_type": "bigint", "precision": 32},
            {"data_type": "bigint", "precision": 32},
        ),
        ({"data_type": "bigint", "precision": 16}, {"data_type": "bigint"}, {"data_type": "bigint"}),
        (
            {"data_type": "decimal", "precision": 10, "scale": 2},
            {"data_type": "decimal", "precision": 12, "scale": 6},
            {"data_type": "decimal", "precision": 14, "scale": 6},
        ),
        ({"data_type": "bigint"}, {"data_type": "double"}, {"data_type": "double"}),
        ({"data_type": "date"}, {"data_type": "timestamp", "precision": 6}, {"data_type": "timestamp"}),
        ({"data_type": "bool"}, {"data_type": "bigint"}, {"data_type": "text"}),
    ],
)
def test_wider_types(left, right, wider):
    assert widen(left, right) == wider
