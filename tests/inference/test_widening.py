"""Of two stated types the wider one takes what both take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.values import DeclaredValue, fits
from schemactl.inference.widening import widen, with_room
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
    assert fits(DeclaredValue(left), wider)
    assert fits(DeclaredValue(right), wider)


@pytest.mark.parametrize(("left", "right", "wider"), [
    ({"data_type": "bigint", "precision": 16}, {"data_type": "bigint", "precision": 32},
     {"data_type": "bigint", "precision": 32}),
    ({"data_type": "bigint", "precision": 16}, {"data_type": "bigint"}, {"data_type": "bigint"}),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, {"data_type": "decimal", "precision": 12, "scale": 6},
     {"data_type": "decimal", "precision": 14, "scale": 6}),
    ({"data_type": "bigint"}, {"data_type": "double"}, {"data_type": "double"}),
    ({"data_type": "date"}, {"data_type": "timestamp", "precision": 6}, {"data_type": "timestamp"}),
    ({"data_type": "bool"}, {"data_type": "bigint"}, {"data_type": "text"}),
])  # fmt: skip
def test_wider_types(left, right, wider):
    assert widen(left, right) == wider


DECIMAL = {"data_type": "decimal", "precision": 6, "scale": 2, "description": "d"}
NAIVE = {"data_type": "timestamp", "timezone": False}


@pytest.mark.parametrize(
    ("column", "stated", "grown"),
    [
        (DECIMAL, {"precision": 12, "scale": 4}, {**DECIMAL, "precision": 12, "scale": 4}),
        (DECIMAL, {"precision": 4, "scale": 3}, {**DECIMAL, "precision": 7, "scale": 3}),
        (DECIMAL, {"precision": 5, "scale": 2}, DECIMAL),
        (DECIMAL, {"precision": 38, "scale": 0}, DECIMAL),
        (DECIMAL, {}, DECIMAL),
        ({"data_type": "decimal"}, {"precision": 12, "scale": 4}, {"data_type": "decimal"}),
        ({"data_type": "bigint", "precision": 16}, {"precision": 32}, {"data_type": "bigint", "precision": 32}),
        ({"data_type": "bigint", "precision": 16}, {"precision": 64}, {"data_type": "bigint"}),
        ({"data_type": "bigint"}, {"precision": 32}, {"data_type": "bigint"}),
        ({"data_type": "text", "precision": 3}, {"precision": 9}, {"data_type": "text", "precision": 9}),
        ({"data_type": "text", "precision": 3}, {}, {"data_type": "text", "precision": 3}),
        ({"data_type": "text"}, {"precision": 3}, {"data_type": "text"}),
        (NAIVE, {"precision": 6}, NAIVE),
        (NAIVE, {"timezone": False}, NAIVE),
        ({"data_type": "timestamp"}, {"timezone": False, "precision": 6}, {"data_type": "timestamp"}),
        ({"data_type": "timestamp", "precision": 3}, {"precision": 6}, {"data_type": "timestamp", "precision": 3}),
    ],
)
def test_a_column_gets_room_for_what_a_source_states(column, stated, grown):
    assert with_room(column, {"data_type": column["data_type"], **stated}) == grown


def test_another_data_type_asks_for_no_room():
    assert with_room(DECIMAL, {"data_type": "bigint", "precision": 64}) == DECIMAL
