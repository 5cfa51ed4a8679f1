"""The conversions that reviews judge by, held to dlt's own ``coerce_value``."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from schemactl.schema.conversions import CONVERSIONS, Conversion, conversion
from schemactl.schema.types import DataType

coerce_value = pytest.importorskip("dlt.common.data_types").coerce_value
Wei = pytest.importorskip("dlt.common.wei").Wei

SAMPLES = {
    DataType.TEXT: [
        *("abc", "1", "1.5", "0x0a", "1e3", "true", "{}", "eA=="),
        *("2024-01-02", "2024-01-02T03:04:05Z", "12:00:00"),
    ],
    DataType.DOUBLE: [0.0, 1.0, -1.0, 2.5, 0.1, 1e300, 1e-12],
    DataType.BOOL: [True, False],
    DataType.TIMESTAMP: [datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)],
    DataType.BIGINT: [0, 1, -1, 2**53 + 1, 2**62],
    DataType.BINARY: [b"", b"12", b"\xff\xfe"],
    DataType.JSON: [{}, [1], {"a": 1.5}, {"a": {"b": None}}],
    DataType.DECIMAL: [Decimal(0), Decimal(1), Decimal("2.5"), Decimal("-12345678901234567890.123456789")],
    DataType.WEI: [Wei(0), Wei(5), Wei(10**40 + 1)],
    DataType.DATE: [date(2024, 1, 2), date(1, 1, 1)],
    DataType.TIME: [time(0), time(1, 2, 3, 4)],
}

REINTERPRETED = {
    *((number, DataType.BOOL) for number in (DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI)),
    *(
        (number, moment)
        for number in (DataType.BIGINT, DataType.DOUBLE)
        for moment in (DataType.TIMESTAMP, DataType.DATE)
    ),
}
"""Pairs that dlt converts by giving the value another meaning."""

MEANINGS = {
    DataType.BOOL: True,
    DataType.DATE: date(1970, 1, 1),
    DataType.TIMESTAMP: datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
}
"""What dlt makes of one, or of any number but zero."""

ROUNDED = {(DataType.DOUBLE, DataType.WEI), (DataType.DECIMAL, DataType.WEI)}
"""Pairs that dlt converts and the destination rounds."""


def is_taken(value, before, after):
    try:
        coerce_value(after, before, value)
    except (ValueError, OverflowError):
        return False
    return True


def taken(before, after):
    return [is_taken(value, before, after) for value in SAMPLES[before]]


def pairs(*kinds):
    return [pair for pair, kind in CONVERSIONS.items() if kind in kinds]


@pytest.mark.parametrize(("before", "after"), pairs(Conversion.REFUSED))
def test_dlt_takes_no_value_of_a_refused_pair(before, after):
    assert not any(taken(before, after))


@pytest.mark.parametrize(("before", "after"), pairs(Conversion.WHOLE))
def test_dlt_takes_every_value_of_a_whole_pair(before, after):
    assert all(taken(before, after))


@pytest.mark.parametrize(("before", "after"), [pair for pair in pairs(Conversion.DEPENDS) if pair not in ROUNDED])
def test_dlt_takes_some_values_of_a_pair_that_depends(before, after):
    found = taken(before, after)
    assert any(found)
    assert not all(found)


@pytest.mark.parametrize(("before", "after"), sorted(ROUNDED))
def test_dlt_makes_a_wei_with_a_fraction_and_leaves_it_to_the_destination(before, after):
    value = next(value for value in SAMPLES[before] if value == Decimal("2.5"))
    assert coerce_value(after, before, value) % 1 != 0
    assert conversion(before, after) == Conversion.DEPENDS


@pytest.mark.parametrize(("before", "after"), [pair for pair in pairs(Conversion.LOSES) if pair not in REINTERPRETED])
def test_dlt_takes_every_value_of_a_pair_that_loses_and_some_do_not_come_back(before, after):
    back = [coerce_value(before, after, coerce_value(after, before, value)) for value in SAMPLES[before]]
    if before == DataType.TIMESTAMP:
        back = [moment.replace(tzinfo=UTC) for moment in back]
    assert back != SAMPLES[before]


@pytest.mark.parametrize(("before", "after"), sorted(REINTERPRETED))
def test_dlt_gives_numbers_another_meaning(before, after):
    assert conversion(before, after) == Conversion.LOSES
    assert coerce_value(after, before, SAMPLES[before][1]) == MEANINGS[after]
