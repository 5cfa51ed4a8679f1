"""Loading into a PostgreSQL server."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import threading
import time as time_
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from staged_loads import IN_THE_WAY, lines, order, order_and_lines, orders, package, quiet, shop

from schemactl.destinations import postgresql as destination
from schemactl.errors import DestinationError, InputError
from schemactl.normalization.package import LoadPackage, StagedTable
from tests.destinations.conftest import TYPED


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The address of an empty database, whose clients would not be in UTC."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create database shop")
        connection.execute("alter database shop set timezone = 'Asia/Tokyo'")
    yield postgres_url.replace("/postgres", "/shop")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop database shop with (force)")


def load(database: str, made: LoadPackage, dataset: str = "sales") -> None:
    destination.load(f"{database}?dataset={dataset}", made, quiet)


def ask(database: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database, options="-c search_path=sales -c timezone=UTC") as connection:
        return connection.execute(query.encode()).fetchall()


def make(database: str, *statements: str) -> None:
    with psycopg.connect(database) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_a_load_makes_the_dataset_and_its_tables(database: str, tmp_path: Path) -> None:
    made = order_and_lines(tmp_path)
    load(database, made)
    assert ask(database, "select id, note from orders order by id") == [(1, "a"), (2, None)]
    assert ask(database, "select sku from orders__lines order by sku") == [("x",), ("y",)]
    loads = ask(database, "select load_id, schema_name, status, schema_version_hash, inserted_at from _dlt_loads")
    assert loads == [("1", "shop", 0, made.schema.version_hash, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))]
    catalogue = destination.read_catalogue(f"{database}?dataset=sales")
    assert catalogue.hashes == (made.schema.version_hash,)
    for table in (orders(), lines()):
        found = catalogue.schema.tables[table.name].columns
        assert list(found) == list(table.columns)
        assert found["_dlt_id"].properties["unique"]
        for name, column in table.columns.items():
            assert destination.stored(found[name]) == destination.stored(column)


VALUES: dict[str, list[Any]] = {
    "a_text": ["", "a'b\"c\n\r\t,", "ж🐘", "\\.", "\\N", "null", " "],
    "a_double": [float("inf"), float("-inf"), 5e-324, 0.1, -0.0, 1.7976931348623157e308],
    "a_bool": [True, False],
    "a_timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
    "naive": [datetime(2026, 1, 2, 3, 4, 5, 678901)],
    "a_bigint": [-(2**63), 2**63 - 1, 0],
    "a_binary": [b"", b"\x00\xff\\x41", b"'"],
    "a_decimal": [Decimal("0.000000001"), Decimal("-12345678901234567890123456789.123456789")],
    "a_wei": [Decimal(10**38 - 1), Decimal(-(10**37))],
    "a_date": [date(1, 1, 1), date(9999, 12, 31)],
    "a_time": [time(0), time(23, 59, 59, 999999)],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_arrive_as_they_are(name: str, database: str, tmp_path: Path) -> None:
    values = [*VALUES[name], None]
    rows = [order(number, **{name: value}) for number, value in enumerate(values)]
    for load_id, disposition in (("1", "append"), ("2", "merge")):
        table = orders({name: TYPED[name]}, write_disposition=disposition)
        rows = [{**row, "_dlt_id": f"{load_id} {row['id']}", "_dlt_load_id": load_id} for row in rows]
        load(database, package(tmp_path, shop(table), load_id, {"orders": rows}))
        found = ask(database, f"select {name} from orders where _dlt_load_id = '{load_id}' order by id")
        assert [row[0] for row in found] == values


def test_numbers_that_are_none_and_documents_arrive(database: str, tmp_path: Path) -> None:
    table = orders({"a_double": TYPED["a_double"], "a_json": TYPED["a_json"]})
    rows = [order(1, a_double=float("nan"), a_json='{"b":1,"a":[null,"\\u0001"]}'), order(2, a_json='"x"')]
    load(database, package(tmp_path, shop(table), "1", {"orders": rows}))
    found = ask(database, "select a_double::text, a_json::text from orders order by id")
    assert found == [("NaN", '{"a": [null, "\\u0001"], "b": 1}'), (None, '"x"')]


def test_moments_in_sparks_old_form_are_in_utc(database: str, tmp_path: Path) -> None:
    table = orders({"a_timestamp": TYPED["a_timestamp"], "naive": TYPED["naive"]})
    at = datetime(1, 2, 3, 4, 5, 6, tzinfo=UTC)
    rows = pa.table(
        {
            "_dlt_id": ["r"],
            "_dlt_load_id": ["1"],
            "naive": pa.array([at.replace(tzinfo=None)], pa.timestamp("us")),
            "a_timestamp": pa.array([at], pa.timestamp("us", "UTC")),
            "note": ["x"],
            "id": [1],
        }
    )
    pq.write_table(rows, tmp_path / "part.parquet", use_deprecated_int96_timestamps=True)
    load(database, LoadPackage("1", shop(table), (StagedTable(table, tmp_path, 1),), datetime.now(UTC)))
    assert ask(database, "select a_timestamp, naive, note from orders") == [(at, at.replace(tzinfo=None), "x")]


def test_bytes_arrive_from_many_batches(database: str, tmp_path: Path) -> None:
    table = orders({"a_binary": TYPED["a_binary"]})
    rows = [order(n, a_binary=None if n % 3 == 0 else bytes([n % 256]) * (n % 5)) for n in range(70_000)]
    load(database, package(tmp_path, shop(table), "1", {"orders": rows}))
    assert dict(ask(database, "select id, a_binary from orders")) == {row["id"]: row["a_binary"] for row in rows}


def test_descriptions_are_comments_of_what_is_made(database: str, tmp_path: Path) -> None:
    first = orders({"note": {"data_type": "text", "description": "it's what\nthey said"}}, description="All orders")
    load(database, package(tmp_path, shop(first), "1", {"orders": [order(1)]}))
    grown = orders({"new": {"data_type": "double", "description": "added"}})
    load(database, package(tmp_path, shop(grown), "2", {"orders": [order(2, "2", new=0.5)]}))
    asked = "select objsubid > 0, description from pg_description where objoid = 'sales.orders'::regclass order by 2"
    assert ask(database, asked) == [(False, "All orders"), (True, "added"), (True, "it's what\nthey said")]


def test_loads_at_the_same_time_go_one_after_the_other(database: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: load(database, order_and_lines(tmp_path, str(each))), range(1, 9)))
    assert ask(database, "select count(*), count(distinct _dlt_load_id) from orders") == [(16, 8)]
    assert ask(database, "select count(*) from _dlt_version") == [(1,)]


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_loads_at_the_same_time_need_no_luck_under_any_isolation(isolation: str, database: str, tmp_path: Path) -> None:
    make(database, f"alter database shop set default_transaction_isolation = '{isolation}'")
    asked = threading.Barrier(2)

    def slow(what: str, share: float | None) -> None:
        quiet(what, share)
        if "locking" in what:  # both have looked at what is there
            asked.wait(30)

    made = order_and_lines(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(destination.load, f"{database}?dataset=sales", made, slow) for _ in range(2)]
    for each in both:
        each.result()
    assert ask(database, "select count(*) from orders") == [(2,)]
    assert ask(database, "select load_id from _dlt_loads") == [("1",)]


def test_a_check_waits_for_the_load_that_makes_its_tables(database: str, tmp_path: Path) -> None:
    checks: list[Future[None]] = []
    with ThreadPoolExecutor(1) as pool:

        def check_meanwhile(what: str, share: float | None) -> None:
            quiet(what, share)
            if what == "completing the load":
                checks.append(
                    pool.submit(destination.check_tables, f"{database}?dataset=sales", order_and_lines(tmp_path).schema)
                )
                with psycopg.connect(database, autocommit=True) as connection:
                    await_waiting(connection)

        destination.load(f"{database}?dataset=sales", order_and_lines(tmp_path), check_meanwhile)
        checks[0].result()


def await_waiting(connection: psycopg.Connection[Any]) -> None:
    """Return once another session waits for a lock."""
    end = time_.monotonic() + 30
    while not connection.execute("select 1 from pg_locks where not granted").fetchall():
        assert time_.monotonic() < end
        time_.sleep(0.05)


def test_a_nul_character_is_reported(database: str, tmp_path: Path) -> None:
    made = package(tmp_path, shop(orders()), "1", {"orders": [order(1, note="a\0b")]})
    with pytest.raises(DestinationError, match="column `note` of table `orders`: PostgreSQL refuses NUL"):
        load(database, made)
    table = orders({"a_json": TYPED["a_json"]})
    made = package(tmp_path, shop(table), "1", {"orders": [order(1, a_json='"a\\u0000b"')]})
    with pytest.raises(DestinationError, match="COPY orders, line 1, column a_json") as caught:
        load(database, made)
    assert "NUL characters" in str(caught.value.hint)
    assert ask(database, "select 1 from pg_namespace where nspname = 'sales'") == []


RELATIONS = """
    select relname, relkind, (select count(*) from pg_attribute where attrelid = c.oid and attnum > 0)
    from pg_class c where relnamespace = 'sales'::regnamespace and relkind in ('r', 'v', 'S') order by 1
