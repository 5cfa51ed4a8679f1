"""Times whole commands from the shell, cold, side by side in one run with plain PySpark, DuckDB and dlt.

    uv run --group dev python benchmarks/commands.py --megabytes 1 200

Each is a process of its own: start of Python and Java, reading, and the end. The median of the rounds counts. Ratios
are to the first contender: the plain PySpark script of the same task, which neither counts values nor finds bad
records, or with `--no-spark`, which leaves out all that start Java, DuckDB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from infer import MEGABYTE, write_events
from targets import note

_MOST_LOADED = 500
"""Megabytes that are loaded, not only looked at."""

COMMAND = str(Path(sys.executable).with_name("schemactl"))

SPARK_SCHEMA = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
reader = spark.read.option("header", "true").option("inferSchema", "true").option("maxColumns", "20000")
readers = {"csv": reader.csv, "parquet": spark.read.parquet}
print(len(readers.get(sys.argv[2].rpartition(".")[2], spark.read.json)(sys.argv[2]).schema.fields))
"""

SPARK_LOAD = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
spark.read.json(sys.argv[2]).write.parquet(sys.argv[3])
"""

DUCKDB_SCHEMA = """
import sys, duckdb
readers = {"csv": "read_csv_auto(?, sample_size = -1)", "parquet": "read_parquet(?)"}
reader = readers.get(sys.argv[1].rpartition(".")[2], "read_json_auto(?, sample_size = -1)")
print(len(duckdb.execute(f"DESCRIBE SELECT * FROM {reader}", [sys.argv[1]]).fetchall()))
"""

DLT_LOAD = """
import sys, dlt
from dlt.common import json
def read():
    if sys.argv[1].endswith(".parquet"):
        import pyarrow.parquet
        yield pyarrow.parquet.read_table(sys.argv[1])
    elif sys.argv[1].endswith(".csv"):
        import csv
        with open(sys.argv[1], newline="") as file:
            yield from csv.DictReader(file)
    else:
        with open(sys.argv[1], "rb") as file:
            yield from (json.loadb(line) for line in file)
target = dlt.destinations.duckdb(sys.argv[2] + ".duckdb")
dlt.pipeline("events", pipelines_dir=sys.argv[2], destination=target).run(read(), table_name="events")
"""


def main() -> None:
    arguments = _parse_arguments()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as folder:
        kilobyte = Path(folder, "kilobyte.jsonl")
        kilobyte.write_text('{"id": 1, "name": "x", "at": "2026-01-01T00:00:00Z"}\n' * 20)
        compare("infer, 1 KB", infers(kilobyte, arguments), arguments)
        for form, write in (("CSV", write_flat_csv), ("Parquet", write_flat_parquet)):
            path = write(Path(folder, f"flat.{form.lower()}"), 1)
            compare(f"infer, 1 MB of {form}", infers(path, arguments), arguments)
        for megabytes in arguments.megabytes:
            path = write_orders(Path(folder, f"orders-{megabytes}.jsonl"), megabytes)
            compare(f"infer, {megabytes} MB of nested orders", infers(path, arguments), arguments)
            path = write_events(Path(folder, f"events-{megabytes}.jsonl"), megabytes)
            compare(f"infer, {megabytes} MB, whole process", infers(path, arguments), arguments)
            if megabytes <= _MOST_LOADED:
                compare(f"normalize, {megabytes} MB, whole process", loads(path, arguments), arguments)
        for columns in arguments.columns:
            path = write_csv(Path(folder, f"wide-{columns}.csv"), columns)
            compare(f"infer, CSV of {columns:,} columns and 100 rows", infers(path, arguments), arguments)


def infers(path: Path, arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return the commands that infer a schema of a file; ``{}`` stands for a folder that no other round has."""
    master = f"local[{arguments.cores}]"
    ours = [COMMAND, "infer", str(path), "--name", "events", "--schemas", "{}"]
    return {
        "plain PySpark": [sys.executable, "-c", SPARK_SCHEMA, master, str(path)],
        "DuckDB": [sys.executable, "-c", DUCKDB_SCHEMA, str(path)],
        "schemactl": [*ours, "--engine", "spark", "--master", master],
        "schemactl --engine local": [*ours, "--engine", "local"],
        **_on_server("schemactl --remote", ours, arguments),
        "import pyarrow": [sys.executable, "-c", "import pyarrow"],
        **_by_dlt(path, arguments),
    }


