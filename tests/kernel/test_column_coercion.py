"""Columns are coerced as single values are, for every pair of types: all together, and each by itself."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from schemactl.kernel.coercion import Coercion
from schemactl.kernel.kinds import split_by_kind
from schemactl.kernel.stored import stored_type
from schemactl.schema.types import Column, DataType

# the values, and what is expected of them, are those that Spark's coercion is held to
sys.path.append(str(Path(__file__).parents[1] / "engine"))
from test_coercion_on_spark import (
    DST_MOMENTS,
    EDGES,
    SPECIAL_DOUBLES,
    SPECIAL_INTEGERS,
    SPECIAL_TEXTS,
    TARGETS,
    comparable,
    doubles,
    expected,
    integers,
    json_values,
    made_up,
    moments_of_day,
    texts,
)


def outcomes(values, kind, to, **options):
    """Return the values of the stored column."""
    coercion, made = Coercion(kind, to, **options), [None] * len(values)
    for found in split_by_kind(values, [str(each) for each in DataType]):
        assert found.kind is kind
        array = coercion(found)
        assert array.type == stored_type(to)
        reported = comparable_array(array)
        made = [new if new is not None else old for new, old in zip(reported, made, strict=True)]
    return made


def comparable_array(array):
    if pa.types.is_time(array.type):
        return array.cast(pa.int64()).to_pylist()
    return comparable(array)


def differences(values, kind):
    found = []
    for to in TARGETS:
        together = outcomes(values, kind, to)
        alone = [outcomes([value], kind, to)[0] for value in values]
        for value, *both in zip(values, together, alone, strict=True):
            right = expected(value, kind, to)
            for ours in both:
                if type(ours) is not type(right) or ours != right:
                    found.append(f"{value!r:.80} to {to.name}: {ours!r:.80}, not {right!r:.80}")
    return found


def test_texts():
    assert differences([*SPECIAL_TEXTS, None, *made_up(texts, 700)], DataType.TEXT) == []


def test_integers():
    assert differences([*SPECIAL_INTEGERS, None, *made_up(integers, 300)], DataType.BIGINT) == []


def test_doubles():
    assert differences([*SPECIAL_DOUBLES, None, *made_up(doubles, 500)], DataType.DOUBLE) == []


def test_booleans():
    assert differences([True, False, None], DataType.BOOL) == []


def test_moments():
    naive = [*EDGES, *DST_MOMENTS, *made_up(moments_of_day, 300)]
    assert differences([None, *naive], DataType.TIMESTAMP) == []
    assert differences([None, *(moment.replace(tzinfo=UTC) for moment in naive)], DataType.TIMESTAMP) == []


def test_days_clocks_bytes_and_decimals():
    assert differences([date.min, date.max, date(1969, 12, 31), None], DataType.DATE) == []
    assert differences([time(0), time.max, time(3, 4, 5, 120000), None], DataType.TIME) == []
    assert differences([b"", b"\x00\xff", b"x" * 100, None], DataType.BINARY) == []
    numbers = ["0", "-0.10", "1.005", "99.995", "-0.000000001", "12345678901234567890123456789", "127", "1E-9"]
    # a column has one scale
    scaled = [Decimal(number).quantize(Decimal("1E-9"), context=Context(prec=60)) for number in numbers]
    assert differences([*scaled, None], DataType.DECIMAL) == []


def test_objects_and_lists():
    assert differences([{}, [], None, *made_up(json_values, 300)], DataType.JSON) == []


@pytest.mark.parametrize(
    ("properties", "values", "kept"),
    [
        ({"data_type": "decimal", "precision": 10, "scale": 2}, ["1.50", "1.505"], [True, False]),
        ({"data_type": "text", "precision": 3}, ["abc", "abcd", "äöü"], [True, False, True]),
        ({"data_type": "binary", "precision": 1}, [b"a", b"ab"], [True, False]),
        ({"data_type": "timestamp", "timezone": False}, [datetime(2024, 1, 1)], [True]),
        ({"data_type": "timestamp"}, [datetime(2024, 1, 1)], [False]),
    ],
)
def test_exact_columns_take_what_they_hold_as_it_is(properties, values, kept):
    column = Column("c", properties)
    given = [Decimal(value) for value in values] if column.data_type is DataType.DECIMAL else values
    assert [value is not None for value in outcomes(given, column.data_type, column, is_exact=True)] == kept