"""
"""Tables, views and sequences of the dataset, with the number of their columns."""

REFUSED = {
    **IN_THE_WAY,
    "a column that the load lacks": (["create table sales.orders (more int not null)"], 'column "more"', {}),
    "a condition": (["create table sales.orders (id bigint check (id > 1))"], "violates check constraint", {}),
    "a computed column": (["create table sales.orders (id bigint generated always as (1) stored)"], "generated", {}),
    "a trigger that takes rows away": (
        [
            "create table sales.orders (id bigint)",
            "create function sales.f() returns trigger language plpgsql as 'begin return null; end'",
            "create trigger t before insert on sales.orders for each row execute function sales.f()",
        ],
        "0 of 1 rows arrived",
        {},
    ),
    "a sequence": (["create sequence sales.orders"], 'relation "orders" already exists', {}),
    "a type": (["create type sales.orders as enum ('a')", "create table sales.b (id int)"], "already exists", {}),
}
REPORTED_LATE = ("a column that the load lacks", "a condition", "a computed column", "a trigger that takes rows away")
"""By the load, once rows are there; the others are reported by the check as well."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_in_the_way_is_reported_and_nothing_is_written(case: str, database: str, tmp_path: Path) -> None:
    statements, message, columns = REFUSED[case]
    make(database, "create schema sales", *statements)
    made = package(tmp_path, shop(orders(columns)), "1", {"orders": [order(1, needed=1)]})
    rows = "select * from orders" if case not in ("a sequence", "a type") else "select 0"
    before = ask(database, RELATIONS), ask(database, rows)
    if case not in REPORTED_LATE:
        with pytest.raises(DestinationError, match=message):
            destination.check_tables(f"{database}?dataset=sales", made.schema)
    with pytest.raises(DestinationError, match=message) as caught:
        load(database, made)
    assert caught.value.hint
    assert (ask(database, RELATIONS), ask(database, rows)) == before


