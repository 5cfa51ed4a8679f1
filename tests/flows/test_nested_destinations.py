"""Structs, lists and maps go whole into every destination: two loads, of which the second has new fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine
from schemactl.flows.references import find_schemas
from schemactl.formats.dlt import write as write_schema
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.store.folder import SchemasFolder

MODULE = "schemactl.normalization.normalizers.nested"
FIRST = [
    {
        "id": 1,
        "buyer": {"name": "Ann", "tags": ["a", None, "b"], "either": 1, "large": 2**70},
        "lines": [{"n": 1, "price": 2.5}, None, {"n": 2}],
        "grid": [[1, 2], [], None, [None]],
        "prices": {"eur": 1.5, "usd": None},
    },
    {"id": 2, "buyer": {"name": None, "tags": []}, "lines": [], "grid": [], "prices": {}},
    {"id": 3, "buyer": {"either": 'x"\\'}},
    {"id": 4},
]
LATER = [
    {"id": 5, "buyer": {"name": "Cid", "address": {"city": "Rome"}}, "lines": [{"n": 3, "note": "late"}]},
    {"id": 6, "prices": {"gbp": 2}, "more": {"deep": [{"er": [True]}]}},
]
MAPS = Column("prices", {"data_type": "json", "x-spark-type": "map<string,double>"})


def buyer(**fields: Any) -> dict[str, Any]:
    return {**dict.fromkeys(("name", "tags", "either", "large", "address")), **fields}


def line(**fields: Any) -> dict[str, Any]:
    return {**dict.fromkeys(("n", "price", "note")), **fields}


LOADED = [
    {
        "id": 1,
        "buyer": buyer(name="Ann", tags=["a", None, "b"], either="1", large=2**70),
        "lines": [line(n=1, price=2.5), None, line(n=2)],
        "grid": [[1, 2], [], None, [None]],
        "prices": {"eur": 1.5, "usd": None},
        "more": None,
    },
    {"id": 2, "buyer": buyer(tags=[]), "lines": [], "grid": [], "prices": {}, "more": None},
    {"id": 3, "buyer": buyer(either='"x\\"\\\\"'), "lines": None, "grid": None, "prices": None, "more": None},
    {"id": 4, "buyer": None, "lines": None, "grid": None, "prices": None, "more": None},
    {"id": 5, "buyer": buyer(name="Cid", address={"city": "Rome"}), "lines": [line(n=3, note="late")],
     "grid": None, "prices": None, "more": None},
    {"id": 6, "buyer": None, "lines": None, "grid": None, "prices": {"gbp": 2.0},
     "more": {"deep": [{"er": [True]}]}},
]  # fmt: skip


class NestedShop(Shop):
    """One whose schema keeps structure, with a column of maps."""

    def state(self) -> None:
        new = new_schema("shop")
        table = Table("orders", {MAPS.name: MAPS}, {"write_disposition": "append", "resource": "orders"})
        schema = replace(new, normalizers={**new.normalizers, "json": {"module": MODULE}}).with_table(table)
        imported = self.folder / "schemas" / "import" / "shop.schema.yaml"
        imported.parent.mkdir(parents=True, exist_ok=True)
        imported.write_text(write_schema(bump(schema)))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> NestedShop:
    monkeypatch.chdir(tmp_path)
    return NestedShop(tmp_path, local_engine)


def delta_rows() -> list[dict[str, Any]]:
    from deltalake import DeltaTable

    return with_maps(DeltaTable("lake/shop/orders").to_pyarrow_dataset().to_table().to_pylist())


def iceberg_rows() -> list[dict[str, Any]]:
    """What the files of the table hold: PyIceberg itself reads lists and maps that are null as empty ones."""
    import pyarrow as pa
    import pyarrow.parquet

    from schemactl.destinations.iceberg.address import open_catalog, read_address

    table = open_catalog(read_address("iceberg:lake"), is_written=False).load_table(("shop", "orders"))
    files = [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
    wanted = pa.schema([(each.name, each.type) for each in table.schema().as_arrow()])
    found = []
    for each in files:
        read = pyarrow.parquet.ParquetFile(each).read()
        for field in wanted:
            if field.name not in read.column_names:
                read = read.append_column(field.name, pa.nulls(read.num_rows, field.type))
        found.append(read.select(wanted.names).cast(wanted))
    return with_maps(pa.concat_tables(found).to_pylist())


def duckdb_rows() -> list[dict[str, Any]]:
    import duckdb

    with duckdb.connect("shop.duckdb", read_only=True) as connection:
        found = connection.execute("SELECT * FROM shop.shop.orders")
        names = [each[0] for each in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def with_maps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "prices": None if row["prices"] is None else dict(row["prices"])} for row in rows]


DESTINATIONS: dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]] = {
    "delta": ("delta:lake", delta_rows),
    "iceberg": ("iceberg:lake", iceberg_rows),
    "duckdb": ("duckdb:///shop.duckdb", duckdb_rows),
}


def of_data(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [{name: value for name, value in row.items() if not name.startswith("_dlt")} for row in rows]
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.parametrize("kind", DESTINATIONS)
def test_two_loads_are_read_back_as_they_were(shop: NestedShop, kind: str) -> None:
    url, read = DESTINATIONS[kind]
    shop.state()
    shop.load(shop.write("first.jsonl", *FIRST), to=url)

    shop.load(shop.write("later.jsonl", *LATER), to=url)

    assert of_data(read()) == LOADED


def test_a_database_without_such_types_gets_json(shop: NestedShop, postgres_database: str) -> None:
    import psycopg

    shop.state()
    shop.load(shop.write("first.jsonl", *FIRST), to=postgres_database)

    shop.load(shop.write("later.jsonl", *LATER), to=postgres_database)

    with psycopg.connect(postgres_database) as connection:
        kinds = "select column_name, data_type from information_schema.columns where table_name = 'orders'"
        found = dict(connection.execute(kinds).fetchall())
        rows = connection.execute("SELECT id, buyer, lines, grid, prices, more FROM shop.orders ORDER BY id").fetchall()
    assert {name for name, kind in found.items() if kind == "jsonb"} == {"buyer", "lines", "grid", "prices", "more"}
    assert [dict(zip(LOADED[0], row, strict=True)) for row in rows] == [as_json(row) for row in LOADED]
    schema = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema
    assert schema.tables["orders"].columns["prices"].properties["x-spark-type"] == "map<string,double>"


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """What PostgreSQL has of a row: values for JSON texts; old rows lack the fields that came later."""
    buyer = row["buyer"] and {
        name: json.loads(value) if name == "either" and value is not None else value
        for name, value in row["buyer"].items()
        if row["id"] > 4 or name != "address"
    }
    lines = row["lines"] and [
        each and {name: value for name, value in each.items() if row["id"] > 4 or name != "note"}
        for each in row["lines"]
    ]
    return {**row, "buyer": buyer, "lines": lines}
