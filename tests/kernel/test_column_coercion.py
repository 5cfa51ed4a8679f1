"""Columns are coerced as single values are, for every pair of types: all together, and each by itself."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from schemactl.kernel.coercion import Coercion, loses_nanoseconds
from schemactl.kernel.kinds import array_values, split_by_kind
from schemactl.kernel.stored import stored_type
from schemactl.schema.coercion import coerce
from schemactl.schema.types import Column, DataType

# the values are those that Spark's coercion is held to
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
    integers,
    json_values,
    made_up,
    moments_of_day,
    stored,
    texts,
)


def expected(value, kind, to):
    """Return what a column stores of a value: coerced as dlt does it, decimals rounded to its scale."""
    if value is None:
        return None
    try:
        result = coerce(value, kind, to.data_type)
        if to.data_type is DataType.JSON:
            return coerce(result, DataType.JSON, DataType.TEXT)
        if to.data_type in (DataType.DECIMAL, DataType.WEI):
            sizes = (38, 9) if to.data_type is DataType.DECIMAL else (38, 0)
            return rounded(result, *map(to.properties.get, ("precision", "scale"), sizes))
        return stored(result, to)
    except (ValueError, OverflowError):
        return None


def rounded(value, precision, scale):
    if not value.is_finite() or (value and value.adjusted() > 100):
        return None
    if not value or value.adjusted() < -100:
        return Decimal(0)
    context = Context(prec=20_000, Emax=999999, Emin=-999999)
    result = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, context)
    return result if result.copy_abs() < Decimal(10) ** (precision - scale) else None


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
    assert differences([*SPECIAL_TEXTS, None, *made_up(texts, 100)], DataType.TEXT) == []


def test_integers():
    assert differences([*SPECIAL_INTEGERS, None, *made_up(integers, 75)], DataType.BIGINT) == []


def test_doubles():
    assert differences([*SPECIAL_DOUBLES, None, *made_up(doubles, 75)], DataType.DOUBLE) == []


def test_booleans():
    assert differences([True, False, None], DataType.BOOL) == []


def test_moments():
    naive = [*EDGES, *DST_MOMENTS, *made_up(moments_of_day, 50)]
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
    assert differences([{}, [], None, *made_up(json_values, 50)], DataType.JSON) == []


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


NANOSECONDS = Column("at", {"data_type": DataType.TIMESTAMP, "precision": 9})


def in_nanoseconds(values, kind, **hints):
    column = Column("at", {**NANOSECONDS.properties, **hints})
    (found,) = split_by_kind(values, [str(kind)])
    made = Coercion(kind, column)(found)
    assert made.type == pa.timestamp("ns", None if hints else "UTC")
    return made.cast(pa.int64()).to_pylist()


def test_texts_keep_nanoseconds_where_the_column_has_them():
    texts = ["2024-01-01T00:00:00.123456789Z", "2024-01-01 02:00:00.000000001+02:00", "2024-01-01T00:00:00.5", None]
    start = 1_704_067_200_000_000_000
    expected = [start + 123_456_789, start + 1, start + 500_000_000, None]
    assert in_nanoseconds(texts, DataType.TEXT) == expected
    assert in_nanoseconds(texts, DataType.TEXT, timezone=False) == expected
    assert in_nanoseconds(texts[::-1], DataType.TEXT) == expected[::-1]


def test_spellings_that_python_reads_are_moments_among_nanoseconds():
    assert in_nanoseconds(["2024-W01-1", "1700000000", "2024-01-01T00:00:00,5Z"], DataType.TEXT) == [
        1_704_067_200_000_000_000, 1_700_000_000_000_000_000, 1_704_067_200_500_000_000
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1500-01-01T00:00:00Z", "2024-01-01T00:00:00Z"], DataType.TEXT),
        ([-14_831_769_600, 1_704_067_200], DataType.BIGINT),
        ([date(1500, 1, 1), date(2024, 1, 1)], DataType.DATE),
        ([datetime(1500, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)], DataType.TIMESTAMP),
    ],
)
def test_moments_that_nanoseconds_cannot_count_are_left(values, kind):
    assert in_nanoseconds(values, kind) == [None, 1_704_067_200_000_000_000]


def test_nanoseconds_of_arrow_are_kept_or_cut_downwards():
    moments = pa.array([1_700_000_000_123_456_789, -1, None], pa.timestamp("ns", "UTC"))
    values = array_values(moments)
    assert Coercion(DataType.TIMESTAMP, NANOSECONDS)(values).equals(moments)
    micros = Coercion(DataType.TIMESTAMP, Column("at", {"data_type": DataType.TIMESTAMP}))(values)
    assert micros.cast(pa.int64()).to_pylist() == [1_700_000_000_123_456, -1, None]
    day = Coercion(DataType.TIMESTAMP, Column("at", {"data_type": DataType.DATE}))(values)
    assert day.to_pylist() == [date(2023, 11, 14), date(1969, 12, 31), None]
    text = Coercion(DataType.TIMESTAMP, Column("at", {"data_type": DataType.TEXT}))(values)
    assert text.to_pylist() == ["2023-11-14T22:13:20.123456+00:00", "1969-12-31T23:59:59.999999+00:00", None]
    assert values.at(0) == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)


@pytest.mark.parametrize(("precision", "lost"), [(None, [True, False, True]), (9, [False, False, True])])
def test_nanoseconds_that_are_lost_are_found(precision, lost):
    texts = ["2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00.123456000Z", "2024-01-01T00:00:00.1234567891Z"]
    column = Column("at", {"data_type": DataType.TIMESTAMP, "precision": precision})
    (values,) = split_by_kind(texts, ["text"])
    assert loses_nanoseconds(values, Coercion(DataType.TEXT, column)(values)).tolist() == lost


def test_nanoseconds_of_arrow_that_are_lost_are_found():
    values = array_values(pa.array([1_700_000_000_123_456_789, 1000, None], pa.timestamp("ns")))
    micros = Coercion(DataType.TIMESTAMP, Column("at", {"data_type": DataType.TIMESTAMP}))(values)
    assert loses_nanoseconds(values, micros).tolist() == [True, False, False]
    assert loses_nanoseconds(values, Coercion(DataType.TIMESTAMP, NANOSECONDS)(values)) is None
