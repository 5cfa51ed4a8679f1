"""The catalogue of a MariaDB server, and loads into it."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import mysql_server
import pytest
from mysql_database import ask, run
from staged_loads import order, order_and_lines, orders, package, quiet, shop, staged

from schemactl.destinations import mysql as destination
from schemactl.errors import DestinationError, InputError
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import table_from_dict
from tests.destinations.conftest import TYPED


@pytest.fixture
def url(mariadb_url: str) -> str:
    return f"{mariadb_url}&dataset=sales"


def load(url: str, made: LoadPackage) -> None:
    destination.check_tables(url, made.schema)
    destination.load(url, made, quiet)


def test_a_load_makes_the_dataset_and_its_tables(url: str, tmp_path: Path) -> None:
    made = order_and_lines(tmp_path)
    load(url, made)
    assert ask(url, "select id, note from orders order by id") == [(1, "a"), (2, None)]
    assert ask(url, "select sku from orders__lines order by sku") == [("x",), ("y",)]
    loads = ask(url, "select load_id, schema_name, status, schema_version_hash, inserted_at from _dlt_loads")
    assert loads == [("1", "shop", 0, made.schema.version_hash, datetime(1970, 1, 1, 0, 0, 1))]
    catalogue = destination.read_catalogue(url)
    assert catalogue.hashes == (made.schema.version_hash,)
    assert "s3cret" not in catalogue.origin
    assert list(catalogue.schema.tables["orders"].columns) == list(orders().columns)


VALUES: dict[str, list[tuple[Any, Any]]] = {
    "a_text": [("", ""), ("a'b\"c\n\r\t\\ %s ж🐘", "a'b\"c\n\r\t\\ %s ж🐘"), ("x" * 70_000, "x" * 70_000)],
    "a_double": [(5e-324, 5e-324), (0.1, 0.1), (-1e300, -1e300)],
    "a_bool": [(True, 1), (False, 0)],
    "a_timestamp": [
        (datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ],
    "naive": [(datetime(2026, 1, 2, 3, 4, 5, 678901), datetime(2026, 1, 2, 3, 4, 5, 678901))],
    "a_bigint": [(-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1)],
    "a_binary": [(b"", b""), (b"\x00\xff\\x41'", b"\x00\xff\\x41'")],
    "a_json": [('{"b":1,"a":[null]}', '{"b": 1, "a": [null]}')],
    "a_decimal": [(Decimal("0.000000001"), Decimal("0.000000001"))],
    "a_wei": [(Decimal(10**38 - 1), Decimal(10**38 - 1))],
    "a_date": [(date(1000, 1, 1), date(1000, 1, 1))],
    "a_time": [(time(23, 59, 59, 999999), timedelta(hours=23, minutes=59, seconds=59, microseconds=999999))],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_arrive_as_they_are(name: str, url: str, tmp_path: Path) -> None:
    values = [*VALUES[name], (None, None)]
    rows = [order(number, **{name: value}) for number, (value, _) in enumerate(values)]
    load(url, package(tmp_path, shop(orders({name: TYPED[name]})), "1", {"orders": rows}))
    assert [row[0] for row in ask(url, f"select {name} from orders order by id")] == [kept for _, kept in values]


def test_a_decimal_with_a_precision_alone_has_no_digits_after_the_point_and_nothing_is_rounded(
    url: str, tmp_path: Path
) -> None:
    schema = shop(orders({"n": {"data_type": "decimal", "precision": 10}}))
    load(url, package(tmp_path, schema, "1", {"orders": [order(1, n=Decimal(5))]}))
    assert ask(url, "select n from orders") == [(Decimal(5),)]
    found = destination.read_catalogue(url).schema.tables["orders"].columns["n"]
    assert (found.properties["precision"], found.properties["scale"]) == (10, 0)
    fraction = {"orders": [order(2, "2", n=Decimal("1.5"))]}
    wide = package(tmp_path, shop(orders({"n": {"data_type": "decimal"}})), "2", fraction)
    with pytest.raises(DestinationError, match=r"`decimal\(10,0\)`, which stores no decimal places"):
        load(url, replace(wide, schema=schema, tables=(replace(wide.tables[0], table=schema.tables["orders"]),)))
    assert ask(url, "select count(*) from orders") == [(1,)]


def test_without_a_dataset_the_one_loaded_before_is_meant(mariadb_url: str, url: str, tmp_path: Path) -> None:
    load(mariadb_url, order_and_lines(tmp_path))
    assert destination.read_catalogue(mariadb_url).origin.endswith("?dataset=shop")
    load(mariadb_url, order_and_lines(tmp_path, "2"))
    load(url, order_and_lines(tmp_path))
    with pytest.raises(InputError, match="contains 2 datasets of schema `shop`: `sales`, `shop`"):
        load(mariadb_url, order_and_lines(tmp_path, "3"))
    address = mariadb_url.replace("localhost/", "localhost/more")
    load(address, order_and_lines(tmp_path))  # the path names the dataset, too
    assert destination.read_catalogue(address).origin.endswith("?dataset=more")


def test_descriptions_are_comments_of_what_is_made(url: str, tmp_path: Path) -> None:
    first = orders({"note": {"data_type": "text", "description": "it's \\ what"}}, description="All orders")
    load(url, package(tmp_path, shop(first), "1", {"orders": [order(1)]}))
    grown = orders({"new": {"data_type": "double", "description": "x" * 2000}})
    load(url, package(tmp_path, shop(grown), "2", {"orders": [order(2, "2", new=0.5)]}))
    made = "table_schema = 'sales' and table_name = 'orders'"
    assert ask(url, f"select table_comment from information_schema.tables where {made}") == [("All orders",)]
    columns = f"select column_name, column_comment from information_schema.columns where {made} and column_comment > ''"
    assert ask(url, columns) == [("note", "it's \\ what"), ("new", "x" * 1024)]


def test_rejects_are_appended(url: str, tmp_path: Path) -> None:
    table = table_from_dict("_rejects", {"columns": {"why": {"data_type": "text"}, "row": {"data_type": "json"}}})
    for load_id in "12":
        rejects = staged(tmp_path, table, [{"why": "frozen", "row": '{"a":1}'}])
        load(url, replace(order_and_lines(tmp_path, load_id), rejects=rejects))
    assert ask(url, "select why, `row` from _rejects") == [("frozen", '{"a": 1}')] * 2


def test_a_column_of_another_type_is_refused(url: str, tmp_path: Path) -> None:
    load(url, package(tmp_path, shop(orders({"v": {"data_type": "bigint"}})), "1", {"orders": [order(1, v=1)]}))
    schema = shop(orders({"v": {"data_type": "text"}}))
    with pytest.raises(DestinationError, match="does not fit into column `v`") as caught:
        load(url, package(tmp_path, schema, "2", {"orders": [order(2, "2", v="7")]}))
    assert "schemactl migrate" in str(caught.value.hint)


def test_a_wrong_password_is_not_shown(url: str) -> None:
    with pytest.raises(DestinationError, match="cannot reach the server") as caught:
        destination.read_catalogue(url.replace(mysql_server.QUOTED_PASSWORD, "wr0ng"))
    assert "wr0ng" not in str(caught.value)


KILLED = """
import os, pickle, sys
sys.path[:0] = {paths!r}
from schemactl.destinations import mysql as destination
from schemactl.destinations import _sql_load
_sql_load.write_bookkeeping = lambda *_: os.kill(os.getpid(), 9)
destination.load({url!r}, pickle.load(open({made!r}, "rb")), lambda *_: None)
"""


def test_a_killed_load_leaves_no_rows(url: str, tmp_path: Path) -> None:
    load(url, order_and_lines(tmp_path))
    (tmp_path / "made").write_bytes(pickle.dumps(order_and_lines(tmp_path, "2")))
    code = KILLED.format(paths=sys.path, made=str(tmp_path / "made"), url=url)
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == -signal.SIGKILL
    assert destination.read_past_loads(url, "shop").load_ids == {"1"}
    load(url, order_and_lines(tmp_path, "2"))
    assert ask(url, "select count(*) from orders") == [(4,)]
    assert ask(url, "select count(*) from orders__lines") == [(4,)]


def test_queries_are_the_views_functions_and_triggers_of_all_databases(mariadb_url: str, url: str) -> None:
    run(
        mariadb_url,
        "create database sales",
        "create table sales.orders (id bigint, amount bigint)",
        "create view sales.daily as select amount from sales.orders",
        "create function sales.one() returns bigint deterministic return (select max(id) from sales.orders)",
        "create trigger sales.checked before insert on sales.orders for each row set new.amount = 1",
    )
    queries = {f"{query.dataset}.{query.name}": query for query in destination.read_queries(mariadb_url)}
    assert {name: query.kind for name, query in queries.items()} == {
        "sales.daily": "view",
        "sales.one": "function",
        "sales.checked": "trigger",
    }
    assert "`sales`.`orders`" in queries["sales.daily"].sql