def test_a_check_leaves_nothing(database: str, tmp_path: Path) -> None:
    destination.check_tables(database, order_and_lines(tmp_path).schema)
    assert ask(database, "select 1 from pg_namespace where nspname = 'shop'") == []


UNLIKE = [
    ("a_bigint", "integer", 2**40, None),
    ("a_bigint", "integer", 7, 7),
    ("a_double", "bigint", 1.5, None),
    ("a_double", "real", 0.1, None),
    ("a_double", "real", 0.5, 0.5),
    ("a_decimal", "numeric(10,2)", Decimal("1.239"), None),
    ("a_decimal", "numeric", Decimal("1.239"), Decimal("1.239")),
    ("a_timestamp", "date", datetime(2026, 1, 2, 3, tzinfo=UTC), None),
    ("a_timestamp", "timestamp(0) with time zone", datetime(2026, 1, 2, 3, 4, 5, 600000, UTC), None),
    ("a_text", "character varying(5)", "123456", None),
    ("a_text", "character varying(5)", "12345", "12345"),
    ("a_text", "bigint", "x", None),
    ("a_json", "json", '{"b": 1, "a": 2}', {"b": 1, "a": 2}),
]


@pytest.mark.parametrize("disposition", ["append", "merge"])
@pytest.mark.parametrize(("name", "there", "value", "expected"), UNLIKE)
def test_a_column_of_another_type_takes_what_it_can_hold_and_no_more(
    name: str, there: str, value: Any, expected: Any, disposition: str, database: str, tmp_path: Path
) -> None:
    make(database, "create schema sales", f"create table sales.orders (id bigint, {name} {there})")
    table = orders({name: TYPED[name]}, write_disposition=disposition)
    made = package(tmp_path, shop(table), "1", {"orders": [order(1, **{name: value})]})
    if expected is None:
        place = f"column `{name}` of table `orders` (`{there}` in the table"
        with pytest.raises(DestinationError, match=re.escape(place)) as caught:
            load(database, made)
        assert caught.value.hint
        assert ask(database, "select count(*) from orders") == [(0,)]
        assert len(ask(database, "select 1 from pg_tables where schemaname = 'sales'")) == 1
    else:
        load(database, made)
        assert ask(database, f"select {name} from orders") == [(expected,)]


