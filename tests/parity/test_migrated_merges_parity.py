"""A dlt pipeline that merges goes on after a migration, and after it was undone: its staging copies follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dlt
import pytest
from migrated_datasets import put

from schemactl.cli.app import run
from schemactl.formats import dlt as dlt_format
from schemactl.schema.hash import bump
from schemactl.schema.types import Column, Schema

pytestmark = pytest.mark.parity

STRATEGIES = ("delete-insert", "upsert")


@pytest.fixture(params=["duckdb", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Callable[[], Any]]:
    """An address without a dataset, and what makes dlt's destination."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        return url, lambda: dlt.destinations.postgres(url)
    path = f"{tmp_path}/file.duckdb"
    return f"duckdb:///{path}", lambda: dlt.destinations.duckdb(path)


def changed(schema: Schema) -> Schema:
    """Retype a column, there and in the nested table, and give the key another name."""
    tables = dict(schema.tables)
    orders, items = tables["orders"], tables["orders__items"]
    columns = dict(orders.columns)
    key = columns.pop("id")
    columns["number"] = Column("number", {**key.properties, "x-renamed-from": "id"})
    columns["amount"] = Column("amount", {**columns["amount"].properties, "data_type": "bigint"})
    quantity = Column("quantity", {**items.columns["quantity"].properties, "data_type": "bigint"})
    tables["orders"] = replace(orders, columns=columns)
    tables["orders__items"] = replace(items, columns={**items.columns, "quantity": quantity})
    return bump(replace(schema, tables=tables))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_merging_pipeline_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[str, Callable[[], Any]], strategy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = f"d_{strategy.replace('-', '_')}"
    url = f"{place[0]}?dataset={dataset}"
    pipelines = iter(range(9))

    def load(key: str, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        # On a machine of its own, which knows only what the destination knows.
        pipeline = dlt.pipeline(
            "shop", destination=place[1](), dataset_name=dataset, pipelines_dir=str(tmp_path / f"p{next(pipelines)}")
        )

        @dlt.resource(name="orders", primary_key=key, write_disposition={"disposition": "merge", "strategy": strategy})
        def orders() -> Iterator[dict[str, Any]]:
            yield from rows

        @dlt.source(name="shop")
        def shop() -> Any:
            return orders

        pipeline.run(shop()).raise_on_failed_jobs()
        with pipeline.sql_client() as client:
            found = client.execute_sql(f"SELECT {key}, amount FROM orders ORDER BY {key}")
        return [tuple(row) for row in found or ()]

    first = [{"id": 1, "amount": "5", "items": [{"quantity": "1"}]}, {"id": 2, "amount": "6", "items": []}]
    assert load("id", first) == [(1, "5"), (2, "6")]
    assert load("id", [{"id": 2, "amount": "7", "items": [{"quantity": "2"}]}]) == [(1, "5"), (2, "7")]
    assert run(["export", url, "--to", "dlt", "--output", "before.yaml"]) == 0
    before = dlt_format.read(Path("before.yaml").read_text(), "before.yaml").schema
    after = put(changed(before), "after.yaml")

    assert run(["migrate", "apply", after, "--to", url, "--yes", "--quiet"]) == 0
    rows = [{"number": 2, "amount": "8", "items": [{"quantity": "3"}]}, {"number": 3, "amount": 9, "items": []}]
    assert load("number", rows) == [(1, 5), (2, 8), (3, 9)]

    assert run(["migrate", "rollback", "--to", url, "--yes", "--quiet"]) == 0
    rows = [{"id": 3, "amount": "ten", "items": [{"quantity": "many"}]}]
    assert load("id", rows) == [(1, "5"), (2, "8"), (3, "ten")]
