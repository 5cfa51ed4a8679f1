"""Merges give the same rows everywhere: databases, folders of Parquet, lakes and Spark's catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from staged_loads import line, lines, order, orders, package, quiet, shop

from schemactl.destinations import DESTINATIONS
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import Table

Read = Callable[[str], pa.Table]
KEY = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}}
MARKED = {"rank": {"data_type": "bigint", "dedup_sort": "desc"}, "gone": {"data_type": "bool", "hard_delete": True}}
PART = {"part": {"data_type": "text", "merge_key": True}}
MOMENT = {"data_type": "timestamp", "nullable": True}
HISTORY = {
    "since": {**MOMENT, "x-valid-from": True},
    "until": {**MOMENT, "x-valid-to": True},
    "version": {"data_type": "text", "nullable": False, "x-row-version": True},
}
OPEN = {**HISTORY, "until": {**MOMENT, "x-valid-to": True, "x-active-record-timestamp": "9999-12-31"}}
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "delete-insert by primary key": ({**KEY, **MARKED}, {}),
    "delete-insert by merge key": (PART, {}),
    "delete-insert by both": ({**KEY, **PART, **MARKED}, {}),
    "without keys": ({}, {}),
    "upsert": ({**KEY, **MARKED}, {"x-merge-strategy": "upsert"}),
    "insert-only": ({**KEY, **MARKED}, {"x-merge-strategy": "insert-only"}),
    "scd2": (HISTORY, {"x-merge-strategy": "scd2"}),
    "scd2 by merge key with an open end": ({**OPEN, **PART}, {"x-merge-strategy": "scd2"}),
}
LOADS = (
    [(1, "a", 1, None), (2, "a", 1, None), (3, "b", 1, None), (4, None, 1, False)],
    [(1, "a", 1, None), (1, "a", 2, None), (3, "c", None, True), (5, "b", 1, True), (6, "d", 1, False)],
    [(2, "b", 7, None), (5, "e", 1, None), (1, "a", 1, True), (1, "a", 0, None)],
)
"""Of each row: key, part, rank, whether it asks to be deleted."""


CASES = {f"{way}, {'with' if has else 'without'} root key": (way, has) for way in WAYS for has in (True, False)}
TABLES = {case: f"orders_{number}" for number, case in enumerate(CASES)}
"""The root table of each case. All are of one schema: in Spark's catalogs most of a load's time is not its tables'."""
SPARK_CASES = [f"{way}, {'without' if number % 2 else 'with'} root key" for number, way in enumerate(WAYS)]
"""Each way to merge, and both keys by which nested rows go (deletes and upserts alone ask for one): a merge in Spark
takes a second of processor time."""


def packages(folder: Path, cases: list[str]) -> list[LoadPackage]:
    """Return one load after the other, each with the rows of all cases."""
    folder.mkdir()
    schema = shop(*(each for case in cases for each in tables_of(case)))
    loads = [(str(number), rows) for number, rows in enumerate(LOADS, 1)]
    return [
        package(folder, schema, number, {table: held for case in cases for table, held in made(case, number, rows)})
        for number, rows in loads
    ]


def tables_of(case: str) -> tuple[Table, Table]:
    (way, has_root_key), name = CASES[case], TABLES[case]
    columns, properties = WAYS[way]
    root, nested = orders(columns, write_disposition="merge", **properties), lines(has_root_key=has_root_key)
    return (
        replace(root, name=name, properties={**root.properties, "resource": name}),
        replace(nested, name=f"{name}__lines", properties={**nested.properties, "parent": name}),
    )


def made(case: str, number: str, rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    way, _ = CASES[case]
    roots, nested = [], []
    for at, (key, part, rank, gone) in enumerate(rows):
        root = {**order(key, f"{number}.{at}"), "_dlt_load_id": number, "note": f"{number}.{at}"}
        if "upsert" in way:
            root["_dlt_id"] = f"r{key}"  # is made of the primary key there
        roots.append({**root, "part": part, "rank": rank, "gone": gone, "version": f"{key}{part}{rank}"})
        nested += [line(root["_dlt_id"], index, f"{number}.{at}.{index}") for index in range(2)]
    if "upsert" in way:
        nested = [*{each["_dlt_id"]: each for each in reversed(nested)}.values()]
    yield TABLES[case], roots
    yield f"{TABLES[case]}__lines", nested


def parquet(folder: Path) -> tuple[str, Read]:
    return f"parquet:{folder}", lambda name: pa.concat_tables(
        [pq.read_table(file) for file in sorted(folder.glob(f"**/{name}/*.parquet"))], promote_options="default"
    )


def delta(folder: Path) -> tuple[str, Read]:
    return f"delta:{folder}?dataset=sales", lambda name: DeltaTable(str(folder / "sales" / name)).to_pyarrow_table()


def iceberg(folder: Path) -> tuple[str, Read]:
    def read(name: str) -> pa.Table:
        catalog = SqlCatalog("default", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
        return catalog.load_table(("sales", name)).scan().to_arrow()

    return f"iceberg:{folder}?dataset=sales", read


def rows(held: pa.Table, *columns: str) -> list[Any]:
    return sorted((tuple(row.values()) for row in held.select(list(columns)).to_pylist()), key=repr)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that has had all loads."""
    folder = tmp_path_factory.mktemp("database")
    path = folder / "file.duckdb"
    for each in packages(folder / "loads", list(CASES)):
        DESTINATIONS["duckdb"].load(f"duckdb:///{path}?dataset=sales", each, quiet)  # type: ignore[attr-defined]
    return path


@pytest.fixture(scope="module", params=["parquet", "delta", "iceberg"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Read the tables of a place that has had all loads."""
    url, read = {"parquet": parquet, "delta": delta, "iceberg": iceberg}[request.param](tmp_path_factory.mktemp("lake"))
    for each in packages(tmp_path_factory.mktemp("package") / "loads", list(CASES)):
        DESTINATIONS[url.partition(":")[0]].load(url, each, quiet)  # type: ignore[attr-defined]
    return read


@pytest.fixture(scope="module")
def spark_catalogue(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """Read the tables of a schema of Spark's catalog that has had the loads of its cases."""
    for each in packages(tmp_path_factory.mktemp("package") / "loads", SPARK_CASES):
        DESTINATIONS["spark"].load("spark:spark_catalog.merges", each, quiet)  # type: ignore[attr-defined]
    yield lambda table: spark.table(f"merges.{table}").toArrow()
    spark.sql("DROP SCHEMA merges CASCADE")


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_that_a_database_holds(place: Read, database: Path, case: str) -> None:
    assert_same(place, database, case)


@pytest.mark.parametrize("case", SPARK_CASES)
def test_rows_in_sparks_catalog_are_those_that_a_database_holds(
    spark_catalogue: Read, database: Path, case: str
) -> None:
    assert_same(spark_catalogue, database, case)


def assert_same(place: Read, database: Path, case: str) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in (TABLES[case], f"{TABLES[case]}__lines"):
            expected = connection.sql(f"SELECT * FROM sales.{table}").to_arrow_table()
            found = place(table)
            names = [name for name in expected.column_names if name not in ("since", "until")]
            assert rows(found, *names) == rows(expected, *names)
            moments = [name for name in expected.column_names if name in ("since", "until")]
            if moments:
                assert _moments(found, moments) == _moments(expected, moments)
    assert rows(expected, "sku")


def _moments(held: pa.Table, names: list[str]) -> list[Any]:
    found = rows(held, "_dlt_id", *names)
    return [(key, *(at and at.replace(tzinfo=None) for at in moments)) for key, *moments in found]
