"""The type of a value; tests/parity/test_coercion_parity.py holds it to dlt."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from schemactl.schema.coercion import type_of
from schemactl.schema.types import DataType

TEXT, BIGINT, DOUBLE, DECIMAL, WEI = (
    DataType.TEXT,
    DataType.BIGINT,
    DataType.DOUBLE,
    DataType.DECIMAL,
    DataType.WEI,
)
BOOL, BINARY, JSON = DataType.BOOL, DataType.BINARY, DataType.JSON
TIMESTAMP, DATE, TIME = DataType.TIMESTAMP, DataType.DATE, DataType.TIME


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        ("a", TEXT),
        (1, BIGINT),
        (True, BOOL),
        (1.0, DOUBLE),
        (b"a", BINARY),
        (Decimal(1), DECIMAL),
        ({}, JSON),
        ([], JSON),
        ((1, 2), JSON),
        (datetime(2024, 1, 2), TIMESTAMP),
        (date(2024, 1, 2), DATE),
        (time(3), TIME),
        (type("Name", (str,), {})("a"), TEXT),
        (type("Moment", (datetime,), {})(2024, 1, 2), TIMESTAMP),
    ],
)
def test_every_value_of_json_and_python_has_a_type(value, data_type):
    assert type_of(value) is data_type


@pytest.mark.parametrize("value", [None, object(), {1}])
def test_a_value_without_a_type_is_distinguished(value):
    with pytest.raises(TypeError, match=type(value).__name__):
        type_of(value)
