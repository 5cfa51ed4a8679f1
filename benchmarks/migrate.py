"""Times retypes side by side: the database's own ALTER and CREATE TABLE AS, and what migrations run.

    uv run --group dev python benchmarks/migrate.py --rows 10000000

Each retype starts from the same table, made anew. The database's own casts take more than dlt does (``yesterday``,
``24:00``, ``0x1p3``); ``checked`` is its own ALTER of texts as one writes it by hand where the conversion shall be the
same: a regular expression, then the cast. ``look`` is the query by which a migration finds that every value
survives, ``retype`` the statement that it then runs, ``guarded`` the statement that needs no look, since it fails by
itself; the last columns say how many times the database's own ALTER, its own CREATE TABLE AS and the checked ALTER
the guarded statement costs, and how many times the look and the retype cost together. All are seconds of the
processor, of DuckDB's threads and of PostgreSQL's process for the connection, so that what else the machine does counts
less. With ``--tables 1000`` a plan is timed as well, as a whole process: that many tables of 30 columns in a DuckDB
file, one column to add to each.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATASET = "shop"
TABLE = "numbers"

NUMBER = "CAST((CAST(i AS BIGINT) * 7919) % 1000000007 - 1000 AS VARCHAR)"
DAY = "CAST(DATE '1970-01-01' + CAST(i % 20000 AS INTEGER) AS VARCHAR)"
CLOCK = "substr(CAST(100 + i % 24 AS VARCHAR), 2) || ':' || substr(CAST(100 + i % 60 AS VARCHAR), 2) || ':07'"
RETYPES = {
    ("bigint", "text"): "i",
    ("bigint", "decimal"): "i",
    ("text", "bigint"): NUMBER,
    ("text", "double"): f"{NUMBER} || '.25'",
    ("text", "decimal"): f"{NUMBER} || '.25'",
    ("text", "bool"): "CASE WHEN i % 3 = 0 THEN 'true' ELSE 'false' END",
    ("text", "date"): DAY,
    ("text", "time"): CLOCK,
    ("text", "timestamp"): f"{DAY} || 'T' || {CLOCK} || '.123456Z'",
}
"""The values of the column, by its type before and after."""

_TWO = "[0-9][0-9]"
_DAY = f"{_TWO}{_TWO}-{_TWO}-{_TWO}"
CHECKS = {
    "bigint": "-?[0-9]+",
    "decimal": "-?[0-9]+([.][0-9]+)?",
    "double": "-?[0-9]+([.][0-9]+)?",
    "bool": "true|false",
    "date": _DAY,
    "time": f"{_TWO}:{_TWO}:{_TWO}",
    "timestamp": f"{_DAY}T{_TWO}:{_TWO}:{_TWO}([.][0-9]+)?Z",
}
"""What texts have to look like, by the type that they become; without counts, which PostgreSQL is slow at."""

OWN_TYPES = {
    "text": "VARCHAR",
    "bigint": "BIGINT",
    "decimal": "DECIMAL(38,9)",
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMPTZ",
}


@dataclass(frozen=True, slots=True)
class Database:
    """A database to measure.

    Attributes:
        run: runs a statement to its end.
        spent: returns the seconds of the processor that it has taken.
        numbers: the relation of the numbers up to a count, to be filled in.
        matches: the function that looks for a regular expression in a text.
    """

    run: Callable[[str], Any]
    spent: Callable[[], float]
    numbers: str
    matches: str


def main() -> None:
    arguments = _parse_arguments()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        folder = Path(name)
        print(f"retypes of {arguments.rows:,} rows, best of {arguments.rounds}\n")
        ratios = ("of ALTER", "of CTAS", "of checked")
        titles = ("own ALTER", "own CTAS", "checked", "look", "retype", "guarded", *ratios * 2)
        print(f"{'':<32}{''.join(f'{title:>11}' for title in titles)}")
        for kind in arguments.database or ("duckdb", "postgresql"):
            with duckdb_at(folder) if kind == "duckdb" else postgres_at() as database:
                compare(kind, database, arguments)
        if arguments.tables:
            print(f"\nplan for {arguments.tables:,} tables of 30 columns, as a process")
            for label, seconds in time_plans(folder, arguments.tables, arguments.rounds).items():
                print(f"{label:<32}{seconds:>12.2f}")


@contextmanager
def duckdb_at(folder: Path) -> Iterator[Database]:
    import duckdb

    from schemactl.destinations.duckdb.conversion import register

    with duckdb.connect(str(folder / "numbers.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection)
        yield Database(
            lambda sql: connection.execute(sql).fetchall(), time.process_time, "range({rows})", "regexp_matches"
        )


@contextmanager
def postgres_at() -> Iterator[Database]:
    import psycopg

    sys.path.insert(0, str(ROOT / "tests"))
    import postgres_server

    with postgres_server.running() as url, psycopg.connect(url, autocommit=True) as connection:
        # All is done by the one process that is measured.
        for setting in ("TimeZone = 'UTC'", "max_parallel_workers_per_gather = 0"):
            connection.execute(f"SET {setting}")
        process = Path(f"/proc/{connection.info.backend_pid}/stat")

        def spent() -> float:
            fields = process.read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        yield Database(connection.execute, spent, "generate_series(1, {rows})", "regexp_like")


def compare(kind: str, database: Database, arguments: argparse.Namespace) -> None:
    database.run(f"CREATE SCHEMA {DATASET}")
    numbers = database.numbers.format(rows=arguments.rows)
    for (before, after), value in RETYPES.items():
        make = f"CREATE TABLE {DATASET}.{TABLE} AS SELECT {value} AS x FROM {numbers} AS numbers(i)"
        own = OWN_TYPES[after]
        alter_to = f"ALTER TABLE {DATASET}.{TABLE} ALTER COLUMN x TYPE {own} USING"
        check = f"{database.matches}(x, '^({CHECKS[after]})$')" if before == "text" else "true"
        statements = (
            f"{alter_to} x::{own}",
            f"CREATE TABLE {DATASET}.copied AS SELECT x::{own} AS x FROM {DATASET}.{TABLE}",
            f"{alter_to} CASE WHEN {check} THEN x::{own} ELSE CAST('refused ' || x AS {own}) END",
            *statements_of(kind, before, after),
        )
        # In turns, so that what else the machine does slows all.
        rounds = [[time_retype(database, make, each) for each in statements] for _ in range(arguments.rounds)]
        seconds = [min(each) for each in zip(*rounds, strict=True)]
        alter, copy, checked, look, retype, guarded = seconds
        ratios = (ours / own for ours in (guarded, look + retype) for own in (alter, copy, checked))
        reported = "".join(f"{each:>11.2f}" for each in (*seconds, *ratios))
        print(f"{f'{kind}: {before} -> {after}':<32}{reported}", flush=True)


def time_retype(database: Database, make: str, statement: str) -> float:
    if not statement:
        return 0.0
    for name in (TABLE, "copied"):
        database.run(f"DROP TABLE IF EXISTS {DATASET}.{name}")
    database.run(make)
    start = database.spent()
    database.run(statement)
    return database.spent() - start


def statements_of(kind: str, before: str, after: str) -> tuple[str, str, str]:
    """Return a migration's look at the column ``x``, how it changes its type after it, and how without.

    There is no look where every value survives.
    """
    from importlib import import_module

    from schemactl.destinations.duckdb.migration import plain_retype
    from schemactl.migration.steps import ChangeType
    from schemactl.schema.conversions import Conversion
    from schemactl.schema.types import Column, Table

    columns = [Column("x", {"data_type": name}) for name in (before, after)]
    step = ChangeType(TABLE, *columns, Conversion.DEPENDS)
    module = import_module(f"schemactl.destinations.{kind}.migration")
    (guarded,) = module.render(step, Table(TABLE, {"x": columns[0]}), DATASET)
    found = plain_retype(step, DATASET) if kind == "duckdb" else None
    return ("", guarded, guarded) if found is None else (*found, guarded)


def time_plans(folder: Path, tables: int, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of ``schemactl migrate plan`` for a column more in each table, by how it is printed."""
    for columns in (30, 31):
        (folder / f"{columns}.yaml").write_text(schema_text(tables, columns))
    command = [str(Path(sys.executable).with_name("schemactl")), "migrate"]
    to = ["--to", "duckdb:///tables.duckdb"]
    time_process([*command, "apply", "30.yaml", *to, "--quiet", "--yes"], folder)
    looks = {"summary": ["--quiet"], "text": [], "json": ["--format", "json"]}
    return {
        name: min(time_process([*command, "plan", "31.yaml", *to, *look], folder) for _ in range(rounds))
        for name, look in looks.items()
    }


def time_process(command: list[str], folder: Path) -> float:
    """Return the CPU seconds that a process takes, whatever else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def schema_text(tables: int, columns: int) -> str:
    from dataclasses import replace

    from schemactl.formats import FORMATS
    from schemactl.schema.hash import bump
    from schemactl.schema.templates import new_schema
    from schemactl.schema.types import Column, Table

    held = {f"c{at}": Column(f"c{at}", {"data_type": "bigint", "nullable": True}) for at in range(columns)}
    made = {
        f"t{at}": Table(f"t{at}", held, {"write_disposition": "append", "resource": f"t{at}"}) for at in range(tables)
    }
    schema = new_schema("many")
    return FORMATS["dlt"].write(bump(replace(schema, tables={**schema.tables, **made})))


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the table (default: 10,000,000)")
    parser.add_argument("--rounds", type=int, default=2, help="the fastest counts (default: 2)")
    parser.add_argument("--database", action="append", choices=("duckdb", "postgresql"), help="(default: both)")
    parser.add_argument("--tables", type=int, default=1_000, help="of the plan; 0 for none (default: 1,000)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
