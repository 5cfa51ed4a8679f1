from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, Inexact
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.schema.coercion import coerce
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.types import Column, DataType
from schemactl.schema.widening import holds_all, type_properties, widened_column, widened_types

MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)


def typed(name: str, precision: int | None = None, scale: int | None = None, **properties: Any) -> FullType:
    full = full_type({"data_type": name, "precision": precision, "scale": scale, **properties})
    assert full is not None
    return full


@pytest.mark.parametrize(
    ("first", "second", "candidates"),
    [
        (typed("bigint", 16), typed("bigint", 32), ["bigint(32)"]),
        (typed("bigint", 32), typed("bigint"), ["bigint"]),
        (typed("bigint"), typed("double"), ["double", "decimal(38, 9)"]),
        (typed("bigint", 32), typed("double"), ["double"]),
        (typed("bigint"), typed("decimal", 10, 2), ["decimal(21, 2)"]),
        (typed("bigint", 32), typed("decimal", 20, 2), ["decimal(20, 2)"]),
        (typed("bigint"), typed("decimal", 38, 30), ["decimal(38, 30)"]),
        (typed("bigint"), typed("wei"), ["wei"]),
        (typed("wei"), typed("decimal", 10, 2), ["decimal(38, 2)"]),
        (typed("decimal", 10, 2), typed("decimal", 8, 4), ["decimal(12, 4)"]),
        (typed("double"), typed("decimal"), []),
        (typed("double"), typed("wei"), []),
        (typed("date"), typed("timestamp", 3), ["timestamp(3)"]),
        (typed("date"), typed("timestamp", timezone=False), ["timestamp without time zone"]),
        (typed("timestamp", 3), typed("timestamp", 9), ["timestamp(9)"]),
        (typed("timestamp", timezone=False), typed("timestamp", 3), ["timestamp"]),
        (typed("time", 0), typed("time"), ["time"]),
        (typed("text", 5), typed("text", 9), ["text(9)"]),
        (typed("text", 5), typed("text"), ["text"]),
        (typed("binary", 5), typed("binary", 6), ["binary(6)"]),
        (typed("bool"), typed("bigint"), []),
        (typed("bool"), typed("text"), []),
        (typed("date"), typed("time"), []),
        (typed("json"), typed("text"), []),
        (typed("bool"), typed("bool"), ["bool"]),
    ],
)
def test_two_types_widen_to_the_narrowest_types_that_can_hold_both(
    first: FullType, second: FullType, candidates: list[str]
) -> None:
    assert list(map(str, widened_types(first, second))) == candidates
    assert list(map(str, widened_types(second, first))) == candidates


def test_a_decimal_beside_integers_has_the_places_that_doubles_need() -> None:
    assert widened_types(typed("bigint"), typed("double"), scale=12)[1:] == (typed("decimal", 38, 12),)
    assert widened_types(typed("bigint"), typed("double"), scale=20) == (typed("double"),)


@pytest.mark.parametrize("other", ["bool", "bigint", "double", "date", "time", "binary", "timestamp", "wei", "text"])
def test_text_holds_other_scalars_only_on_request(other: str) -> None:
    bool_type = typed("bool")

    if other != "bool":
        assert widened_types(bool_type, typed(other)) == ()
        assert widened_types(bool_type, typed(other), allow_text=True) == (typed("text"),)


def test_no_type_holds_json_beside_a_scalar() -> None:
    assert widened_types(typed("json"), typed("bigint"), allow_text=True) == ()


@pytest.mark.parametrize(
    ("stored", "wider", "holds"),
    [
        ("bigint", "double", False),
        ("bigint", "decimal", True),
        ("double", "decimal", False),
        ("double", "wei", False),
        ("date", "timestamp", True),
        ("wei", "decimal", False),
    ],
)
def test_a_type_tells_whether_it_holds_all_values_of_another(stored: str, wider: str, holds: bool) -> None:
    assert holds_all(typed(stored), typed(wider)) is holds


