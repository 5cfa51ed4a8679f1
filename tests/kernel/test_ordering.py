"""Nested values as bytes: equal if the values are equal for Spark, and in Spark's order."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.kernel.ordering import comparable

SCALARS: dict[pa.DataType, list[Any]] = {
    pa.int64(): [-(2**63), -1, 0, 1, 255, 256, 2**63 - 1],
    pa.int8(): [-128, 0, 127],
    pa.float64(): [-math.inf, -1e300, -1.5, -5e-324, 0.0, 5e-324, 0.1, 1.5, math.inf, math.nan],
    pa.bool_(): [False, True],
    pa.string(): ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "ab", "b", "ż", "🦊"],
    pa.binary(): [b"", b"\0", b"\0\xff", b"\x01", b"\xff", b"\xff\0"],
    pa.decimal128(38, 3): [Decimal(-(10**34)), Decimal("-0.001"), Decimal(0), Decimal("0.001"), Decimal(10**34)],
    pa.date32(): [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    pa.time64("us"): [time(0), time(0, 0, 0, 1), time(23, 59, 59, 999999)],
    pa.timestamp("us", "UTC"): [datetime(1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)],
    pa.timestamp("ns"): [-1, 0, 1_704_164_645_000_000_006],
}
"""Values by their type, in their order."""


def codes(values: list[Any], of: pa.DataType) -> list[bytes | None]:
    array = comparable(pa.array(values, of))
    assert array.type == pa.binary()
    return array.to_pylist()


@pytest.mark.parametrize("of", SCALARS, ids=str)
def test_scalars_inside_are_in_their_order_after_null(of: pa.DataType) -> None:
    values = SCALARS[of]
    inside = codes([{"x": value} for value in (None, *values)], pa.struct({"x": of}))
    assert inside == sorted(set(inside))
    assert len(inside) == len(values) + 1
    listed = codes([[], [None], [None, values[0]], *([value] for value in values)], pa.list_(of))
    assert listed == sorted(set(listed))


def test_both_zeros_and_all_nans_are_equal() -> None:
    of = pa.list_(pa.float64())
    negative_nan = math.copysign(math.nan, -1)
    assert len(set(codes([[0.0], [-0.0]], of))) == 1
    assert len(set(codes([[math.nan], [negative_nan]], of))) == 1


def test_maps_are_equal_whatever_the_order_of_their_entries() -> None:
    of = pa.map_(pa.string(), pa.int64())
    first, second, other, without, empty = codes(
        [[("a", 1), ("b", None)], [("b", None), ("a", 1)], [("a", 1)], [("a", 1), ("b", 0)], []], of
    )
    assert first == second
    assert len({first, other, without, empty}) == 4


def test_null_stays_null_and_slices_are_read_as_slices() -> None:
    of = pa.struct({"l": pa.list_(pa.map_(pa.string(), pa.decimal128(9, 2))), "n": pa.int8()})
    values = [{"l": [[("k", Decimal(number))], None], "n": number} for number in range(5)]
    array = pa.array([*values, None, {"l": None, "n": None}], of)
    whole = comparable(array).to_pylist()
    assert whole[5] is None
    assert whole[6] is not None
    for start in range(7):
        assert comparable(array.slice(start, 2)).to_pylist() == whole[start : start + 2]


NESTED = pa.list_(pa.struct({"n": pa.int64(), "l": pa.list_(pa.string())}))
elements = st.none() | st.fixed_dictionaries(
    {"n": st.none() | st.integers(-2, 2), "l": st.none() | st.lists(st.none() | st.sampled_from("ab"), max_size=2)}
)


def rank(value: Any) -> Any:
    """Return a value as tuples in its order: null before all values."""
    match value:
        case None:
            return (0,)
        case dict():
            return (1, rank(value["n"]), rank(value["l"]))
        case list():
            return (1, tuple(map(rank, value)))
        case _:
            return (1, value)


@given(st.lists(st.lists(elements, max_size=3), min_size=2, max_size=8))
def test_nested_values_are_in_the_order_of_their_parts(values: list[Any]) -> None:
    by_code = [value for _, value in sorted(zip(codes(values, NESTED), values, strict=True), key=lambda item: item[0])]
    assert list(map(rank, by_code)) == sorted(map(rank, values))


def test_times_and_nanoseconds_become_integers_and_other_scalars_stay() -> None:
    assert comparable(pa.array([1], pa.timestamp("ns"))).equals(pa.array([1]))
    assert comparable(pa.array([time(0, 0, 1)])).equals(pa.array([1_000_000]))
    moments = pa.array([1], pa.timestamp("us"))
    assert comparable(moments) is moments


@pytest.mark.spark
def test_spark_sorts_nested_values_alike(spark: Any) -> None:
    of = pa.struct({"n": pa.float64(), "l": pa.list_(pa.string())})
    numbers, lists = [None, math.nan, -1.5, 0.0, math.inf], [None, [], [None], ["a"], ["a", None], ["a", "b"], ["b"]]
    values = [{"n": number, "l": texts} for number in numbers for texts in lists]
    table = pa.table({"id": range(len(values)), "v": pa.array(values, of)})
    rows = spark.createDataFrame(table).orderBy("v").select("id").collect()
    by_code = sorted(range(len(values)), key=dict(enumerate(codes(values, of))).__getitem__)
    assert [row.id for row in rows] == by_code
