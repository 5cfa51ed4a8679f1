"""The same files of typed columns give the same on both engines (``test_engine_contract``)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from engine_outcomes import Contract, normalize_outcome, request, scan_outcome

from schemactl.engine.spark.reading.columnar import allow_all_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


# --- files that Spark writes ---

SPARK_TYPES = {
    "naive": "timestamp_ntz'2024-01-02 03:04:05.123456'",
    "moment": "timestamp'1999-12-31 23:59:59.999999'",
    "code": "cast('abc' as char(5))",
    "label": "cast('abc' as varchar(5))",
    "amount": "cast(-12.50 as decimal(9, 2))",
    "day": "date'2024-02-29'",
    "octets": "x'00ff'",
    "small": "cast(7 as tinyint)",
    "ratio": "cast('NaN' as double)",
    "inside": "named_struct('at', timestamp_ntz'2024-01-02 03:04:05', 'tags', array('a', null))",
    "listed": "array(timestamp_ntz'2024-01-02 03:04:05', null)",
    "mapped": "map('k', timestamp_ntz'2024-01-02 03:04:05')",
    "days": "map('k', date'2024-01-01')",
}
INTEGERS_TO_OTHERS = {
    "span": "interval '1-2' year to month",
    "delay": "interval '1 02:03:04.000005' day to second",
    "inside": "named_struct('n', 1, 'span', interval '1' year)",
    "listed": "array(interval '1' day)",
    "mapped": "map('k', interval '1' day)",
}


@pytest.mark.parametrize("container", ["parquet", "orc"])
def test_typed_files_that_spark_writes(contract: Contract, spark: SparkSession, container: str) -> None:
    selected = ", ".join(f"if(id % 3 = 0, null, {sql}) as {name}" for name, sql in SPARK_TYPES.items())
    rows = spark.sql(f"select id, id % 2 as half, {selected} from range(20)")
    rows.write.partitionBy("half").format(container).save(f"{contract.data}/rows")
    for path in contract.data.rglob("*.crc"):
        path.unlink()
    contract.check(scan_outcome, ("../data/rows",))
    outcome = contract.check(normalize_outcome, request("../data/rows"))
    assert outcome.error is None, outcome.error
    naive = {row["naive"] for row in outcome.tables["data"][1]}
    assert naive == {"None", repr(datetime(2024, 1, 2, 3, 4, 5, 123456, UTC))}


@pytest.mark.parametrize("container", ["json", "csv"])
def test_texts_that_spark_writes(contract: Contract, spark: SparkSession, container: str) -> None:
    names = ["naive", "moment", "label", "amount", "day", "small", "ratio"]
    nested = ["inside", "listed", "mapped"] if container == "json" else []
    selected = ", ".join(f"if(id % 3 = 0, null, {SPARK_TYPES[name]}) as {name}" for name in [*names, *nested])
    rows = spark.sql(f"select id, id % 2 as half, {selected} from range(20)")
    options = {"header": "true", "compression": "gzip"}
    rows.write.options(**options).partitionBy("half").format(container).save(f"{contract.data}/rows")
    contract.check(scan_outcome, ("../data/rows",))
    outcome = contract.check(normalize_outcome, request("../data/rows"))
    assert outcome.error is None, outcome.error


@pytest.mark.parametrize(
    ("container", "column", "sql", "described"),
    [
        *(("parquet", name, sql, "interval") for name, sql in INTEGERS_TO_OTHERS.items()),
        *(("orc", name, sql, "interval") for name, sql in INTEGERS_TO_OTHERS.items()),
        ("orc", "at", "time'10:11:12.123456'", "time(6)"),
        ("parquet", "anything", "parse_json('[1]')", "variant"),
        ("parquet", "listed", "array(parse_json('[1]'))", "variant"),
    ],
)
def test_types_that_only_spark_reads_are_refused_here(
    contract: Contract, spark: SparkSession, container: str, column: str, sql: str, described: str
) -> None:
    allow_all_types(spark)
    spark.sql(f"select 1 as id, {sql} as `{column}`").coalesce(1).write.format(container).save(f"{contract.data}/rows")
    local, read_by_spark = contract.outcomes(scan_outcome, ("../data/rows",))
    assert read_by_spark.error is None, read_by_spark.error
    assert local.error is not None
    name, message, hint, code = local.error
    assert (name, hint, code) == ("InputError", "`--engine spark` reads it", 2)
    assert message.startswith(f"{contract.data}/rows/part-")
    assert "which the local engine cannot read" in message
    assert described in message


# --- types of other writers, and files that do not agree ---

MORE_TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "time_ns": (pa.time64("ns"), [3_723_000_004_005]),
    "date64": (pa.date64(), [date(2024, 1, 2)]),
    "decimal256": (pa.decimal256(30, 3), [Decimal("1.500")]),
    "naive_ms": (pa.timestamp("ms"), [datetime(2024, 1, 2, 3, 4, 5, 6000)]),
    "naive_ns": (pa.timestamp("ns"), [1_704_164_645_000_000_006]),
    "moment_ns": (pa.timestamp("ns", "UTC"), [1_704_164_645_000_000_006, -1]),
    "duration_s": (pa.duration("s"), [5]),
    "duration_ns": (pa.duration("ns"), [5]),
    "text_view": (pa.string_view(), ["a", ""]),
    "octets_view": (pa.binary_view(), [b"a"]),
    "json": (pa.json_(), ['{"a": 1}']),
}


@pytest.mark.parametrize("name", MORE_TYPES)
def test_parquet_types_that_are_rare(contract: Contract, name: str) -> None:
    of, values = MORE_TYPES[name]
    pq.write_table(
        pa.table({"id": [1, 2, 3], "c": pa.array([*values, *[None] * (3 - len(values))], of)}),
        contract.data / "a.parquet",
    )
    contract.check(scan_outcome, ("../data",))
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error


@pytest.mark.parametrize(
    ("of", "value"), [(pa.time32("ms"), time(1, 2, 3)), (pa.float16(), 1.5), (pa.uuid(), b"0123456789abcdef")], ids=str
)
def test_parquet_types_that_spark_does_not_read(contract: Contract, of: pa.DataType, value: Any) -> None:
    pq.write_table(pa.table({"c": pa.array([value], of)}), contract.data / "a.parquet")
    local, read_by_spark = contract.outcomes(normalize_outcome, request("../data"))
    assert local.error is None, local.error
    assert read_by_spark.error is not None
    assert "a Parquet file has a column of a type that Spark does not read" in read_by_spark.error[1]
    assert read_by_spark.error[2:] == ("`--engine local` reads it, if the file is on this machine", 2)


def test_parquet_files_that_duckdb_writes(contract: Contract) -> None:
    columns = (
        "'{\"a\": 1}'::json as j, 1::uhugeint as h, 1::hugeint as s, '101'::bit as b, 'a'::enum('a', 'b') as e,"
        " time '10:10:10' as t, timestamptz '2024-01-01 00:00:00+00' as at, [1, null] as l,"
        " {'x': 1, 'y': ['z']} as o, map {'k': 1.5} as m, blob '\\xff' as octets, 1.50::decimal(12, 2) as d"
    )
    duckdb.sql(f"copy (select {columns} from range(3)) to '{contract.data}/a.parquet'")
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error


@pytest.mark.parametrize("column", ["interval 1 day", "[interval 1 day]"])
def test_parquet_intervals_are_refused_by_both(contract: Contract, column: str) -> None:
    duckdb.sql(f"copy (select 1 as id, {column} as span) to '{contract.data}/a.parquet'")
    error = contract.check(scan_outcome, ("../data",)).error
    assert error is not None
    assert "is a Parquet interval, which cannot be read" in error[1]
    assert error[1].startswith(f"{contract.data}/a.parquet")


@pytest.mark.parametrize("write", [pq.write_table, pyarrow.orc.write_table], ids=["parquet", "orc"])
def test_files_whose_types_differ_come_together_by_their_columns(
    contract: Contract, write: Callable[[pa.Table, Path], None]
) -> None:
    ids = pa.array([1, 2], pa.int64())
    tables = [
        pa.table({"id": ids, "c": ["1", None]}),
        pa.table({"id": ids, "c": pa.array([3, 4], pa.int32())}),
        pa.table({"id": ids, "extra": [True, False], "c": ["x", "y"]}),
        pa.table({"id": ids, "c": pa.array([{"x": 1}, None], pa.struct({"x": pa.int64()}))}),
        pa.table({"id": ids, "c": ["z", "z"]}),
    ]
    for number, table in enumerate(tables):
        write(table, contract.data / f"{number}.{'parquet' if write is pq.write_table else 'orc'}")
    contract.check(scan_outcome, ("../data",))
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error
    assert len(outcome.tables["data"][1]) == 10