def loads(path: Path, arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return the commands that load a file."""
    master = f"local[{arguments.cores}]"
    ours = [COMMAND, "normalize", str(path), "--name", "events", "--schemas", "{}"]
    into_duckdb = [*ours, "--to", "duckdb:///{}/shop.duckdb?dataset=shop"]
    return {
        "plain PySpark, one table": [sys.executable, "-c", SPARK_LOAD, master, str(path), "{}/parquet"],
        "schemactl into Parquet": [*ours, "--to", "parquet:{}/lake?dataset=shop", "--master", master],
        "schemactl into DuckDB": [*into_duckdb, "--master", master],
        "local into Parquet": [*ours, "--to", "parquet:{}/lake?dataset=shop", "--engine", "local"],
        "local into DuckDB": [*into_duckdb, "--engine", "local"],
        **_on_server("the same, --remote", [*into_duckdb, "--staging", "{}/staging"], arguments),
        **_by_dlt(path, arguments),
    }


def _by_dlt(path: Path, arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return dlt's load of a file that is not too large for it."""
    is_small = path.stat().st_size <= arguments.dlt_megabytes * 1_000_000
    return {"dlt into DuckDB": [sys.executable, "-c", DLT_LOAD, str(path), "{}"]} if is_small else {}


def _on_server(name: str, command: list[str], arguments: argparse.Namespace) -> dict[str, list[str]]:
    return {name: [*command, "--remote", arguments.remote]} if arguments.remote else {}


def compare(title: str, commands: dict[str, list[str]], arguments: argparse.Namespace) -> None:
    """Run each command some times, in turn, and print what it takes."""
    if arguments.no_spark:
        commands = {name: words for name, words in commands.items() if not _starts_spark(words)}
    rounds = arguments.rounds
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for at in range(rounds + 1):
        for name, command in commands.items():
            taken = time_process(command)
            # The first round fills the disk's cache, and a server compiles its code.
            if at:
                seconds[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    note(title, medians)
    base = next(iter(medians.values()))
    print(f"\n{title}, median of {rounds}\n{'':<28}{'seconds':>9}{'ratio':>8}")
    for name, taken in medians.items():
        print(f"{name:<28}{taken:>9.1f}{taken / base:>8.2f}", flush=True)


def _starts_spark(words: list[str]) -> bool:
    return "--master" in words or "--remote" in words or SPARK_SCHEMA in words or SPARK_LOAD in words


def time_process(command: list[str]) -> float:
    """Return the seconds that a command takes."""
    environment = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false"}
    # As installed, modules are compiled once: a clone would compile its own in each process that may not write them.
    environment.setdefault("PYTHONPYCACHEPREFIX", str(Path(tempfile.gettempdir(), "schemactl-benchmark-compiled")))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as folder:
        words = [word.replace("{}", folder) for word in command]
        start = time.perf_counter()
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:4])} ended with {done.returncode}:\n{done.stderr}")
    return taken


def write_orders(path: Path, megabytes: int) -> Path:
    """Write made-up orders: a buyer with an address, and lines with tags."""
    source, left, number = random.Random(1), megabytes * MEGABYTE, 0
    with path.open("w") as file:
        while left > 0:
            number += 1
            left -= file.write(json.dumps(_order(source, number)) + "\n")
    return path


def _order(source: random.Random, number: int) -> dict[str, Any]:
    address = {"city": source.choice(("Berlin", "Paris", "Rome")), "zip": f"{source.randrange(10**5):05}"}
    lines = [
        {"sku": f"s{source.randrange(1000)}", "price": source.randrange(10**4) / 100, "tags": ["a", "b"]}
        for _ in range(source.randrange(1, 6))
    ]
    return {
        "id": number,
        "at": f"2026-01-{number % 28 + 1:02}T10:00:{number % 60:02}Z",
        "status": source.choice(("new", "paid", "sent")),
        "buyer": {"id": source.randrange(10**6), "name": f"n{source.randrange(10**5)}", "address": address},
        "lines": lines,
    }


def write_flat_csv(path: Path, megabytes: int) -> Path:
    """Write orders without their lines."""
    source, left, number = random.Random(1), megabytes * MEGABYTE, 0
    with path.open("w") as file:
        file.write("id,at,status,name,price\n")
        while left > 0:
            number += 1
            day, status = f"2026-01-{number % 28 + 1:02}", source.choice(("new", "paid", "sent"))
            left -= file.write(f"{number},{day},{status},n{source.randrange(10**5)},{source.randrange(10**4) / 100}\n")
    return path


def write_flat_parquet(path: Path, megabytes: int) -> Path:
    """Write the same as Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    text = write_flat_csv(path.with_suffix(".txt"), 3 * megabytes)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(text), path)
    return path


def write_csv(path: Path, columns: int) -> Path:
    """Write 100 rows of made-up numbers and texts."""
    source = random.Random(columns)
    header = ",".join(f"c{at}" for at in range(columns))
    path.write_text("\n".join([header, *(",".join(_cells(source, columns)) for _ in range(100))]) + "\n")
    return path


def _cells(source: random.Random, columns: int) -> Iterable[str]:
    return (str(source.randrange(1000)) if at % 2 else f"t{source.randrange(1000)}" for at in range(columns))


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, nargs="*", default=[1, 200], help="sizes (default: 1 200)")
    parser.add_argument("--columns", type=int, nargs="*", default=[1_000, 10_000], help="(default: 1000 10000)")
    parser.add_argument("--dlt-megabytes", type=int, default=5, help="dlt loads files up to this size (default: 5)")
    parser.add_argument("--cores", type=int, default=2, help="for Spark (default: 2)")
    parser.add_argument("--remote", metavar="sc://HOST:PORT", help="a Spark Connect server to use as well")
    parser.add_argument("--rounds", type=int, default=5, help="beside a first one (default: 5)")
    parser.add_argument("--no-spark", action="store_true", help="leave out what starts Java")
    return parser.parse_args()


if __name__ == "__main__":
    main()
