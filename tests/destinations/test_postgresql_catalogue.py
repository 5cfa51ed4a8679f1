"""What a PostgreSQL server's catalog says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from schemactl.destinations import Catalogue
from schemactl.destinations import postgresql as destination
from schemactl.destinations.postgresql.session import READING, open_session, parse_address
from schemactl.errors import DestinationError, InputError
from schemactl.installation import install_command
from schemactl.schema.types import Column


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The address of an empty database."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create database shop")
    yield postgres_url.replace("/postgres", "/shop")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop database shop with (force)")


def make(url: str, *statements: str) -> str:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement)
    return url


def read(url: str) -> Catalogue:
    return destination.read_catalogue(url)


def test_columns_keep_their_order_nulls_and_keys(database: str) -> None:
    make(
        database,
        "create table orders (id bigint primary key, note text not null, gone int, code integer unique, a int, b int, "
        "unique (a, b))",
        "alter table orders drop column gone",
        "create unique index on orders (note) where note <> ''",
        "create view seen as select * from orders",
    )
    schema = read(database).schema
    assert schema.name == "public"
    assert list(schema.tables) == ["orders"]
    assert [column.to_dict() for column in schema.tables["orders"].columns.values()] == [
        {"name": "id", "data_type": "bigint", "nullable": False, "primary_key": True},
        {"name": "note", "data_type": "text", "nullable": False},
        {"name": "code", "data_type": "bigint", "precision": 32, "unique": True},
        {"name": "a", "data_type": "bigint", "precision": 32},
        {"name": "b", "data_type": "bigint", "precision": 32},
    ]


TYPES: dict[str, dict[str, Any]] = {
    "varchar(10)": {"data_type": "text", "precision": 10},
    "real": {"data_type": "double"},
    "smallint": {"data_type": "bigint", "precision": 16},
    "numeric(156, 78)": {"data_type": "wei"},
    "numeric(78, 0)": {"data_type": "wei"},
    "numeric(10, 2)": {"data_type": "decimal", "precision": 10, "scale": 2},
    "numeric": {"data_type": "decimal", "x-database-type": "numeric"},
    "timestamptz": {"data_type": "timestamp"},
    "timestamptz(3)": {"data_type": "timestamp", "precision": 3},
    "timestamp(6)": {"data_type": "timestamp", "timezone": False},
    "time(0)": {"data_type": "time", "precision": 0},
    "bytea": {"data_type": "binary"},
    "json": {"data_type": "json"},
    "uuid": {"x-database-type": "uuid"},
    "varchar(10)[]": {"x-database-type": "character varying(10)[]"},
    "timetz": {"x-database-type": "time with time zone"},
    "inet": {"x-database-type": "inet"},
}


def test_types_are_dlts_or_kept_as_they_are(database: str) -> None:
    make(database, f"create table t ({', '.join(f'x{n} {written}' for n, written in enumerate(TYPES))})")
    columns = read(database).schema.tables["t"].columns.values()
    assert [dict(column.properties) for column in columns] == list(TYPES.values())


def test_a_column_as_read_is_stored_alike() -> None:
    for kind in TYPES.values():
        if kind != TYPES["numeric(78, 0)"]:
            assert destination.stored(Column("x", kind)) == kind


def test_the_dataset_is_the_only_one_or_asked_for(database: str) -> None:
    with pytest.raises(InputError, match="there are no tables in"):
        read(database)
    make(database, "create schema sales", "create table sales.a (x int)")
    make(database, "create schema sales_staging", "create table sales_staging.b (x int)")
    found = read(database)
    assert list(found.schema.tables) == ["a"]
    assert found.origin.endswith("/shop?dataset=sales")
    assert list(read(f"{database}?dataset=sales_staging").schema.tables) == ["b"]
    make(database, "create table c (x int)")
    with pytest.raises(InputError, match="contains 2 datasets: `public`, `sales`"):
        read(database)


def test_partitions_are_one_table(database: str) -> None:
    make(
        database,
        "create table events (day date) partition by range (day)",
        "create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01')",
    )
    assert list(read(database).schema.tables) == ["events"]


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with each time that a server is waited for, but for the making of connections."""
    waited: list[None] = []
    wait = psycopg.Connection.wait

    def counted(connection: psycopg.Connection[Any], *arguments: Any, **others: Any) -> Any:
        waited.append(None)
        return wait(connection, *arguments, **others)

    monkeypatch.setattr(psycopg.Connection, "wait", counted)
    return waited


