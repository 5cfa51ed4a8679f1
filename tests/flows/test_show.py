"""What `show` says of a destination: its tables, with what its ledger keeps of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemactl.cli.app import run
from schemactl.flows.show import find_shown
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

FOLDER = SchemasFolder.at("schemas")
SCHEMA = """
tables:
  orders:
    write_disposition: merge
    x-merge-strategy: upsert
    columns:
      id: {data_type: bigint, nullable: false, primary_key: true}
      note: {data_type: text, x-annotation-pii: true}
  orders__lines:
    parent: orders
    columns:
      sku: {data_type: text}
"""


@pytest.fixture(autouse=True)
def _work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("shop", "crm"):
        Path(f"{name}.schema.yaml").write_text(f"name: {name}\n{SCHEMA.replace('orders', f'{name}_orders')}")


def apply(name: str, to: str) -> None:
    assert run(["migrate", "apply", f"./{name}.schema.yaml", "--to", to, "--yes"]) == 0


def shown(reference: str) -> Schema:
    ((schema, _, sources),) = find_shown(reference, FOLDER, has_lineage=False)
    assert sources == {}
    return schema


@pytest.mark.parametrize("to", ["duckdb:///d.duckdb", "sqlite:///d.db", "parquet:files", "delta:lake", "iceberg:ice"])
def test_hints_and_version_are_those_of_the_stored_schema(to: str) -> None:
    ((stored, *_),) = find_shown("./shop.schema.yaml", FOLDER, has_lineage=False)
    apply("shop", to)
    schema = shown(to)
    assert (schema.version_hash, schema.version) == (stored.version_hash, stored.version)
    orders, lines = schema.tables["shop_orders"], schema.tables["shop_orders__lines"]
    assert (orders.properties["write_disposition"], orders.properties["x-merge-strategy"]) == ("merge", "upsert")
    assert (lines.parent, lines.properties.get("write_disposition")) == ("shop_orders", None)
    assert orders.columns["id"].properties["primary_key"] is True
    assert orders.columns["note"].properties["x-annotation-pii"] is True


def test_types_and_columns_are_those_of_the_tables() -> None:
    apply("shop", "duckdb:///d.duckdb?dataset=shop")
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("alter table shop.shop_orders alter note type integer")
        connection.execute("alter table shop.shop_orders add column more uuid")
        connection.execute("create table shop.other (a integer)")
    schema = shown("duckdb:///d.duckdb?dataset=shop")
    columns = schema.tables["shop_orders"].columns
    assert columns["note"].properties == {"x-annotation-pii": True, "data_type": "bigint", "precision": 32}
    assert columns["more"].properties == {"x-database-type": "UUID"}
    assert schema.tables["other"].properties == {}


def document(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    capsys.readouterr()
    assert run(["show", *args, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["schemas"]


def test_tables_without_a_stored_schema_have_no_version_and_no_write_disposition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("create table t (a integer)")
    assert run(["show", "duckdb:///d.duckdb"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "main: 1 table, 1 column", "  duckdb:///d.duckdb?dataset=main", "t (1 column)", "└── a: bigint(32)"
    ]  # fmt: skip
    (schema,) = document(capsys, "duckdb:///d.duckdb")
    assert (schema["version"], schema["hash"], schema["tables"][0]["write_disposition"]) == (None, None, None)


def test_tables_of_several_schemas_have_the_hints_of_each_and_no_version() -> None:
    to = "duckdb:///d.duckdb?dataset=both"
    apply("shop", to)
    apply("crm", to)
    schema = shown(to)
    assert schema.version_hash == ""
    named = ("shop_orders", "crm_orders")
    assert [schema.tables[name].properties["write_disposition"] for name in named] == ["merge", "merge"]
