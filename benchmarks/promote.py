"""Times loads that widen a stored column beside loads that widen none, and the database's own ALTER TABLE.

    uv run --group dev python benchmarks/promote.py --rows 10000000

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
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATASET = "shop"

FILL = "insert into shop.orders (id, score, _dlt_load_id, _dlt_id) {query}"
NUMBERS = {
    "duckdb": "select i, i % 1000, '0', i::varchar from range({rows}) as numbers(i)",
    "postgresql": "select i, i % 1000, '0', i::text from generate_series(1, {rows}) as numbers(i)",
}

COPIES = {
    "duckdb": ("create table shop.copied as select * from shop.orders",),
    # An ALTER builds the unique index that dlt makes there again.
    "postgresql": (
        "create table shop.copied (like shop.orders including all)",
        "insert into shop.copied select * from shop.orders",
    ),
}


def main() -> None:
    arguments = _parse_arguments()
    print(f"a column of {arguments.rows:,} rows becomes wider; seconds")
    print("".join(f"{title:>12}" for title in ("", "plain", "load", "ALTER", "promote", "ratio")))
    for kind in arguments.database or tuple(NUMBERS):
        with (
            tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name,
            _inside(Path(name)),
            _duckdb() if kind == "duckdb" else _postgresql() as (address, run),
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
    for statement in COPIES[kind]:
        run(statement)
    started = time.perf_counter()
    run("alter table shop.copied alter column score set data type double precision")
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
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--database", action="append", choices=list(NUMBERS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