def test_the_number_of_round_trips_does_not_grow(database: str, round_trips: list[None]) -> None:
    def count() -> int:
        round_trips.clear()
        read(database)
        return len(round_trips)

    versions = "_dlt_version (schema_name varchar, version_hash varchar, inserted_at timestamptz)"
    make(database, f"create table {versions}", "insert into _dlt_version values ('shop', 'A', '2026-01-01')")
    few = count()
    make(database, *(f"create table t{number} (id bigint primary key)" for number in range(50)))
    assert count() == few <= 4
    assert read(database).schema.name == "shop"


def test_a_statement_outside_of_a_transaction_is_one_round_trip(database: str, round_trips: list[None]) -> None:
    asked = "select current_setting('TimeZone'), current_setting('transaction_read_only'), %s, %s, '100%%'"
    with open_session(parse_address(database), READING) as session:
        round_trips.clear()
        assert session.query(asked, "it's \\ 5%", None) == [("UTC", "on", "it's \\ 5%", None, "100%")]
        assert len(round_trips) == 1
        with pytest.raises(psycopg.Error, match="read-only transaction"):
            session.execute("create table made (x int)")
        assert not session.is_in_transaction
        # What holds in one transaction is not left to the next one.
        assert session.connection.execute("show transaction_read_only").fetchone() == ("off",)


def test_no_password_is_reported(database: str) -> None:
    make(database, "create table t (x int)")
    assert "s3cret" not in read(database).origin
    with pytest.raises(DestinationError, match="password authentication failed") as caught:
        read(database.replace("s3cret", "wr0ng"))
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("url", [
    "postgresql://loader:s3c@ret@host/db", "postgresql://loader:s3c/ret@host/db", "postgresql://loader:s3c#ret@host/db",
    "postgresql://loader:s3c?ret@host/db", "postgresql://loader:s3c:ret@host:x/db", "postgresql:loader",
])  # fmt: skip
def test_a_password_with_odd_characters_is_not_taken_for_a_host(url: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        read(url)
    assert "s3c" not in str(caught.value)
    assert "ret" not in str(caught.value)
    assert "%XX" in str(caught.value.hint)


def test_a_server_that_is_not_there_is_reported() -> None:
    with pytest.raises(DestinationError, match=r"cannot reach the server in `postgresql://me@127\.0\.0\.1:1/db`"):
        read("postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=2")
    with pytest.raises(DestinationError, match="invalid connection option"):
        read("postgresql://me:s3cret@127.0.0.1:1/db?colour=red")


def test_a_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DestinationError, match="`psycopg` is not installed") as caught:
        read("postgresql://host/db")
    assert caught.value.hint == install_command("postgres")


def test_queries_are_the_views_functions_and_triggers_of_all_datasets(database: str) -> None:
    make(
        database,
        "create table orders (id bigint, amount bigint)",
        "create schema reporting",
        "create view reporting.daily as select sum(amount) as total from orders",
        "create materialized view reporting.monthly as select id from orders",
        "create function last_id() returns bigint language sql as 'select max(id) from orders'",
        "create function check_it() returns trigger language plpgsql as 'begin return new; end'",
    )
    queries = {f"{query.dataset}.{query.name}": query for query in destination.read_queries(database)}
    assert {name: query.kind for name, query in queries.items()} == {
        "reporting.daily": "view",
        "reporting.monthly": "materialized view",
        "public.last_id": "function",
        "public.check_it": "trigger",
    }
    assert "public.orders" in queries["reporting.daily"].sql