def test_a_name_that_would_be_cut_is_refused(database: str, tmp_path: Path) -> None:
    name = "ж" * 32
    made = package(tmp_path, shop(orders({name: {"data_type": "text"}})), "1", {"orders": [order(1)]})
    for attempt in (lambda: destination.check_tables(database, made.schema), lambda: load(database, made)):
        with pytest.raises(DestinationError, match=f"up to 63 bytes; in columns of table `orders`, `{name}` is longer"):
            attempt()


def test_rights_that_are_missing_are_reported_before(database: str, tmp_path: Path) -> None:
    make(
        database,
        "drop role if exists guest",
        "create role guest login password 'guest'",
        "create schema sales",
        "create table sales.orders (_dlt_id varchar)",
        "grant usage, create on schema sales to guest",
    )
    url = re.sub("//.*@", "//guest:guest@", database)
    schema = order_and_lines(tmp_path).schema
    with pytest.raises(DestinationError, match=r"cannot create dataset `shop`.*permission denied") as caught:
        destination.check_tables(url, schema)
    assert 'GRANT CREATE ON DATABASE "shop"' in str(caught.value.hint)
    with pytest.raises(
        DestinationError, match='cannot insert rows into table "sales"."orders"'.replace(".", "[.]")
    ) as caught:
        destination.check_tables(f"{url}?dataset=sales", schema)
    assert "grant the user" in str(caught.value.hint)
    make(database, "drop owned by guest", "drop role guest")


def test_datasets_that_the_user_may_not_look_into_are_not_in_the_way(database: str, tmp_path: Path) -> None:
    load(database, order_and_lines(tmp_path), "of_others")
    make(
        database,
        "drop role if exists guest",
        "create role guest login password 'guest'",
        "create schema shop authorization guest",
    )
    url = re.sub("//.*@", "//guest:guest@", database)
    assert not destination.read_past_loads(url, "shop").load_ids
    destination.check_tables(url, order_and_lines(tmp_path).schema)
    destination.load(url, order_and_lines(tmp_path), quiet)
    assert ask(database, "select count(*) from shop.orders") == [(2,)]
    with pytest.raises(DestinationError, match=r"cannot create dataset `of_others`") as caught:
        destination.check_tables(f"{url}?dataset=of_others", order_and_lines(tmp_path).schema)
    assert "USAGE" in str(caught.value.hint)
    make(database, "grant create on database shop to guest")
    with pytest.raises(DestinationError, match='cannot insert rows into table "of_others"') as caught:
        destination.check_tables(f"{url}?dataset=of_others", order_and_lines(tmp_path).schema)
    assert "grant the user" in str(caught.value.hint)
    make(database, "drop owned by guest cascade", "drop role guest")


