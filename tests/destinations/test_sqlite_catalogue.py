"""What a SQLite file's catalog says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemactl.destinations import sqlite as destination
from schemactl.destinations.sqlite import catalogue, session
from schemactl.errors import DestinationError, InputError
from schemactl.schema.types import Column, Schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def make(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def read(path: Path, query: str = "") -> Schema:
    return destination.read_catalogue(f"sqlite:///{path}{query}").schema


def test_columns_keep_their_order_nulls_and_keys(path: Path) -> None:
    make(
        path,
        "create table orders (id integer primary key autoincrement, note text not null, code smallint unique, a, b, "
        "unique (a, b))",
        "create unique index partial on orders (note) where note <> ''",
        "create view seen as select * from orders",
    )
    schema = read(path)
    assert schema.name == "shop"
    assert list(schema.tables) == ["orders"]
    assert [column.to_dict() for column in schema.tables["orders"].columns.values()] == [
        {"name": "id", "data_type": "bigint", "x-row-id": True, "primary_key": True},
        {"name": "note", "data_type": "text", "nullable": False},
        {"name": "code", "data_type": "bigint", "precision": 16, "unique": True},
        {"name": "a", "x-database-type": ""},
        {"name": "b", "x-database-type": ""},
    ]


@pytest.mark.parametrize(
    ("written", "expected", "stored"),
    [
        ("varchar(10)", {"data_type": "text", "precision": 10}, {"data_type": "text"}),
        ("BIGINT", {"data_type": "bigint"}, {"data_type": "bigint"}),
        ("double precision", {"data_type": "double"}, {"data_type": "double"}),
        ("NUMERIC(38, 9)", {"data_type": "decimal", "precision": 38, "scale": 9}, {"data_type": "decimal"}),
        ("NUMERIC(38, 0)", {"data_type": "wei"}, {"data_type": "decimal"}),
        ("NUMERIC(10)", {"data_type": "decimal", "precision": 10}, {"data_type": "decimal"}),
        ("NUMERIC", {"data_type": "decimal"}, {"data_type": "decimal"}),
        ("DATETIME", {"data_type": "timestamp"}, {"data_type": "timestamp"}),
        ("JSON", {"data_type": "json"}, {"data_type": "json"}),
        ("geometry(1)", {"x-database-type": "geometry(1)"}, {"x-database-type": "geometry(1)"}),
    ],
)
def test_types_are_those_declared(path: Path, written: str, expected: dict[str, Any], stored: dict[str, Any]) -> None:
    make(path, f"create table t (x {written})")
    column = read(path).tables["t"].columns["x"]
    assert column.properties == expected
    assert destination.stored(column) == stored == destination.stored(Column("x", stored))


def test_datasets_are_files_beside_it(path: Path) -> None:
    make(path)
    make(path.with_name("shop__sales.db"), "create table a (x int)")
    make(path.with_name("shop__sales_staging.db"), "create table a (x int)")
    make(path.with_name("other__geo.db"), "create table b (x int)")
    path.touch()
    assert (read(path).name, list(read(path).tables)) == ("sales", ["a"])
    make(path, "create table mine (x int)")
    with pytest.raises(InputError, match="contains 2 datasets: `main`, `sales`"):
        read(path)
    assert list(read(path, "?dataset=main").tables) == ["mine"]


def test_the_schema_is_named_as_dlt_names_it(path: Path) -> None:
    versions = "_dlt_version (schema_name text, version_hash text, inserted_at timestamp)"
    make(path, f"create table {versions}", "insert into _dlt_version values ('geo', 'A', '2026-01-01')")
    assert read(path).name == "geo"


def test_the_number_of_queries_does_not_grow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    opened = session.reading

    @contextmanager
    def counting(file: Path) -> Iterator[sqlite3.Connection]:
        with opened(file) as connection:
            # What table functions ask for within a query comes as a comment.
            connection.set_trace_callback(lambda each: each.startswith("--") or asked.append(each))
            yield connection

    for module in (session, catalogue):
        monkeypatch.setattr(module, "reading", counting)
    read(make(path, "create table t (id integer primary key)"))
    few = len(asked)
    read(make(path, *(f"create table t{number} (id integer primary key)" for number in range(50))))
    assert len(asked) == 2 * few


def test_nothing_is_written_not_even_a_log(path: Path) -> None:
    make(path, "create table t (x int)")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
    before = path.read_bytes()
    assert list(read(path).tables) == ["t"]
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_another_process_has_in_its_log_is_seen(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (x int)")
        connection.commit()
        assert list(read(path).tables) == ["t"]


def test_what_is_no_database_is_reported(path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(InputError, match="there are no tables"):
        read(path)
    path.write_text("no database" * 1000)
    with pytest.raises(DestinationError, match=r"cannot read .*not a database"):
        read(path)
