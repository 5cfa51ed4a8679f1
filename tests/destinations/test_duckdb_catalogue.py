"""What a DuckDB file's catalog says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemactl.destinations import duckdb as destination
from schemactl.destinations._address import parse_file_address
from schemactl.destinations.duckdb import catalogue
from schemactl.destinations.duckdb.session import DuckDbSession
from schemactl.errors import DestinationError, ExitCode, InputError
from schemactl.installation import install_command
from schemactl.schema.types import Column, Schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.duckdb"


def make(path: Path, *statements: str) -> Path:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def read(path: Path, query: str = "") -> Schema:
    return destination.read_catalogue(f"duckdb:///{path}{query}").schema


def test_columns_keep_their_order_nulls_and_keys(path: Path) -> None:
    make(
        path,
        "create table main.orders (id bigint primary key, note varchar not null, code integer unique, a int, b int, "
        "unique (a, b))",
        "create view seen as select * from orders",
    )
    schema = read(path)
    assert schema.name == "main"
    assert list(schema.tables) == ["orders"]
    assert [column.to_dict() for column in schema.tables["orders"].columns.values()] == [
        {"name": "id", "data_type": "bigint", "nullable": False, "primary_key": True},
        {"name": "note", "data_type": "text", "nullable": False},
        {"name": "code", "data_type": "bigint", "precision": 32, "unique": True},
        {"name": "a", "data_type": "bigint", "precision": 32},
        {"name": "b", "data_type": "bigint", "precision": 32},
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("varchar(10)", {"data_type": "text"}),
        ("float", {"data_type": "double"}),
        ("tinyint", {"data_type": "bigint", "precision": 8}),
        ("uinteger", {"data_type": "bigint"}),
        ("hugeint", {"data_type": "wei"}),
        ("decimal(38, 0)", {"data_type": "wei"}),
        ("decimal(10, 2)", {"data_type": "decimal", "precision": 10, "scale": 2}),
        ("timestamptz", {"data_type": "timestamp"}),
        ("timestamp", {"data_type": "timestamp", "timezone": False}),
        ("timestamp_ns", {"data_type": "timestamp", "timezone": False, "precision": 9}),
        ("json", {"data_type": "json"}),
        ("blob", {"data_type": "binary"}),
        ("uuid", {"x-database-type": "UUID"}),
        ("ubigint", {"x-database-type": "UBIGINT"}),
        ("decimal(5, 1)[]", {"x-database-type": "DECIMAL(5,1)[]"}),
        ("struct(a integer)", {"x-database-type": 'STRUCT("a" INTEGER)'}),
        ("enum ('a', 'b')", {"x-database-type": "ENUM('a', 'b')"}),
    ],
)
def test_types_are_dlts_or_kept_as_they_are(path: Path, written: str, expected: dict[str, Any]) -> None:
    make(path, f"create table t (x {written})")
    column = read(path).tables["t"].columns["x"]
    assert column.properties == expected
    assert destination.stored(column) == expected


def test_a_column_as_stored_is_stored_alike() -> None:
    for kind in ({"data_type": "bigint", "precision": 100}, {"data_type": "decimal", "scale": 2}, {"data_type": "wei"}):
        once = destination.stored(Column("x", {**kind, "nullable": False, "primary_key": True, "description": "d"}))
        assert destination.stored(Column("x", once)) == once
        assert once["nullable"] is False
        assert not {"primary_key", "description"} & once.keys()


def test_the_dataset_is_the_only_one_or_asked_for(path: Path) -> None:
    make(path, "create schema sales", "create table sales.a (x int)")
    assert list(read(path).tables) == ["a"]
    make(path, "create schema sales_staging", "create table sales_staging.b (x int)")
    assert list(read(path).tables) == ["a"]
    assert list(read(path, "?dataset=sales_staging").tables) == ["b"]
    make(path, 'create schema "my data"', 'create table "my data".c (x int)')
    with pytest.raises(InputError, match="contains 2 datasets: `my data`, `sales`") as caught:
        read(path)
    assert "?dataset=" in str(caught.value.hint)
    assert read(path, "?dataset=my%20data").name == "my_data"
    with pytest.raises(InputError, match="no dataset `sale`") as caught:
        read(path, "?dataset=sale")
    assert caught.value.hint == "did you mean `sales`?"


def test_the_schema_is_named_as_dlt_names_it(path: Path) -> None:
    make(path, "create table _dlt_version (schema_name varchar, version_hash varchar, inserted_at timestamp)")
    assert read(path).name == "main"
    make(path, "insert into _dlt_version values ('shop', 'A', '2026-01-01'), ('shop', 'B', '2026-02-01')")
    assert read(path).name == "shop"
    assert destination.read_catalogue(f"duckdb:///{path}").hashes == ("B", "A")
    make(path, "insert into _dlt_version values ('geo', 'C', '2026-03-01')")
    assert read(path).name == "main"
    assert destination.read_catalogue(f"duckdb:///{path}").hashes == ()


def test_the_number_of_queries_does_not_grow(path: Path) -> None:
    def count() -> int:
        asked: list[str] = []

        class Counting:
            def __init__(self, connection: Any) -> None:
                self.connection = connection

            def execute(self, *arguments: Any) -> Any:
                asked.append(arguments[0])
                return self.connection.execute(*arguments)

        with duckdb.connect(path, read_only=True) as connection:
            session = DuckDbSession(Counting(connection), parse_file_address(f"duckdb:///{path}"))  # type: ignore[arg-type]
            catalogue.read_session(session, None)
        return len(asked)

    make(path, "create table _dlt_version (schema_name varchar, version_hash varchar, inserted_at timestamp)")
    few = count()
    make(path, *(f"create table t{number} (id bigint primary key)" for number in range(50)))
    assert count() == few <= 3


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("duckdb:///none.duckdb", "there is no file `none.duckdb`", None),
        ("duckdb:///.", "`.` is a folder, but `duckdb` needs a file", None),
        ("duckdb://x.duckdb", "does not name a file", "duckdb:///PATH or duckdb:////ABSOLUTE/PATH"),
        ("duckdb:x.duckdb", "does not name a file", "duckdb:///PATH or duckdb:////ABSOLUTE/PATH"),
        ("duckdb:///", "does not name a file", "duckdb:///PATH or duckdb:////ABSOLUTE/PATH"),
        ("duckdb:///x?read_only=1", "`read_only` is not a parameter", "`?dataset=NAME`"),
        ("duckdb:///x?sales", "`sales` is not a parameter", "`?dataset=NAME`"),
    ],
)
def test_a_wrong_address_is_reported(
    url: str, message: str, hint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        destination.read_catalogue(url)
    assert caught.value.hint == hint
    assert list(tmp_path.iterdir()) == []


def test_a_slash_too_few_is_reported(path: Path) -> None:
    make(path, "create table t (x int)")
    with pytest.raises(InputError) as caught:
        destination.read_catalogue(f"duckdb://{path}")
    assert caught.value.hint == f"write an absolute path with four slashes: `duckdb:///{path}`"


def test_what_is_no_database_is_reported(path: Path) -> None:
    path.write_text("no database" * 1000)
    with pytest.raises(DestinationError, match="cannot read"):
        read(path)
    with pytest.raises(InputError, match="there are no tables"):
        read(make(path.with_name("empty.duckdb")))


def test_a_file_of_documents_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text('{"id": 1}')
    with pytest.raises(DestinationError, match="it is not a valid DuckDB database file"):
        read(path)


def test_nothing_is_written(path: Path) -> None:
    make(path, "create table t (x int)")
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_another_process_writes_is_reported(path: Path) -> None:
    hold = f"import duckdb; c = duckdb.connect({str(path)!r}); print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(DestinationError, match="cannot read") as caught:
            read(path)
        writer.communicate(b"\n")
    assert "another process" in str(caught.value.hint)


def test_a_missing_driver_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path, "create table t (x int)")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DestinationError, match="`duckdb` is not installed") as caught:
        read(path)
    assert caught.value.hint == install_command("duckdb")
    assert caught.value.code == ExitCode.BAD_INPUT  # as where Spark is missing
