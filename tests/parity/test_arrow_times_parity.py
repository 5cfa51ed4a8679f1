"""Columns of Arrow tables and Parquet files: the schema and the rows of a dlt pipeline that loads the same table."""

from __future__ import annotations

import copy
from datetime import datetime, time
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from loaded_tables import ByDlt, BySchemactl, assert_equal, reported
from test_inference_parity import PLAIN

from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import resolve
from schemactl.schema.types import schema_from_dict

AT = datetime(2023, 11, 14, 22, 13, 20, 123000)
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
ZONES = {"naive": None, "utc": "UTC", "vienna": "Europe/Vienna"}


OWN = ("_dlt_load_id", "_dlt_id")
"""Rows of ours have them whatever the source; dlt adds them to Arrow tables where its configuration asks for them."""


def columns_of(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    columns = schema["tables"]["data"]["columns"]
    return [(name, column) for name, column in columns.items() if name not in OWN]


def without_own(rows: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in OWN} for row in rows["data"]]


def instants(unit: str, zone: str | None) -> pa.Array:
    at = AT if unit != "s" else AT.replace(microsecond=0)
    found = pa.array([at, None], pa.timestamp("us")).cast(pa.timestamp(unit))
    return found if zone is None else found.cast(pa.timestamp(unit, zone))


STATED = {
    f"{name}_{unit}": ({"data_type": "timestamp", "precision": digits, "timezone": zone is not None}, unit, zone)
    for unit, digits in UNITS.items()
    for name, zone in ZONES.items()
}


def by_dlt(folder: Any, table: pa.Table) -> ByDlt:
    theirs = ByDlt(folder)
    theirs.load([table], loader_file_format="parquet")
    return theirs


def test_a_schema_keeps_of_stated_times_what_dlt_keeps(tmp_path: Any) -> None:
    clocks = {"clock_s": pa.time32("s"), "clock_ms": pa.time32("ms"), "clock_us": pa.time64("us")}
    clocks["clock_ns"] = pa.time64("ns")
    arrays = {name: instants(unit, zone) for name, (_, unit, zone) in STATED.items()}
    arrays |= {name: pa.array([1000, None], kind) for name, kind in clocks.items()}
    theirs = by_dlt(tmp_path, pa.table(arrays))

    typed = {(name,): properties for name, (properties, *_) in STATED.items()}
    typed |= {(name,): {"data_type": "time", "precision": UNITS[name.removeprefix("clock_")]} for name in clocks}
    ours = resolve(Evidence(declared=typed), schema_from_dict(copy.deepcopy(PLAIN)), "data").schema.to_dict()

    assert columns_of(ours) == columns_of(theirs.stored)


def test_a_parquet_file_is_loaded_as_dlt_loads_it(local_engine: Any, tmp_path: Any) -> None:
    arrays = {name: instants(unit, zone) for name, (_, unit, zone) in STATED.items() if unit != "ns"}
    arrays |= {
        "clock": pa.array([time(1, 2, 3, 4), None], pa.time64("us")),
        "small": pa.array([1, None], pa.int16()),
        "price": pa.array([1, None], pa.decimal128(10, 2)),
        "note": pa.array(["a", None]),
        "nothing": pa.nulls(2),
    }
    file = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(pa.table(arrays), file)
    theirs = by_dlt(tmp_path / "theirs", pyarrow.parquet.read_table(file).drop_columns("nothing"))
    ours = BySchemactl(local_engine, tmp_path / "ours")

    ours.load_files([file])

    assert columns_of(ours.stored) == columns_of(theirs.stored)
    ours_there, theirs_there = ours.loaded(), theirs.loaded()
    assert ours_there.columns["data"][: len(arrays) - 1] == theirs_there.columns["data"]
    assert_equal("rows", map(reported, without_own(ours_there.rows)), map(reported, without_own(theirs_there.rows)))


def test_dlt_changes_no_time_zone_that_the_schema_states(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
    monkeypatch.setenv("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_ID", "true")
    theirs = ByDlt(tmp_path)
    theirs.load([{"at": "2024-01-01T00:00:00Z"}], columns={"at": {"data_type": "timestamp", "timezone": False}})
    before = schema_from_dict(theirs.stored)
    theirs.load([pa.table({"at": instants("us", "UTC")})], loader_file_format="parquet")

    zoned = {("at",): {"data_type": "timestamp", "precision": 6}}
    ours = resolve(Evidence(declared=zoned), before, "data").schema.to_dict()["tables"]["data"]["columns"]["at"]

    column = theirs.stored["tables"]["data"]["columns"]["at"]
    # Beside the type dlt writes down that Arrow allows nulls.
    assert {**ours, "nullable": True} == column