TYPES = st.one_of(
    st.builds(lambda bits: typed("bigint", bits), st.sampled_from([8, 16, 32, 64])),
    st.just(typed("double")),
    st.integers(1, 38).flatmap(
        lambda digits: st.builds(lambda scale: typed("decimal", digits, scale), st.integers(0, digits))
    ),
    st.builds(lambda digits: typed("wei", digits), st.sampled_from([None, 20, 38])),
    st.builds(lambda size: typed("text", size), st.sampled_from([None, 1, 5])),
    st.builds(lambda size: typed("binary", size), st.sampled_from([None, 1, 5])),
    st.builds(lambda size, zone: typed("timestamp", size, timezone=zone), st.integers(0, 6), st.booleans()),
    st.builds(lambda size: typed("time", size), st.integers(0, 6)),
    st.sampled_from([typed("date"), typed("bool"), typed("json")]),
)


def values_of(of: FullType) -> st.SearchStrategy[Any]:
    match of.data_type:
        case DataType.BIGINT:
            limit = 2 ** ((of.precision or 64) - 1)
            return st.integers(-limit, limit - 1) | st.sampled_from([-limit, limit - 1])
        case DataType.DOUBLE:
            return st.floats()
        case DataType.DECIMAL | DataType.WEI:
            largest = 10 ** (of.precision or 38) - 1
            return st.integers(-largest, largest).map(lambda n: Decimal(n).scaleb(-(of.scale or 0), Context(prec=60)))
        case DataType.TEXT:
            return st.text(max_size=of.precision or 9)
        case DataType.BINARY:
            return st.binary(max_size=of.precision or 9)
        case DataType.TIMESTAMP:
            unit = 10 ** (6 - (of.precision or 0))
            return st.integers(0, 10**9).map(lambda n: MIDNIGHT + timedelta(microseconds=n * unit))
        case DataType.DATE:
            return st.dates()
        case _:
            return st.just(None)


def survives(value: Any, stored: FullType, wider: FullType) -> bool:
    """Return whether dlt's coercion gives the same value, with Python's values as the oracle."""
    if value is None:
        return True
    converted = coerce(value, stored.data_type, wider.data_type)
    if (stored.data_type, wider.data_type) == (DataType.DATE, DataType.TIMESTAMP):
        return converted == datetime(value.year, value.month, value.day)
    if wider.data_type is DataType.DOUBLE:
        return struct.pack("d", converted) == struct.pack("d", value) if stored == wider else converted == value
    if wider.data_type in (DataType.DECIMAL, DataType.WEI):
        exact = Context(prec=wider.precision or 78, traps=[Inexact])
        number = converted.quantize(Decimal(1).scaleb(-(wider.scale or 0)), context=exact)
        return number == value
    if wider.data_type is DataType.BIGINT:
        limit = 2 ** ((wider.precision or 64) - 1)
        return converted == value and -limit <= converted < limit
    size = wider.precision
    is_sized = wider.data_type in (DataType.TEXT, DataType.BINARY) and size is not None
    return converted == value and (not is_sized or len(converted) <= size)


@given(TYPES, TYPES, st.data())
def test_every_value_of_a_type_survives_in_a_type_that_holds_all(
    first: FullType, second: FullType, data: st.DataObject
) -> None:
    for wider in widened_types(first, second):
        for stored in (first, second):
            if holds_all(stored, wider):
                value = data.draw(values_of(stored))
                assert survives(value, stored, wider)


@given(TYPES, TYPES)
def test_widening_does_not_depend_on_the_order_of_types(first: FullType, second: FullType) -> None:
    assert widened_types(first, second) == widened_types(second, first)
    assert widened_types(first, first) == (first,)


@given(TYPES)
def test_a_type_is_written_as_the_properties_that_mean_it(of: FullType) -> None:
    assert full_type(type_properties(of)) == of


def test_a_widened_column_keeps_its_other_properties() -> None:
    column = Column("price", {"nullable": False, "data_type": "bigint", "precision": 32, "x-team": "shop"})

    widened = widened_column(column, typed("decimal", 21, 2))

    expected = {"nullable": False, "data_type": "decimal", "precision": 21, "x-team": "shop", "scale": 2}
    assert dict(widened.properties) == expected
