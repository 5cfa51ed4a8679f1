"""Times inference side by side on the same made-up events: Spark's own, DuckDB's, dlt's, and ours.

    uv run --group dev python benchmarks/infer.py --megabytes 200

Starting Spark and a first job on a small file are left out. DuckDB and Spark get the same number of cores;
dlt extracts and normalizes (it does not load), in one process, a slice, whose time is scaled up by bytes.
The others answer less than dlt and schemactl do: a nested type, without tables, variants, counts and places.
"""

from __future__ import annotations

import argparse
import os
import runpy
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from targets import note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEGABYTE = 1_000_000
ROOT = Path(__file__).parents[1]
WARM_UP_EVENTS = 60_000
"""Fewer are read without Spark's Python workers, which the first timed round would start."""
EVENTS_AT_ONCE = 2_000


def main() -> None:
    arguments = _parse_arguments()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as folder:
        run(Path(folder), arguments)


def run(folder: Path, arguments: argparse.Namespace) -> None:
    from schemactl.engine.spark.session import SparkOptions, open_session

    whole = write_events(folder / "events.jsonl", arguments.megabytes)
    part = write_events(folder / "slice.jsonl", min(arguments.megabytes, arguments.dlt_megabytes))
    small = folder / "small.jsonl"
    small.write_bytes(b"".join(islice(_lines(), WARM_UP_EVENTS)))

    seconds: dict[str, float] = {}
    conf = {"spark.driver.memory": arguments.memory}
    with open_session(SparkOptions(master=f"local[{arguments.cores}]", conf=conf)) as spark:
        contenders: dict[str, Callable[[Path], Any]] = {
            "Spark read.json().schema": lambda path: spark.read.json(str(path)).schema,
            "schemactl": lambda path: infer_with_schemactl(spark, path),
        }
        for name, infer in contenders.items():
            infer(small)
            seconds[name] = best_of(arguments.rounds, infer, whole)
    seconds["DuckDB read_json_auto"] = best_of(
        arguments.rounds, lambda path: infer_with_duckdb(path, arguments.cores), whole
    )
    scale = whole.stat().st_size / part.stat().st_size
    dlt_seconds = best_of(1, lambda path: infer_with_dlt(path, folder / "dlt"), part)
    seconds[f"dlt ({part.stat().st_size / MEGABYTE:.0f} MB, scaled)"] = dlt_seconds * scale
    note(
        f"infer, {arguments.megabytes} MB, warm",
        {name.partition(" (")[0] + (", scaled" if "dlt" in name else ""): taken for name, taken in seconds.items()},
    )
    print_table(seconds, whole.stat().st_size, arguments)


def infer_with_schemactl(spark: SparkSession, path: Path) -> Any:
    from schemactl.engine.inputs import find_inputs
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.inference.resolve import resolve
    from schemactl.inference.sample import parse_sample
    from schemactl.schema.templates import new_schema

    scan = scan_inputs(SparkEngine(spark), find_inputs([str(path)]), parse_sample("full"))
    return resolve(scan.evidence, new_schema("events"), "events").schema


def infer_with_duckdb(path: Path, cores: int) -> Any:
    import duckdb

    with duckdb.connect(config={"threads": cores}) as connection:
        query = "DESCRIBE SELECT * FROM read_json_auto(?, sample_size = -1)"
        return connection.execute(query, [str(path)]).fetchall()


def infer_with_dlt(path: Path, folder: Path) -> Any:
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    import dlt
    from dlt.common import json

    def read() -> Iterator[list[Any]]:
        with path.open("rb") as file:
            while lines := list(islice(file, EVENTS_AT_ONCE)):
                yield [json.loadb(line) for line in lines]

    destination = dlt.destinations.duckdb(str(folder / "unused.duckdb"))
    pipeline = dlt.pipeline("benchmark", pipelines_dir=str(folder), destination=destination)
    pipeline.extract(read(), table_name="events", loader_file_format="jsonl")
    pipeline.normalize()
    return pipeline.default_schema


def best_of(rounds: int, infer: Callable[[Path], Any], path: Path) -> float:
    """Return the seconds of the fastest round."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        infer(path)
        taken.append(time.perf_counter() - start)
    return min(taken)


def print_table(seconds: dict[str, float], size: int, arguments: argparse.Namespace) -> None:
    ours = seconds["schemactl"]
    fastest_first = sorted(seconds.items(), key=lambda item: item[1])
    print(f"{size / MEGABYTE:.0f} MB of NDJSON, {arguments.cores} cores, best of {arguments.rounds}; dlt once\n")
    print(f"{'':<28}{'seconds':>9}{'MB/s':>9}{'schemactl takes':>20}")
    for name, taken in fastest_first:
        ratio = "" if name == "schemactl" else f"{ours / taken:.2f} times as long"
        print(f"{name:<28}{taken:>9.1f}{size / MEGABYTE / taken:>9.1f}{ratio:>20}")


def _lines() -> Iterator[bytes]:
    generator = runpy.run_path(str(ROOT / "fixtures" / "generate.py"))
    json_lines = generator["json_lines"]
    return (json_lines([event]) for event in generator["events"](10**9, seed=9))


def write_events(path: Path, megabytes: int) -> Path:
    """Write made-up events until the file has the size; no event comes twice."""
    left = megabytes * MEGABYTE
    with path.open("wb") as file:
        for line in _lines():
            if left <= 0:
                break
            left -= file.write(line)
    return path


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200, help="size of the data (default: 200)")
    parser.add_argument("--dlt-megabytes", type=int, default=5, help="size of dlt's slice (default: 5)")
    parser.add_argument("--cores", type=int, default=2, help="for Spark and DuckDB (default: 2)")
    parser.add_argument("--memory", default="4g", help="of Spark's driver (default: 4g)")
    parser.add_argument("--rounds", type=int, default=1, help="the fastest counts (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
