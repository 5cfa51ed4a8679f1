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
from dlt.common.json import json as dlt_json
from dlt.common.normalizers.json.helpers import get_row_hash
from loaded_tables import DATASET, ByDlt, BySchemactl
from test_inference_parity import PLAIN

from schemactl.kernel.columnar import to_python
from schemactl.kernel.keys import document_text, hash_texts, key_array, keys_of

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


def test_rows_of_parquet_are_the_versions_that_dlt_reports(local_engine, tmp_path, table):
    file = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(table, file)
    theirs = ByDlt(tmp_path / "theirs")
    theirs.load(pyarrow.parquet.read_table(file).to_pylist(), write_disposition=SCD2)
    ours = BySchemactl(local_engine, tmp_path / "ours", {**theirs.stored, "name": PLAIN["name"]})

    ours.load_files([file])

    assert keys(ours.path) == keys(theirs.path)
    assert len(set(keys(ours.path).values())) == len(ROWS)


def test_values_of_all_types_are_hashed_as_dlt_hashes_what_it_has_stored(table):
    rows = to_python(table.to_struct_array().combine_chunks(), None, (), frozenset())
    stored = [dlt_json.loads(dlt_json.typed_dumps(row)) for row in table.to_pylist()]
    found = key_array(keys_of(hash_texts(document_text(row, "value") for row in rows))).to_pylist()
    assert found == [get_row_hash(row) for row in stored]
