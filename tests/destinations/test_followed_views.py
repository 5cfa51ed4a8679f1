"""Views of views in the catalogs of databases, and SQL files that read the tables of other files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from mysql_database import run

from schemactl.flows.reader_sources import parse_reader_source
from schemactl.flows.readers import read_readers
from schemactl.review.readers import Answer, ReaderEffect, Readership
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.usefixtures("work")

SHOP = new_schema("shop").with_table(
    Table("orders", {name: Column(name, {"data_type": "bigint"}) for name in ("id", "amount", "note", "status")})
)
TABLE = "create table shop.orders (id bigint, amount bigint, note bigint, status bigint)"
VIEWS = (
    "create view shop.daily as select id, amount as total, note from shop.orders",
    "create view reporting.weekly (number, sum) as select id, total * 2 from shop.daily",
    "create view reporting.monthly as select number from reporting.weekly where sum > 1",
    "create view reporting.counted as select count(*) as n from reporting.monthly",
    "create view reporting.other as select 1 as note",
)
BEHIND = ["reporting.counted", "reporting.monthly", "reporting.weekly"]


def readers_of(source: str) -> Readership:
    return read_readers((parse_reader_source(source),), "shop", [SHOP])


def broken(readership: Readership, effect: ReaderEffect, column: str) -> dict[str, list[str]]:
    """Return the readers that a change of a column breaks, each with the readers behind it."""
    readers = readership.broken_by(effect, "orders", column)
    return {item.reader.name: sorted(reader.name for reader in item.downstream) for item in readers}


def check_chain(readership: Readership) -> None:
    """Check the readers of ``VIEWS``."""
    assert broken(readership, ReaderEffect.REMOVED, "note") == {"shop.daily": BEHIND}
    retyped = broken(readership, ReaderEffect.RETYPED, "amount")
    assert retyped == {"reporting.weekly": ["reporting.counted", "reporting.monthly"]}
    assert readership.answer("orders", "status") is Answer.NOT_READ


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect("data.duckdb") as connection:
        connection.execute(f"create schema shop; create schema reporting; {TABLE}")
        yield connection


def test_a_view_of_a_duckdb_view_is_behind_it(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute(";".join(VIEWS))
    duck.close()
    check_chain(readers_of("duckdb:///data.duckdb"))


def test_a_view_of_a_star_reads_the_columns_of_the_table(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("create view shop.copy as select * from shop.orders")
    duck.execute("create view reporting.sums as select sum(amount) as s from shop.copy")
    duck.close()
    readership = readers_of("duckdb:///data.duckdb")
    assert broken(readership, ReaderEffect.REMOVED, "amount") == {"reporting.sums": []}
    assert readership.answer("orders", "note") is Answer.UNKNOWN


def test_a_bare_name_is_the_view_of_the_same_dataset(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("create view shop.daily as select amount as x from shop.orders")
    duck.execute("create view reporting.daily as select 1 as x; set search_path = 'reporting'")
    duck.execute("create view reporting.sums as select sum(x) as s from daily")
    duck.close()
    assert broken(readers_of("duckdb:///data.duckdb"), ReaderEffect.REMOVED, "amount") == {"shop.daily": []}


def test_a_macro_on_a_view_may_read_the_columns_that_only_a_star_passes_on(duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("create view shop.copy as select * from shop.orders")
    duck.execute("create macro shop.last_note() as table select max(note) from shop.copy")
    duck.close()
    (doubt,) = readers_of("duckdb:///data.duckdb").blind_for("orders", "note")
    assert (doubt.reader.name, doubt.reason) == ("shop.last_note", "a function")


def test_views_of_views_of_sqlite_are_followed() -> None:
    with sqlite3.connect("shop.db") as connection:
        for statement in (TABLE, *VIEWS):
            connection.execute(statement.replace("shop.", "").replace("reporting.", ""))
    readership = readers_of("sqlite:///shop.db")
    names = [name.replace("reporting", "main") for name in BEHIND]
    assert broken(readership, ReaderEffect.REMOVED, "note") == {"main.daily": names}
    assert broken(readership, ReaderEffect.RETYPED, "amount") == {"main.weekly": ["main.counted", "main.monthly"]}


@pytest.mark.destinations
def test_views_of_views_of_postgresql_are_followed(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create database followed_views")
    url = postgres_url.replace("/postgres", "/followed_views")
    materialized = VIEWS[2].replace("create view", "create materialized view")
    with psycopg.connect(url) as connection:
        for statement in ("create schema shop", "create schema reporting", TABLE, *VIEWS[:2], materialized, *VIEWS[3:]):
            connection.execute(statement)
    check_chain(readers_of(url))


@pytest.mark.destinations
def test_views_of_views_of_mysql_are_followed(mariadb_url: str) -> None:
    run(mariadb_url, "create database shop", "create database reporting", TABLE, *VIEWS)
    check_chain(readers_of(mariadb_url))


def write_files(work: Path, **texts: str) -> Readership:
    for name, text in texts.items():
        (work / f"{name}.sql").write_text(text)
    return readers_of("sql:*.sql?dialect=duckdb")


def test_a_file_reads_the_table_of_another_file(work: Path) -> None:
    readership = write_files(
        work,
        a="create or replace table marts.daily as select id, amount as total from shop.orders",
        b="create view if not exists marts.weekly as\nselect * from marts.daily",
        c="select id\nfrom marts.weekly where total > 1",
        d="select id from other.weekly where total > 1",
    )
    assert broken(readership, ReaderEffect.REMOVED, "amount") == {"a.sql": ["b.sql", "c.sql"]}
    (item,) = readership.broken_by(ReaderEffect.RETYPED, "orders", "amount")
    assert [str(use.location) for use in item.uses] == ["c.sql:2"]
    assert item.reader.name == "c.sql"


NOT_FOLLOWED = {
    "two files create the table": (
        "create table marts.daily as select * from shop.orders",
        "create table daily as select 1 as amount; select 2",
    ),
    "the table is temporary": ("create temporary table daily as select * from shop.orders", "select 1"),
    "the file has its own table": (
        "create table daily as select * from shop.orders",
        "create temp table x as select 1; with daily as (select 1 as amount) select amount from daily",
    ),
}


@pytest.mark.parametrize(("first", "second"), NOT_FOLLOWED.values(), ids=NOT_FOLLOWED)
def test_a_table_that_may_be_another_one_is_not_followed(first: str, second: str, work: Path) -> None:
    last = "select 1" if "with daily" in second else "select amount + 1 from daily"
    readership = write_files(work, a=first, b=second, c=last)
    assert broken(readership, ReaderEffect.RETYPED, "amount") == {}


def test_files_that_create_tables_from_each_other_are_read_once(work: Path) -> None:
    readership = write_files(
        work,
        a="create table x as select o.amount from shop.orders o join y using (id)",
        b="create table y as select x.amount, 1 as id from x where x.amount > 0",
    )
    assert broken(readership, ReaderEffect.REMOVED, "amount") == {"a.sql": ["b.sql"]}
    assert broken(readership, ReaderEffect.RETYPED, "amount") == {"b.sql": ["a.sql"]}
