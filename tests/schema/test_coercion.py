"""What a user meets of coercion; tests/parity/test_coercion_parity.py holds all of it to dlt."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

from schemactl.schema.coercion import can_coerce, coerce
from schemactl.schema.iso8601 import parse
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
    ("value", "from_", "to", "expected"),
    [
        ("1_000", TEXT, BIGINT, 1000),
        (" 0x1F ", TEXT, BIGINT, 31),
        ("1e3", TEXT, DOUBLE, 1000.0),
        ("12.50", TEXT, DECIMAL, Decimal("12.50")),
        ("Yes", TEXT, BOOL, True),
        ("0", TEXT, BOOL, False),
        ("0x6869", TEXT, BINARY, b"hi"),
        ("aGk=", TEXT, BINARY, b"hi"),
        ('{"a":[1]}', TEXT, JSON, {"a": [1]}),
        ("2024-01-02", TEXT, TIMESTAMP, datetime(2024, 1, 2)),
        ("12", TEXT, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 12, tzinfo=UTC)),
        ("2024-01-01T23:00:00-02:00", TEXT, DATE, date(2024, 1, 2)),
        ("03:04:05+02:00", TEXT, TIME, time(1, 4, 5)),
        (2.0, DOUBLE, BIGINT, 2),
        (0.1, DOUBLE, DECIMAL, Decimal("0.1")),
        (5, BIGINT, BOOL, True),
        (258, BIGINT, BINARY, b"\x02\x01"),
        (86_400, BIGINT, DATE, date(1970, 1, 2)),
        (Decimal("7.0"), DECIMAL, BIGINT, 7),
        (True, BOOL, TEXT, "True"),
        (b"hi", BINARY, TEXT, "aGk="),
        ({"a": Decimal("1.50"), "b": b"x"}, JSON, TEXT, '{"a":"1.50","b":"eA=="}'),
        (date(2024, 1, 2), DATE, TIMESTAMP, datetime(2024, 1, 2)),
        (time(3, 4), TIME, TEXT, "03:04:00"),
    ],
)
def test_a_value_becomes_what_dlt_would_store(value, from_, to, expected):
    result = coerce(value, from_, to)

    assert (result, type(result)) == (expected, type(expected))
    assert can_coerce(value, from_, to)


@pytest.mark.parametrize(
    ("value", "from_", "to"),
    [
        ("12.0", TEXT, BIGINT),
        ("plain words", TEXT, DOUBLE),
        ("yes ", TEXT, BOOL),
        ("abc", TEXT, BINARY),
        ("the", TEXT, JSON),
        ("NaN", TEXT, JSON),
        ("2024-02-30", TEXT, TIMESTAMP),
        ("nan", TEXT, TIMESTAMP),
        ("03:04:05", TEXT, TIMESTAMP),
        ("2024-01-02", TEXT, TIME),
        (1.5, DOUBLE, BIGINT),
        (float("inf"), DOUBLE, BIGINT),
        (Decimal("Infinity"), DECIMAL, BIGINT),
        (-1, BIGINT, BINARY),
        (10**400, BIGINT, DOUBLE),
        (10**17, BIGINT, TIMESTAMP),
        (10**20, BIGINT, DATE),
        (True, BOOL, BIGINT),
        ({}, JSON, BIGINT),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, DATE),
    ],
)
def test_a_value_that_dlt_would_put_into_a_variant_is_refused(value, from_, to):
    with pytest.raises(ValueError, match=str(to)):
        coerce(value, from_, to)
    assert not can_coerce(value, from_, to)


def test_every_type_fits_itself_without_a_look_at_the_value():
    marker = object()

    assert all(coerce(marker, data_type, data_type) is marker for data_type in DataType)
    assert all(can_coerce(marker, data_type, data_type) for data_type in DataType)


@pytest.mark.parametrize("value", [{"wide": 2**64}, {"half": "\ud800"}, {"at": time(1, tzinfo=UTC)}])
def test_json_becomes_text_that_can_be_stored_where_dlt_fails(value):
    text = coerce(value, JSON, TEXT)

    assert text.encode()
    assert can_coerce(value, JSON, TEXT)


def test_coercion_leaves_the_value_as_it_was():
    value = {"a": ["\uf026x", (1, 2)]}

    coerce(value, JSON, TEXT)

    assert value == {"a": ["\uf026x", (1, 2)]}


def test_plain_words_load_no_library():
    code = (
        "import sys\n"
        "from schemactl.schema.coercion import can_coerce\n"
        "from schemactl.schema.types import DataType\n"
        "words = ('the end', 'no way', 'inside', 'Tea', 'x' * 10_000)\n"
        "assert not any(can_coerce(word, DataType.TEXT, DataType.JSON) for word in words)\n"
        "assert 'orjson' not in sys.modules\n"
        "assert can_coerce('[1]', DataType.TEXT, DataType.JSON)\n"
        "assert 'orjson' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", date(2024, 1, 1)),
        ("2024-02", date(2024, 2, 1)),
        ("20240203", date(2024, 2, 3)),
        ("2024/02/03", date(2024, 2, 3)),
        ("2024-060", date(2024, 2, 29)),
        ("2024-W05-1", date(2024, 1, 29)),
        ("2024-W00", date(2023, 12, 25)),
        ("2020-W53-7", date(2021, 1, 3)),
        ("T0304", time(3, 4)),
        ("3:04", time(3, 4)),
        ("03:04:05,5Z", time(3, 4, 5, 500_000, UTC)),
        ("2024-01-02 03:04:05.1234567", datetime(2024, 1, 2, 3, 4, 5, 123_456)),
        ("20240102T030405-0230", datetime(2024, 1, 2, 3, 4, 5, 0, timezone(-timedelta(hours=2, minutes=30)))),
    ],
)
def test_dates_and_times_are_read_in_all_forms_of_dlt(text, expected):
    result = parse(text)

    assert (result, type(result)) == (expected, type(expected))
    if isinstance(expected, datetime | time):
        assert result.utcoffset() == expected.utcoffset()


@pytest.mark.parametrize("text", [
    "", "T", "now", "P1D", "202401", "2024-1-2", "2024-02-30", "2023-366", "2024-W53", "0000-01-01", "10000-01-01",
    " 2024-01-02", "2024-01-02T24:00:00", "2024-01-02T23:59:60", "2024-01-02T030405", "2024-01-02t03:04",
    "2024-01-02T03:04:05 UTC", "2024-01-02T03:04:05+24:00", "2024-01-02/2024-01-03", "12:",
])  # fmt: skip
def test_what_is_near_to_a_date_or_a_time_is_not_taken_for_one(text):
    with pytest.raises(ValueError, match=r"date|day|hour|second|week|year|format|offset"):
        parse(text)
