"""Of several new rows with one primary key a merge keeps the first in the input, whatever destination takes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine
from schemactl.formats.dlt import write as write_schema
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

KEY = Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True})
DAY = Column("day", {"data_type": "text", "merge_key": True})
AT = Column("at", {"data_type": "bigint", "dedup_sort": "desc"})
GONE = Column("gone", {"data_type": "bool", "hard_delete": True})
ROOT_KEYS = {"module": "dlt.common.normalizers.json.relational", "config": {"root_key_propagation": True}}
Reader = Callable[[str], list[dict[str, Any]]]


class Merging(Shop):
    """A shop whose orders are merged."""

    def state(self, *columns: Column, strategy: str = "delete-insert") -> None:
        new = new_schema("shop")
        properties = {"write_disposition": "merge", "x-merge-strategy": strategy, "resource": "orders"}
        table = Table("orders", {each.name: each for each in columns}, properties)
        schema = replace(new, normalizers={**new.normalizers, "json": ROOT_KEYS}).with_table(table)
        file = self.folder / "schemas" / "import" / "shop.schema.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(write_schema(bump(schema)))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> Merging:
    monkeypatch.chdir(tmp_path)
    return Merging(tmp_path, local_engine)


def parquet_rows(table: str) -> list[dict[str, Any]]:
    return rows_of_query(f"SELECT * FROM read_parquet('warehouse/{table}/*.parquet', union_by_name = true)")


def duckdb_rows(table: str) -> list[dict[str, Any]]:
    return rows_of_query(f"SELECT * FROM made.shop.{table}", "ATTACH 'shop.duckdb' AS made")


def rows_of_query(query: str, first: str = "SELECT 1") -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        connection.execute(first)
        return connection.execute(query).to_arrow_table().to_pylist()


def delta_rows(table: str) -> list[dict[str, Any]]:
    from deltalake import DeltaTable

    return DeltaTable(f"lake/shop/{table}").to_pyarrow_dataset().to_table().to_pylist()


def iceberg_rows(table: str) -> list[dict[str, Any]]:
    from schemactl.destinations.iceberg.address import open_catalog, read_address

    catalog = open_catalog(read_address("iceberg:lake"), is_written=False)
    return catalog.load_table(("shop", table)).scan().to_arrow().to_pylist()


DESTINATIONS = ("parquet", "duckdb", "delta", "iceberg", "postgresql", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=DESTINATIONS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Reader]]:
    """An address, and what reads a table there."""
    files: dict[str, tuple[str, Reader]] = {
        "parquet": ("warehouse", parquet_rows),
        "duckdb": ("duckdb:///shop.duckdb", duckdb_rows),
        "delta": ("delta:lake", delta_rows),
        "iceberg": ("iceberg:lake", iceberg_rows),
    }
    dataset = f"d{abs(hash(tmp_path))}"
    if request.param == "spark":
        spark = request.getfixturevalue("loads_by_spark")
        spark.sql(f"CREATE SCHEMA {dataset} LOCATION '{(tmp_path / 'catalogue').as_uri()}'")
        yield (
            f"spark:spark_catalog.{dataset}",
            lambda table: [row.asDict() for row in spark.table(f"{dataset}.{table}").collect()],
        )
        spark.sql(f"DROP SCHEMA {dataset} CASCADE")
    elif request.param == "postgresql":
        import psycopg
        from psycopg.rows import dict_row

        url = request.getfixturevalue("postgres_database")

        def read(table: str) -> list[dict[str, Any]]:
            with psycopg.connect(url, row_factory=dict_row) as connection:
                return connection.execute(f"SELECT * FROM {dataset}.{table}").fetchall()

        yield f"{url}?dataset={dataset}", read
    else:
        yield files[request.param]


def order(key: int, note: str, *lines: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "note": note, "lines": [{"sku": each} for each in lines], **more}


def notes(read: Reader) -> list[str]:
    return sorted(row["note"] for row in read("orders"))


def skus(read: Reader) -> list[str]:
    return sorted(row["sku"] for row in read("orders__lines"))


def test_the_first_row_of_a_key_is_kept_and_merge_keys_of_all_rows_count(
    shop: Merging, place: tuple[str, Reader]
) -> None:
    to, read = place
    shop.state(KEY, DAY)
    shop.load(shop.write("old.jsonl", order(8, "old monday", "x", day="mo"), order(9, "old friday", day="fr")), to=to)
    first = [order(1, "one", "a", "b", day="mo"), order(2, "two", "c", day="we")]
    later = [order(1, "not one", "no", day="fr"), order(2, "not two", day="tu"), order(3, "three", "d", day="we")]
    # files by path, not as they are named
    sources = [shop.write("b.jsonl", *later), shop.write("a.jsonl", *first, order(1, "nor this", "no", day="mo"))]

    report = shop.load(*sources, to=to)

    assert notes(read) == ["one", "three", "two"], (
        "the old row of friday goes, though the new one of friday does not come"
    )
    assert skus(read) == ["a", "b", "c", "d"]
    counts = [(each.name, each.read, each.loaded, each.superseded) for each in report.tables]
    assert counts == [("orders", 6, 3, 3), ("orders__lines", 6, 4, 2)]


def test_a_table_of_which_all_rows_give_way_is_made(shop: Merging) -> None:
    shop.state(KEY)

    shop.load(shop.write("new.jsonl", order(1, "one"), order(1, "no", "no")), to="duckdb:///shop.duckdb")

    assert (notes(duckdb_rows), skus(duckdb_rows)) == (["one"], [])


@pytest.mark.parametrize("strategy", ["upsert", "insert-only"])
def test_rows_that_have_the_key_of_others_leave_nothing(shop: Merging, strategy: str) -> None:
    to, read = "duckdb:///shop.duckdb", duckdb_rows
    shop.state(KEY, strategy=strategy)
    shop.load(shop.write("old.jsonl", order(1, "old", "o")), to=to)
    new = [order(1, "one", "a"), order(2, "two", "b"), order(1, "no", "no", "no"), order(2, "no", "no", "no", "no")]

    shop.load(shop.write("new.jsonl", *new), to=to)

    assert notes(read) == (["old", "two"] if strategy == "insert-only" else ["one", "two"])
    assert skus(read) == (["b", "o"] if strategy == "insert-only" else ["a", "b"])


def test_the_rows_kept_do_not_depend_on_the_load_id(shop: Merging) -> None:
    chance = random.Random(1)
    orders = [
        order(chance.randrange(60), f"n{at}", *(f"s{at}.{line}" for line in range(chance.randrange(3))))
        for at in range(600)
    ]
    shop.state(KEY)
    files = [shop.write(f"{at}.jsonl", *orders[at * 200 :][:200]) for at in range(3)]
    kept = []
    for load_id, sources in (("1", files), ("another", files[::-1]), ("1700000000.5", files)):
        shop.load(*sources, to=f"duckdb:///shop-{load_id}.duckdb", load_id=load_id)
        made = f"ATTACH 'shop-{load_id}.duckdb' AS made"
        found = (rows_of_query(f"SELECT {name} FROM made.shop.{table} ORDER BY 1", made) for name, table in (
            ("note", "orders"), ("sku", "orders__lines"),
        ))  # fmt: skip
        kept.append(tuple(found))

    first: dict[int, dict[str, Any]] = {}
    for each in orders:
        first.setdefault(each["id"], each)
    assert kept[0] == (
        sorted(({"note": each["note"]} for each in first.values()), key=str),
        sorted(({"sku": line["sku"]} for each in first.values() for line in each["lines"]), key=str),
    )
    assert kept[1] == kept[0]
    assert kept[2] == kept[0]


def test_equal_rows_by_the_sort_column_are_kept_by_their_place(shop: Merging) -> None:
    shop.state(KEY, AT, GONE)
    orders = [
        order(1, "no", "no", at=1), order(1, "one", "a", at=2), order(1, "no", "no", at=2), order(1, "no", at=None),
        order(2, "no", "no", at=5, gone=True), order(2, "no", "no", at=5), order(2, "no", at=3, gone=False),
        order(3, "no", at=1, gone=True), order(3, "three", at=2),
    ]  # fmt: skip

    shop.load(shop.write("new.jsonl", *orders))

    assert notes(parquet_rows) == ["one", "three"]
    assert skus(parquet_rows) == ["a"]


def test_a_row_that_a_contract_refuses_takes_no_other_one_s_place(shop: Merging) -> None:
    shop.state(KEY, Column("price", {"data_type": "bigint"}))
    orders = [order(1, "no", "no", price="much"), order(1, "one", "a", price=1), order(1, "no", "no", price=2)]

    report = shop.load(shop.write("new.jsonl", *orders), contract="data_type=discard_row")

    assert notes(parquet_rows) == ["one"]
    assert skus(parquet_rows) == ["a"]
    counts = [(each.read, each.loaded, each.superseded) for each in report.tables]
    assert counts == [(3, 1, 1), (3, 1, 1)]
    assert [(each.rejected, each.rejected_with_parent) for each in report.tables] == [(1, 0), (0, 1)]
