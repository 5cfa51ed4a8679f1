"""Loads by dlt's own loader, from documents to tables, beside a pipeline of dlt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dlt
import duckdb
import pytest
from loading_shop import Shop

from schemactl.flows.references import find_schemas
from schemactl.normalization.report import Outcome
from schemactl.store.folder import SchemasFolder

FIRST = [
    {"id": 1, "at": "2026-01-31T10:00:00Z", "price": 1.5, "lines": [{"n": 1, "tags": ["a", "b"]}, {"n": 2}]},
    {"id": 2, "at": None, "price": 2, "lines": [{"n": 3}]},
]
SECOND = [{"id": 3, "note": "new"}, {"id": "x", "note": "frozen out"}]
TO = "dlt:duckdb?dataset=sales"


def rows(file: Path, table: str, columns: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(f"select {columns} from sales.{table} order by all").fetchall()


def test_documents_arrive_as_a_pipeline_of_dlt_brings_them(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tmp_path / "ours.duckdb", tmp_path / "theirs.duckdb"
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DESTINATION__DUCKDB__CREDENTIALS", str(ours))
    first = shop.load(shop.write("orders.jsonl", *FIRST), to=TO, load_id="1", new_only=True)
    assert (first.outcome, first.destination) == (Outcome.LOADED, "dlt:duckdb?dataset=sales")
    assert shop.load("orders.jsonl", to=TO, load_id="1").outcome is Outcome.LOADED_BEFORE
    assert shop.load("orders.jsonl", to=TO, load_id="2", new_only=True).outcome is Outcome.NOTHING_NEW
    second = shop.load(
        shop.write("more.jsonl", *SECOND), to=TO, load_id="2", contract="data_type=discard_row", table="orders"
    )
    assert second.outcome is Outcome.LOADED

    pipeline = dlt.pipeline(
        "shop",
        destination=dlt.destinations.duckdb(str(theirs)),
        dataset_name="sales",
        pipelines_dir=str(tmp_path / "pipelines"),
    )
    for data in (FIRST, SECOND[:1]):
        pipeline.run(dlt.resource(data, name="orders"), loader_file_format="parquet").raise_on_failed_jobs()
    for table, columns in (
        ("orders", 'id, "at", price, note'),
        ("orders__lines", "n, _dlt_list_idx"),
        ("orders__lines__tags", "value, _dlt_list_idx"),
        ("_dlt_loads", "schema_name, status"),
    ):
        found = rows(ours, table, columns)
        assert [row for row in found if row[0] != "_schemactl"] == rows(theirs, table, columns)
    assert rows(ours, "_rejects", "load_id, value") == [("2", "x")]
    (stored,) = find_schemas("shop", SchemasFolder.at(tmp_path / "schemas"))
    hashes = [row[0] for row in rows(ours, "_dlt_version", "version_hash, inserted_at")]
    assert stored.schema.version_hash in hashes
    (there,) = find_schemas(TO, SchemasFolder.at(tmp_path / "schemas"))
    assert there.schema.version_hash == stored.schema.version_hash
