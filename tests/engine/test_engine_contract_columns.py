"""The same files of typed columns give the same on both engines (``test_engine_contract``)."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_outcomes import Contract, normalize_outcome, request, scan_outcome

pytestmark = pytest.mark.spark

UTC = ZoneInfo("UTC")

MOMENTS = [
    datetime(2024, 1, 1, 12, 0, 0, 123456), None, datetime(1500, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999),
]  # fmt: skip


def moments_table() -> pa.Table:
    moment = pa.timestamp("us")
    return pa.table(
        {
            "at": pa.array(MOMENTS, moment),
            "id": pa.array(range(len(MOMENTS)), pa.int64()),
            "zoned": pa.array(MOMENTS, pa.timestamp("us", "Asia/Kolkata")),
            "inside": pa.array([{"n": 1, "at": at} for at in MOMENTS], pa.struct({"n": pa.int8(), "at": moment})),
            "listed": pa.array([[at, None] for at in MOMENTS], pa.list_(moment)),
            "mapped": pa.array([[("k", at)] for at in MOMENTS], pa.map_(pa.string(), moment)),
        }
    )


@pytest.mark.parametrize("stores_schema", [True, False])
def test_parquet_timestamps_of_the_old_type_int96(contract: Contract, stores_schema: bool) -> None:
    options = {"use_deprecated_int96_timestamps": True, "row_group_size": 4, "store_schema": stores_schema}
    pq.write_table(moments_table(), contract.data / "a.parquet", **options)
    contract.check(scan_outcome, ("../data",))
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error
    rows = sorted(outcome.tables["data"][1], key=lambda row: row["id"])
    assert [row["at"] for row in rows] == [repr(at and at.replace(tzinfo=UTC)) for at in MOMENTS]


def test_parquet_nanoseconds_of_the_old_type_int96_are_cut(contract: Contract) -> None:
    table = pa.table({"at": pa.array([1, 1_999, -1], pa.timestamp("ns"))})
    pq.write_table(table, contract.data / "a.parquet", use_deprecated_int96_timestamps=True)
    outcome = contract.check(normalize_outcome, request("../data"))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [epoch, epoch + timedelta(microseconds=1), epoch - timedelta(microseconds=1)]
    assert sorted(row["at"] for row in outcome.tables["data"][1]) == sorted(map(repr, moments))


def test_parquet_files_with_the_old_and_the_new_type_come_apart(contract: Contract) -> None:
    table = pa.table({"id": [1, 2], "at": pa.array([0, 1], pa.timestamp("us"))})
    pq.write_table(table, contract.data / "a.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(table, contract.data / "b.parquet")
    zoned = table.set_column(1, "at", table["at"].cast(pa.timestamp("us", "UTC")))
    pq.write_table(zoned, contract.data / "c.parquet")
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error
