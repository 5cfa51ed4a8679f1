"""Row keys of ``scd2``: rows of Parquet files get those that dlt gives the same rows as Python's values."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from dlt.common.normalizers.json.helpers import get_row_hash
from hypothesis import strategies as st
from loaded_tables import DATASET, ByDlt, BySchemactl
from pyspark.sql import functions as F
from test_inference_parity import PLAIN
from test_row_keys_parity import made_up

from schemactl.engine.row_keys import content_hash, hashed_text, marked
from schemactl.schema.types import DataType

pytestmark = pytest.mark.spark

DECIMAL, SMALL = pa.decimal128(38, 9), pa.decimal128(20, 12)
FIELDS = {
    "id": pa.int64(),
    "price": DECIMAL,
    "share": SMALL,
    "at": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "day": pa.date32(),
    "clock": pa.time64("us"),
    "raw": pa.binary(),
    "flag": pa.bool_(),
    "ratio": pa.float64(),
    "short": pa.float32(),
    "note": pa.string(),
    "inner": pa.struct([("cost", DECIMAL), ("days", pa.list_(pa.date32())), ("odd 'name", pa.timestamp("us", "UTC"))]),
    "lines": pa.list_(pa.struct([("net", pa.decimal128(10, 2)), ("at", pa.time64("us"))])),
}
ROWS: list[dict[str, Any]] = [
    {
        "price": Decimal("1.500000000"), "share": Decimal("0.000000100000"), "at": datetime(2024, 1, 1, tzinfo=UTC),
        "local": datetime(2024, 1, 1, 1, 2, 3, 450000), "day": date(2024, 1, 1), "clock": time(1, 2, 3),
        "raw": b"ab\x00\xff" * 30, "flag": True, "ratio": 1e16, "short": 0.1, "note": "ä\u2028",
        "inner": {"cost": Decimal("0E-9"), "days": [date(1, 1, 1), None],
                  "odd 'name": datetime(1899, 5, 6, tzinfo=UTC)},
        "lines": [{"net": Decimal("-0.10"), "at": time(1, 2, 3, 400)}, None],
    },
    {
        "price": Decimal("0E-9"), "share": Decimal("0E-12"), "at": datetime(2024, 1, 1, 1, 2, 3, 1, tzinfo=UTC),
        "local": datetime(1, 1, 1), "day": date(9999, 12, 31), "clock": time(0), "raw": b"", "flag": False,
        "ratio": 1e-7, "short": -2.5, "note": "", "inner": {"cost": None, "days": [], "odd 'name": None}, "lines": [],
    },
    {"share": Decimal("-0.000001234500"), "ratio": math.nan, "inner": {}},
    {"share": Decimal("-0.000000123450"), "price": Decimal("-1E-9"), "ratio": math.inf},
    {"share": Decimal("0.000000999999"), "price": Decimal("12345678901234567890123456789.123456789")},
]  # fmt: skip
SCD2 = {"disposition": "merge", "strategy": "scd2"}


@pytest.fixture
def table() -> pa.Table:
    held = [{"id": at, **row} for at, row in enumerate(ROWS)]
    return pa.Table.from_pylist(held, pa.schema(list(FIELDS.items())))


def keys(path: Any) -> dict[int, str]:
    with duckdb.connect(str(path), read_only=True) as database:
        return dict(database.execute(f"select id, _dlt_id from {DATASET}.data").fetchall())


def test_rows_of_parquet_are_the_versions_that_dlt_tells(spark, tmp_path, table):
    file = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(table, file)
    theirs = ByDlt(tmp_path / "theirs")
    theirs.load(pyarrow.parquet.read_table(file).to_pylist(), write_disposition=SCD2)
    ours = BySchemactl(spark, tmp_path / "ours", {**theirs.stored, "name": PLAIN["name"]})

    ours.load_files([file])

    assert keys(ours.path) == keys(theirs.path)
    assert len(set(keys(ours.path).values())) == len(ROWS)


def test_plain_rows_have_the_same_key_from_parquet_and_from_json(spark, tmp_path):
    rows = [{"id": 1, "name": "a", "ratio": 1.5, "inner": {"n": [1, None]}}, {"id": 2, "name": None, "inner": None}]
    full = pa.Table.from_pylist(rows).to_pylist()
    table = pa.Table.from_pylist(full)
    value = F.expr(f"to_json({marked(spark.createDataFrame(table).schema, 'row')}, map('ignoreNullFields', 'false'))")
    frame = spark.createDataFrame(table)
    found = frame.select(F.struct(*frame.columns).alias("row")).select(content_hash(value).alias("key")).collect()
    assert [row.key for row in found] == [get_row_hash(row) for row in full]


def test_decimals_are_texts_as_python_writes_them(spark):
    scaled = made_up(
        st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-1000, max_value=1000), 500
    )
    tiny = made_up(st.integers(-(10**7), 10**7).map(lambda number: Decimal(number).scaleb(-12)), 1000)
    values = [Decimal(0).scaleb(-12), *(value.quantize(Decimal(1).scaleb(-12)) for value in (*scaled, *tiny))]
    values = [value if value else value.copy_abs() for value in values]
    frame = spark.createDataFrame(pa.table({"v": pa.array(values, pa.decimal128(20, 12))}))
    found = frame.select(F.expr(hashed_text(DataType.DECIMAL, "v")).alias("text")).toArrow()["text"].to_pylist()
    assert found == [f"\uf026{value}" for value in values]
