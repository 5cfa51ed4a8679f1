"""A dataset as dlt left it differs in nothing from the schema that dlt keeps for it; changes by hand are reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import dlt
import pytest

from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.export import ExportRequest, export
from schemactl.formats.dlt import read
from schemactl.review.report import Report

TODAY = date(2026, 11, 21)
Load = Callable[..., Path]


def compare(base: str | Path, head: str | Path) -> Report:
    return diff_schemas(DiffRequest(base=str(base), head=str(head), schemas=Path("schemas"), today=TODAY))


def assert_same(file: Path, url: str, reported: tuple[str, ...] = ()) -> None:
    for report in (compare(file, url), compare(url, file)):
        (review,) = report.reviews
        assert review.changes == ()
        assert tuple(finding.rule for finding in review.findings) == reported
        assert review.name == "shop"
        assert review.base
        assert review.head
        assert review.base.hash == review.head.hash
        assert review.base.number == review.head.number


def drift(file: Path, url: str) -> set[tuple[str, str | None, str | None]]:
    return {(each.rule, each.table, each.column) for each in compare(file, url).findings}


COLUMNS = {("C201", "orders", "by_hand"), ("C204", "orders", "a_text")}
TYPES = {
    ("D301", "orders", "a_date"),  # widened
    ("D309", "orders", "decimal10_2"),  # digits lost
    ("D304", "orders", "int16"),  # a type that dlt lacks
    ("H603", "orders", "int16"),
    ("N402", "orders", "needed"),
    ("T101", "extra", None),
}


def test_duckdb(load: Load, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "shop.duckdb"
    file = load(dlt.destinations.duckdb(str(path)))
    assert_same(file, f"duckdb:///{path}")
    assert_same(file, f"duckdb:///{path}?dataset=sales")
    with duckdb.connect(path) as connection:
        for change in (
            "drop column a_text",
            "add column by_hand varchar",
            "alter a_date set data type varchar",
            "alter decimal10_2 set data type decimal(10, 1)",
            "alter int16 set data type interval using null",
            "alter needed drop not null",
        ):
            connection.execute(f"alter table sales.orders {change}")
        connection.execute("create table sales.extra (x integer)")
    assert drift(file, f"duckdb:///{path}") == COLUMNS | TYPES


def test_a_catalogue_makes_a_schema_file_with_its_own_hash(load: Load, tmp_path: Path) -> None:
    path, made = tmp_path / "shop.duckdb", tmp_path / "made.yaml"
    load(dlt.destinations.duckdb(str(path)))
    export(ExportRequest(f"duckdb:///{path}", "dlt", str(made), Path("schemas"), takes_tables=True))
    assert not read(made.read_text(), str(made)).is_edited
    # dlt loaded the dataset with another schema than this one, which it knows nothing of.
    assert_same(made, f"duckdb:///{path}", reported=("V005",))


def test_the_ledger_gives_the_schema_itself_back(load: Load, tmp_path: Path) -> None:
    path, made = tmp_path / "shop.duckdb", tmp_path / "made.yaml"
    load(dlt.destinations.duckdb(str(path)))
    export(ExportRequest(f"duckdb:///{path}", "dlt", str(made), Path("schemas")))
    assert_same(made, f"duckdb:///{path}")


def test_postgresql(load: Load, postgres_url: str) -> None:
    pytest.importorskip("psycopg2", reason="dlt writes to PostgreSQL through it")
    import psycopg

    file = load(dlt.destinations.postgres(postgres_url))
    url = f"{postgres_url}?dataset=sales"  # others have left datasets on the same server
    assert_same(file, url)
    with psycopg.connect(postgres_url) as connection:
        for change in (
            "drop column a_text",
            "add column by_hand varchar",
            "alter a_date type varchar",
            "alter decimal10_2 type decimal(10, 1)",
            "alter int16 type interval using null",
            "alter needed drop not null",
        ):
            connection.execute(f"alter table sales.orders {change}")
        connection.execute("create table sales.extra (x integer)")
    try:
        assert drift(file, url) == COLUMNS | TYPES
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("drop schema sales cascade; drop schema sales_staging cascade")


def test_sqlite(load: Load, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="dlt writes to SQLite through it")
    path = tmp_path / "shop.db"
    file = load(dlt.destinations.sqlalchemy(f"sqlite:///{path}"))
    assert_same(file, f"sqlite:///{path}")
    with closing(sqlite3.connect(tmp_path / "shop__sales.db")) as connection:
        connection.execute("alter table orders drop column a_text")
        connection.execute("alter table orders add column by_hand text")
    assert drift(file, f"sqlite:///{path}") == COLUMNS


def test_parquet(load: Load, tmp_path: Path) -> None:
    file = load(dlt.destinations.filesystem(str(tmp_path / "lake")), loader_file_format="parquet")
    assert_same(file, f"parquet:{tmp_path / 'lake'}")
    assert_same(file, f"parquet:{tmp_path / 'lake' / 'sales'}")


def test_one_dataset_serves_two_schemas(load: Load, tmp_path: Path) -> None:
    destination = dlt.destinations.duckdb(str(tmp_path / "shop.duckdb"))
    file = load(destination)
    other = dlt.pipeline("geo", destination=destination, dataset_name="sales", pipelines_dir=str(tmp_path / "other"))
    other.run([{"id": 1}], table_name="cities")
    report = compare(file, f"duckdb:///{tmp_path / 'shop.duckdb'}")
    assert {each.table for each in report.findings} <= {"cities"}
