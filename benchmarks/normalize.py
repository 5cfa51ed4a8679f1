"""Times normalizing side by side on the same made-up events: Spark's own parse and write, dlt's, and ours.

    uv run --group dev python benchmarks/normalize.py --megabytes 200
    uv run --group dev python benchmarks/normalize.py --growth

Three tables come of the events: the events and two lists. Starting Spark and a first job on a small file are left out.
Spark writes the nested data as it is. "rows" is what it takes to make tables once the plan is there: parse, flatten,
coerce, number, write. "whole" makes the schema as well, of evidence of all documents. dlt extracts and normalizes a
slice, in one process; its time is scaled up by bytes. With ``--growth`` the
same is measured for more rows, and for more columns.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infer import MEGABYTE, WARM_UP_EVENTS, best_of, infer_with_dlt
from infer import _lines as all_lines
from targets import note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from schemactl.engine.scan import Scan
    from schemactl.inference.evidence import Evidence
    from schemactl.inference.resolve import Resolution
    from schemactl.normalization.plan import Plan
    from schemactl.schema.types import Schema

TYPES = (b"PushEvent", b"ForkEvent", b"WatchEvent", b"CreateEvent", b"DeleteEvent", b"PublicEvent", b"MemberEvent")
COLUMNS = (10, 100, 1_000, 3_000)
CELLS = 3_000_000


def main() -> None:
    arguments = _parse_arguments()
    from schemactl.engine.spark.session import SparkOptions, open_session

    conf = {"spark.driver.memory": arguments.memory}
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        folder = Path(name)
        with open_session(SparkOptions(master=f"local[{arguments.cores}]", conf=conf)) as spark:
            (measure_growth if arguments.growth else compare)(spark, folder, arguments)


def compare(spark: SparkSession, folder: Path, arguments: argparse.Namespace) -> None:
    whole = write_lines(folder / "events.jsonl", events(), arguments.megabytes)
    part = write_lines(folder / "slice.jsonl", events(), min(arguments.megabytes, arguments.dlt_megabytes))
    warm_up(spark, folder)
    seconds = time_contenders(spark, whole, folder, arguments.rounds)
    scale = whole.stat().st_size / part.stat().st_size
    dlt_seconds = best_of(1, lambda path: infer_with_dlt(path, folder / "dlt"), part)
    seconds[f"dlt ({part.stat().st_size / MEGABYTE:.0f} MB, scaled)"] = dlt_seconds * scale
    size = whole.stat().st_size / MEGABYTE
    print(f"{size:.0f} MB of NDJSON, {arguments.cores} cores, best of {arguments.rounds}; dlt once\n")
    note(f"normalize, {arguments.megabytes} MB, warm", seconds)
    base = seconds["Spark parse and write"]
    print(f"{'':<28}{'seconds':>9}{'MB/s':>9}{'times Spark':>13}")
    for contender, taken in sorted(seconds.items(), key=lambda item: item[1]):
        print(f"{contender:<28}{taken:>9.1f}{size / taken:>9.1f}{taken / base:>13.2f}")


def measure_growth(spark: SparkSession, folder: Path, arguments: argparse.Namespace) -> None:
    warm_up(spark, folder)
    print(f"{'':<36}{'rows':>9}{'whole':>9}   seconds")
    for megabytes in (arguments.megabytes // 4, arguments.megabytes // 2, arguments.megabytes):
        path = write_lines(folder / "events.jsonl", events(), megabytes)
        print_growth(f"{megabytes} MB", time_contenders(spark, path, folder, arguments.rounds))
    for columns in COLUMNS:
        path = write_lines(folder / "wide.jsonl", islice(wide_rows(columns), CELLS // columns), 10**6)
        label = f"{columns:,} columns x {CELLS // columns:,} rows"
        print_growth(label, time_contenders(spark, path, folder, arguments.rounds))


def print_growth(label: str, seconds: dict[str, float]) -> None:
    found = (seconds[f"schemactl, {name}"] for name in ("rows", "whole"))
    print(label.ljust(36) + "".join(f"{taken:>9.1f}" for taken in found), flush=True)


def warm_up(spark: SparkSession, folder: Path) -> None:
    small = folder / "small.jsonl"
    small.write_bytes(b"".join(islice(events(), WARM_UP_EVENTS)))
    time_contenders(spark, small, folder, 1)


def time_contenders(spark: SparkSession, path: Path, folder: Path, rounds: int) -> dict[str, float]:
    struct = spark.read.json(str(path)).schema
    rows = plan_rows(spark, path)

    def parse_and_write(path: Path) -> None:
        spark.read.schema(struct).json(str(path)).write.parquet((folder / "nested").as_uri())
        shutil.rmtree(folder / "nested")

    contenders: dict[str, Callable[[Path], Any]] = {
        "Spark parse and write": parse_and_write,
        "schemactl, rows": lambda _: make_tables(spark, *rows, folder / "load"),
        "schemactl, whole": lambda path: make_tables(spark, *plan_rows(spark, path), folder / "load"),
    }
    return {name: best_of(rounds, contender, path) for name, contender in contenders.items()}


def plan_rows(spark: SparkSession, path: Path) -> tuple[Scan, Plan]:
    from schemactl.engine.inputs import find_inputs
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.inference.resolve import resolve
    from schemactl.inference.sample import parse_sample
    from schemactl.schema.templates import new_schema

    before = new_schema("events")
    scan = scan_inputs(SparkEngine(spark), find_inputs([str(path)]), parse_sample("full"))
    return scan, plan_of(scan.evidence, before, resolve(scan.evidence, before, "events"))


def plan_of(evidence: Evidence, before: Schema, resolution: Resolution) -> Plan:
    from schemactl.normalization.normalizers import make_plan
    from schemactl.normalization.request import PlanRequest
    from schemactl.schema.judgment import judge

    return make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema)))


def make_tables(spark: SparkSession, scan: Scan, plan: Plan, folder: Path) -> None:
    from schemactl.engine.package import write_rows
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.normalization.tally import LoadTime

    (written,) = write_rows(SparkEngine(spark), scan, {("",): plan}, LoadTime("1", datetime.now(UTC)), folder).values()
    if not written.tally.is_loadable:
        raise ValueError(f"values would be lost: {written.tally}")
    shutil.rmtree(folder)


def events() -> Iterator[bytes]:
    """Return events that make three tables: of their lists, two are left."""
    return (line for line in all_lines() if any(b'"type":"' + name + b'"' in line for name in TYPES))


def wide_rows(columns: int) -> Iterator[bytes]:
    """Return endless rows, a third of the columns each of integers, texts and points in time."""
    number = 0
    while True:
        number += 1
        values = (number, f"text {number % 97}", f"2024-05-06T07:08:{number % 60:02d}Z")
        row = {f"column_{at}": values[at % 3] for at in range(columns)}
        yield json.dumps(row, separators=(",", ":")).encode() + b"\n"


def write_lines(path: Path, lines: Iterator[bytes], megabytes: int) -> Path:
    left = megabytes * MEGABYTE
    with path.open("wb") as file:
        for line in lines:
            if left <= 0:
                break
            left -= file.write(line)
    return path


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200, help="size of the data (default: 200)")
    parser.add_argument("--dlt-megabytes", type=int, default=5, help="size of dlt's slice (default: 5)")
    parser.add_argument("--cores", type=int, default=2, help="for Spark (default: 2)")
    parser.add_argument("--memory", default="4g", help="of Spark's driver (default: 4g)")
    parser.add_argument("--rounds", type=int, default=2, help="the fastest counts (default: 2)")
    parser.add_argument("--growth", action="store_true", help="measure more rows and more columns instead")
    return parser.parse_args()


if __name__ == "__main__":
    main()
