"""Times retypes side by side: the database's own ALTER, and the statements that migrations run.

    uv run --group dev python benchmarks/migrate.py --rows 10000000

Each retype starts from the same table, made anew. With ``--tables 1000`` a plan is timed as well, as a whole process,
in seconds of the processor: that many tables of 30 columns in a DuckDB file, one column to add to each.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATASET = "shop"
TABLE = "numbers"

RETYPES = (("bigint", "text"), ("text", "bigint"), ("bigint", "decimal"), ("text", "double"), ("text", "decimal"))
VALUES = {"bigint": "i", "text": "CAST(i AS VARCHAR)"}
OWN_TYPES = {"text": "VARCHAR", "bigint": "BIGINT", "decimal": "DECIMAL(38,9)", "double": "DOUBLE PRECISION"}

Run = Callable[[str], Any]
"""Runs a statement."""


def main() -> None:
    arguments = _parse_arguments()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        folder = Path(name)
        print(f"retypes of {arguments.rows:,} rows, best of {arguments.rounds}\n")
        print(f"{'':<32}{'own ALTER':>12}{'schemactl':>12}{'times':>8}")
        with duckdb_at(folder) as run:
            compare("duckdb", run, "SELECT {value} AS x FROM range({rows}) AS numbers(i)", arguments)
        with postgres_at() as run:
            compare("postgresql", run, "SELECT {value} AS x FROM generate_series(1, {rows}) AS numbers(i)", arguments)
        if arguments.tables:
            print(f"\nplan for {arguments.tables:,} tables of 30 columns, as a process")
            for label, seconds in time_plans(folder, arguments.tables, arguments.rounds).items():
                print(f"{label:<32}{seconds:>12.2f}")


@contextmanager
def duckdb_at(folder: Path) -> Iterator[Run]:
    import duckdb

    with duckdb.connect(str(folder / "numbers.duckdb")) as connection:
        yield connection.execute


@contextmanager
def postgres_at() -> Iterator[Run]:
    import psycopg

    sys.path.insert(0, str(ROOT / "tests"))
    import postgres_server

    with postgres_server.running() as url, psycopg.connect(url, autocommit=True) as connection:
        yield connection.execute


def compare(kind: str, run: Run, source: str, arguments: argparse.Namespace) -> None:
    run(f"CREATE SCHEMA {DATASET}")
    for before, after in RETYPES:
        make = f"CREATE TABLE {DATASET}.{TABLE} AS {source.format(value=VALUES[before], rows=arguments.rows)}"
        of_database = (
            f"ALTER TABLE {DATASET}.{TABLE} ALTER COLUMN x TYPE {OWN_TYPES[after]} USING x::{OWN_TYPES[after]}"
        )
        statements = (of_database, statement_of(kind, before, after))
        # In turns, so that what else the machine does slows both.
        rounds = [[time_retype(run, make, each) for each in statements] for _ in range(arguments.rounds)]
        seconds = [min(each) for each in zip(*rounds, strict=True)]
        label = f"{kind}: {before} -> {after}"
        print(f"{label:<32}{seconds[0]:>12.2f}{seconds[1]:>12.2f}{seconds[1] / seconds[0]:>8.2f}", flush=True)


def time_retype(run: Run, make: str, statement: str) -> float:
    run(f"DROP TABLE IF EXISTS {DATASET}.{TABLE}")
    run(make)
    start = time.perf_counter()
    run(statement)
    return time.perf_counter() - start


def statement_of(kind: str, before: str, after: str) -> str:
    """Return the statement by which a migration changes the type of the column ``x``."""
    from schemactl.destinations import DESTINATIONS
    from schemactl.migration.steps import ChangeType
    from schemactl.schema.types import Column, Table

    columns = [Column("x", {"data_type": name}) for name in (before, after)]
    step = ChangeType(TABLE, *columns)
    (statement,) = DESTINATIONS[kind].render(step, Table(TABLE, {"x": columns[0]}), DATASET)
    return statement


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
    parser.add_argument("--tables", type=int, default=1_000, help="of the plan; 0 for none (default: 1,000)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
