"""Times loads that widen a stored column beside loads that widen none, and the database's own ALTER TABLE.

    uv run --group dev python benchmarks/promote.py --rows 10000000 --database sqlite

Each table has an `id` and a bigint `score`. ``load`` is a load of one row into it under the contract
``data_type=promote`` that widens nothing, ``ALTER`` the database's own change of the column to double, and ``promote``
the load of one row whose score is 1.5: it counts the stored values, changes the column, and loads the row. The last
column says how many times an ALTER and a load the promotion costs. ``plain`` is the load without the contract, which a
load that widens nothing should equal. All are seconds of the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

ROOT = Path(__file__).parents[1]
DATASET = "shop"

SQLITE_COLUMNS = "(id integer, score {type}, _dlt_load_id text not null, _dlt_id text not null)"
FILL = "insert into shop.orders (id, score, _dlt_load_id, _dlt_id) {query}"
NUMBERS = {
    "duckdb": "select i, i % 1000, '0', i::varchar from range({rows}) as numbers(i)",
    "postgresql": "select i, i % 1000, '0', i::text from generate_series(1, {rows}) as numbers(i)",
    "mariadb": "select seq, seq % 1000, '0', seq from seq_1_to_{rows}",
    "sqlite": (
        "with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < {rows}) "
        "select i, i % 1000, '0', cast(i as text) from numbers"
    ),
}

ALTERS = {
    "duckdb": (
        ("create table shop.copied as select * from shop.orders",),
        ("alter table shop.copied alter column score set data type double precision",),
    ),
    # An ALTER builds the unique index that dlt makes there again.
    "postgresql": (
        (
            "create table shop.copied (like shop.orders including all)",
            "insert into shop.copied select * from shop.orders",
        ),
        ("alter table shop.copied alter column score set data type double precision",),
    ),
    "mariadb": (
        ("create table shop.copied like shop.orders", "insert into shop.copied select * from shop.orders"),
        ("alter table shop.copied modify column score double",),
    ),
    # SQLite has no ALTER for types: its documentation says to copy the table.
    "sqlite": (
        (
            f"create table shop.copied {SQLITE_COLUMNS.format(type='integer')}",
            "insert into shop.copied select * from shop.orders",
        ),
        (
            f"create table shop.altered {SQLITE_COLUMNS.format(type='real')}",
            "insert into shop.altered select id, cast(score as real), _dlt_load_id, _dlt_id from shop.copied",
            "drop table shop.copied",
            "alter table shop.altered rename to copied",
        ),
    ),
}
"""The statements that copy the filled table, and those that change the type of the column in the copy."""


def main() -> None:
    arguments = _parse_arguments()
    print(f"a column of {arguments.rows:,} rows becomes wider; seconds")
    print("".join(f"{title:>12}" for title in ("", "plain", "load", "ALTER", "promote", "ratio")))
    for kind in arguments.database or tuple(NUMBERS):
        with (
            tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name,
            _inside(Path(name)),
            DATABASES[kind]() as (address, run),
        ):
            plain, load, alter, promote = compare(kind, address, run, arguments.rows)
        seconds = "".join(f"{value:>12.2f}" for value in (plain, load, alter, promote))
        print(f"{kind:>12}{seconds}{promote / (load + alter):>12.2f}")


def compare(kind: str, address: str, run: Callable[[str], Any], rows: int) -> tuple[float, float, float, float]:
    """Return the seconds of a plain load, of one that widens nothing, of the own ALTER, and of one that widens."""
    _load(address, 1)
    run(FILL.format(query=NUMBERS[kind].format(rows=rows)))
    plain = min(_load(address, number) for number in (2, 3))
    load = min(_load(address, number, "--contract", "data_type=promote") for number in (4, 5))
    copy, change = ALTERS[kind]
    for statement in copy:
        run(statement)
    started = time.perf_counter()
    for statement in change:
        run(statement)
    alter = time.perf_counter() - started
    run("drop table shop.copied")
    promote = _load(address, 1.5, "--contract", "data_type=promote", "--promote-max-rows", str(10 * rows))
    return plain, load, alter, promote


def _load(address: str, score: float, *options: str) -> float:
    from schemactl.cli.app import run

    Path("orders.jsonl").write_text(json.dumps({"id": 0, "score": score}) + "\n")
    call = ("normalize", "orders.jsonl", "--name", DATASET, "--to", address, "--engine", "local", "--quiet")
    started = time.perf_counter()
    code = run([*call, *options])
    seconds = time.perf_counter() - started
    if code:
        raise SystemExit(f"the load ended with {code}")
    return seconds


@contextmanager
def _duckdb() -> Iterator[tuple[str, Callable[[str], Any]]]:
    import duckdb

    def run(statement: str) -> None:
        with duckdb.connect("made.duckdb") as connection:
            connection.execute(statement)

    yield "duckdb:///made.duckdb?dataset=shop", run


@contextmanager
def _postgresql() -> Iterator[tuple[str, Callable[[str], Any]]]:
    sys.path.insert(0, str(ROOT / "tests"))
    import postgres_server
    import psycopg

    with postgres_server.running() as server, postgres_server.database(server) as url:

        def run(statement: str) -> None:
            with psycopg.connect(url) as connection:
                connection.execute(statement.encode())

        yield f"{url}?dataset=shop", run


@contextmanager
def _mariadb() -> Iterator[tuple[str, Callable[[str], Any]]]:
    sys.path.insert(0, str(ROOT / "tests"))
    import mysql_server
    import pymysql

    with mysql_server.running() as url:
        socket = dict(parse_qsl(url.partition("?")[2]))["unix_socket"]

        def run(statement: str) -> None:
            with (
                pymysql.connect(
                    user="loader", password=mysql_server.PASSWORD, unix_socket=socket, autocommit=True
                ) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute("use shop")  # sequences need a database
                cursor.execute(statement)

        yield f"{url}&dataset=shop", run


@contextmanager
def _sqlite() -> Iterator[tuple[str, Callable[[str], Any]]]:
    def run(statement: str) -> None:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("attach 'made.sqlite' as shop")
            connection.execute(statement)

    yield "sqlite:///made.sqlite?dataset=main", run


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


DATABASES = {"duckdb": _duckdb, "postgresql": _postgresql, "mariadb": _mariadb, "sqlite": _sqlite}


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--database", action="append", choices=list(NUMBERS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
