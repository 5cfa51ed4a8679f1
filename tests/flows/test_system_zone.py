"""The time zone of the machine: values with and without a zone of their own are loaded alike everywhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import Shop

from schemactl.normalization.report import Outcome

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"], indirect=True)
def test_the_zone_of_the_system_counts_nowhere(zone: str, shop: Shop) -> None:
    assert datetime.fromtimestamp(0).astimezone().utcoffset() != timedelta()
    documents = [{"at": "2024-07-01T12:00:00"}, {"at": "2024-07-01T14:00:00+02:00"}, {"at": "2024-07-01T12:00:00Z"}]
    assert shop.load(shop.write("orders.jsonl", *documents)).outcome is Outcome.LOADED
    pq.write_table(pa.table({"at": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))}), "orders.parquet")
    assert shop.load("orders.parquet", name="typed", table="typed").outcome is Outcome.LOADED
    assert shop.rows("orders", "at") == [(NOON,)] * 3
    assert [row.replace(tzinfo=UTC) for (row,) in shop.rows("typed", "at")] == [NOON]