def test_a_server_that_goes_away_is_reported_and_leaves_the_old_state(database: str, tmp_path: Path) -> None:
    load(database, order_and_lines(tmp_path))

    def cut(what: str, share: float | None) -> None:
        quiet(what, share)
        if "orders__lines" in what:
            ask(
                database,
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = 'shop' and pid <> pg_backend_pid()",
            )

    with pytest.raises(DestinationError, match="cannot load table `orders__lines`") as caught:
        destination.load(f"{database}?dataset=sales", order_and_lines(tmp_path, "2"), cut)
    assert "`--load-id`" in str(caught.value.hint)
    assert "s3cret" not in str(caught.value)
    assert ask(database, "select count(*) from orders") == [(2,)]
    load(database, order_and_lines(tmp_path, "2"))
    assert ask(database, "select count(*) from orders") == [(4,)]


def test_rows_that_do_not_arrive_stop_the_load(database: str, tmp_path: Path) -> None:
    for load_id, disposition in (("1", "append"), ("2", "merge")):
        made = order_and_lines(tmp_path, load_id, write_disposition=disposition)
        short = replace(made, tables=(replace(made.tables[0], rows=3), made.tables[1]))
        with pytest.raises(DestinationError, match="table `orders`: 2 of 3 rows arrived"):
            load(database, short)
        assert ask(database, "select 1 from pg_namespace where nspname = 'sales'") == []


def test_readers_see_the_old_rows_until_all_is_loaded(database: str, tmp_path: Path) -> None:
    load(database, order_and_lines(tmp_path, write_disposition="replace"))
    seen: list[Any] = []

    def look(what: str, share: float | None) -> None:
        quiet(what, share)
        if not what.startswith("locking"):
            seen.append(ask(database, "select count(*), min(_dlt_load_id) from orders")[0])

    destination.load(f"{database}?dataset=sales", order_and_lines(tmp_path, "2", write_disposition="replace"), look)
    assert seen == [(2, "1")] * 3
    assert ask(database, "select count(*), min(_dlt_load_id) from orders") == [(2, "2")]


IN_A_PROCESS = """
import os, pickle, signal, sys
from schemactl.destinations import postgresql
reported = 0
def progress(what, share):
    global reported
    reported += 1
    if reported == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
postgresql.load(sys.argv[1], pickle.loads(open(sys.argv[2], "rb").read()), progress)
"""


@pytest.mark.parametrize("stop", [2, 3, 4])
def test_a_killed_load_leaves_the_old_state_and_the_next_one_succeeds(stop: int, database: str, tmp_path: Path) -> None:
    load(database, order_and_lines(tmp_path))
    made = order_and_lines(tmp_path, "2", write_disposition="replace")
    file = tmp_path / "package"
    file.write_bytes(pickle.dumps(made))
    command = [sys.executable, "-c", IN_A_PROCESS, f"{database}?dataset=sales", str(file), str(stop)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert ask(database, "select distinct _dlt_load_id from orders") == [("1",)]
    load(database, made)
    assert ask(database, "select distinct _dlt_load_id from orders") == [("2",)]
    assert ask(database, "select count(*) from orders__lines") == [(2,)]


def test_addresses_and_servers_that_will_not_do_are_reported(tmp_path: Path) -> None:
    schema = order_and_lines(tmp_path).schema
    with pytest.raises(InputError, match="cannot be read"):
        destination.check_tables("postgresql://a@b@c/d", schema)
    with pytest.raises(DestinationError, match=r"cannot reach the server in `postgresql://me@127\.0\.0\.1:1/db`"):
        destination.check_tables("postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=2", schema)
