"""Rows that databases return become rows of Arrow's types, to the last digit."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from schemactl.destinations._table_rows import batches_of
from schemactl.schema.types import Column, Table

LAST_MOMENT = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)


@pytest.mark.parametrize(
    ("data_type", "value", "read"),
    [
        ("timestamp", 253_402_300_799_999_999, LAST_MOMENT),  # microseconds since 1970, of most databases
        ("timestamp", "9999-12-31 23:59:59.999999", LAST_MOMENT),  # as SQLite has it
        ("timestamp", -62_135_596_800_000_000, datetime(1, 1, 1, tzinfo=UTC)),
        ("bool", 1, True),
        ("bool", 0, False),
        ("date", "0001-01-01", date(1, 1, 1)),
        ("time", "23:59:59.999999", time(23, 59, 59, 999_999)),
        ("time", timedelta(days=1) - timedelta(microseconds=1), time(23, 59, 59, 999_999)),
        ("decimal", 1.5, Decimal("1.500000000")),
        ("decimal", 2**53 + 1, Decimal(2**53 + 1)),
        ("wei", 2**62, Decimal(2**62)),
        ("wei", Decimal(f"{10**37 + 1}.{'0' * 78}"), Decimal(10**37 + 1)),  # of PostgreSQL
        ("text", None, None),
        ("bool", None, None),
        ("timestamp", None, None),
    ],
)
def test_values_have_the_types_of_their_columns(data_type: str, value: Any, read: Any) -> None:
    (batch,) = batches_of(Table("t", {"x": Column("x", {"data_type": data_type})}), [(value,)])

    assert batch.to_pylist() == [{"x": read}]
