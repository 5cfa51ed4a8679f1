"""Tables of databases become the content of a named schema."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.flows.import_ import Imported, ImportRequest, import_files

TABLES = """
    create table "Customers" (id integer primary key, "eMail" varchar(80) unique, born date not null, shape {other});
    create table orders (id bigint not null, total decimal(10, 2));
"""


def imported(address: str, folder: Path, **options: bool) -> Imported:
    return import_files(ImportRequest((address,), None, "legacy", folder / "schemas", **options))


def columns(found: Imported, table: str) -> dict[str, dict[str, object]]:
    return {name: dict(each.properties) for name, each in found.after.tables[table].columns.items()}


def assert_is_the_shop(found: Imported, other: str):
    assert [name for name in found.after.tables if not name.startswith("_dlt")] == ["customers", "orders"]
    customers, orders = columns(found, "customers"), columns(found, "orders")
    assert customers["id"]["primary_key"] is True
    assert customers["e_mail"]["data_type"] == "text"
    assert customers["e_mail"]["unique"] is True
    assert customers["born"] == {"data_type": "date", "nullable": False}
    assert customers["shape"] == {"x-database-type": other}
    assert orders["total"]["data_type"] == "decimal"
    assert [(loss.place, loss.what) for loss in found.losses] == [("Customers.shape", "type")]


def test_duckdb(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(TABLES.format(other="interval"))
    found = imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path)
    assert_is_the_shop(found, "INTERVAL")
    assert len(found.written) == 2
    assert not imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path, is_check=True).changes_schema


def test_postgresql(postgres_url: str, tmp_path: Path):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop schema if exists legacy_import cascade; create schema legacy_import")
        connection.execute(f"set search_path to legacy_import; {TABLES.format(other='interval')}")
    separator = "&" if "?" in postgres_url else "?"
    assert_is_the_shop(imported(f"{postgres_url}{separator}dataset=legacy_import", tmp_path), "interval")


def test_sqlite_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.db") as connection:
        connection.executescript(TABLES.format(other="geometry"))
    assert run(["import", "sqlite:///shop.db", "--name", "legacy", "--strict"]) == 2
    assert "Customers.shape: type `type: " in capsys.readouterr().err
    assert run(["import", "sqlite:///shop.db", "--name", "legacy"]) == 0
    assert "not in the schema: Customers.shape" in capsys.readouterr().err
    assert (tmp_path / "schemas/import/legacy.schema.yaml").is_file()
    assert run(["import", "sqlite:///shop.db", "--name", "legacy", "--from", "avro"]) == 2
    assert "`--from` names the format of a file" in capsys.readouterr().err


@pytest.mark.parity
def test_a_destination_s_ledger_goes_before_its_tables(tmp_path: Path):
    import dlt

    destination = dlt.destinations.duckdb(str(tmp_path / "shop.duckdb"))
    pipeline = dlt.pipeline("shop", str(tmp_path / "pipelines"), destination=destination, dataset_name="d")
    pipeline.run([{"id": 1, "lines": [{"sku": "a"}]}], table_name="orders", primary_key="id")
    found = imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path)
    assert found.after.tables["orders__lines"].parent == "orders"
    assert found.after.tables["orders"].columns["id"].properties["primary_key"] is True


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="there is no file"):
        imported(f"duckdb:///{tmp_path}/none.duckdb", tmp_path)


def test_objects_and_lists_of_a_lake_keep_their_type(tmp_path: Path):
    point = pa.struct([("x", pa.int64())])
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("points", pa.list_(point))])
    DeltaTable.create(tmp_path / "lake" / "shop" / "orders", schema)
    found = imported(f"delta:{tmp_path}/lake?dataset=shop", tmp_path)
    assert columns(found, "orders")["points"] == {"data_type": "json", "x-spark-type": "array<struct<x:bigint>>"}
    assert found.losses == ()
