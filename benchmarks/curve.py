"""Draws what inferring a schema costs against size and against columns, side by side: docs/cost.svg, shown in README.

    uv run --group dev python benchmarks/curve.py --megabytes 1 10 100 1000

Spark and its workers are started, and a first job has run. dlt extracts and normalizes, in one process; it gets sizes
up to ``--dlt-megabytes``.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands import write_csv
from infer import (
    MEGABYTE,
    best_of,
    infer_with_dlt,
    infer_with_duckdb,
    infer_with_schemactl,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PICTURE = Path(__file__).parents[1] / "docs" / "cost.svg"
COLORS = {"schemactl": "#d33682", "Spark": "#268bd2", "DuckDB": "#b58900", "dlt": "#859900"}
PANEL_WIDTH, PANEL_HEIGHT, MARGIN, GAP = 330, 240, 52, 90
WARM_UP_MEGABYTES = 40
"""Less is read without Spark's Python workers, which the first timed size would start."""

Curves = dict[str, dict[int, float]]
"""Seconds by contender and size."""


def main() -> None:
    arguments = _parse_arguments()
    from schemactl.engine.spark.session import SparkOptions, open_session

    conf = {"spark.driver.memory": "4g"}
    with (
        tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name,
        open_session(SparkOptions(master=f"local[{arguments.cores}]", conf=conf)) as spark,
    ):
        folder = Path(name)
        warm_up = write_events(folder / "small.jsonl", WARM_UP_MEGABYTES)
        for name, infer in contenders(spark, folder, arguments.cores).items():
            if name != "dlt":
                infer(warm_up)
        sizes = measure(spark, folder, arguments)
        columns = measure_columns(spark, folder, arguments)
    draw(
        PICTURE,
        {"MB of NDJSON": sizes, "columns of a CSV file of 100 rows": columns},
        f"Seconds to infer a schema, {arguments.cores} cores, Spark started",
    )
    print(f"wrote {PICTURE}")


def contenders(spark: SparkSession, folder: Path, cores: int) -> dict[str, Callable[[Path], Any]]:
    return {
        "schemactl": lambda path: infer_with_schemactl(spark, path),
        "Spark": lambda path: infer_with_spark(spark, path),
        "DuckDB": lambda path: infer_with_duckdb(path, cores),
        "dlt": lambda path: infer_with_dlt(path, folder / "dlt"),
    }


def infer_with_spark(spark: SparkSession, path: Path) -> Any:
    if path.suffix == ".csv":
        reader = spark.read.option("header", "true").option("inferSchema", "true").option("maxColumns", "20000")
        return reader.csv(str(path)).schema
    return spark.read.json(str(path)).schema


def measure(spark: SparkSession, folder: Path, arguments: argparse.Namespace) -> Curves:
    found: Curves = {}
    for megabytes in arguments.megabytes:
        path = write_events(folder / "events.jsonl", megabytes)
        for name, infer in contenders(spark, folder, arguments.cores).items():
            if name != "dlt" or megabytes <= arguments.dlt_megabytes:
                keep(found, name, path.stat().st_size // MEGABYTE, best_of(arguments.rounds, infer, path))
    return found


def measure_columns(spark: SparkSession, folder: Path, arguments: argparse.Namespace) -> Curves:
    found: Curves = {}
    for columns in arguments.columns:
        path = write_csv(folder / f"wide-{columns}.csv", columns)
        for name, infer in contenders(spark, folder, arguments.cores).items():
            if name in ("schemactl", "Spark"):
                keep(found, name, columns, best_of(arguments.rounds, infer, path))
    return found


def keep(found: Curves, name: str, at: int, seconds: float) -> None:
    print(f"{name:<12}{at:>8,}{seconds:>9.2f} s", flush=True)
    found.setdefault(name, {})[at] = seconds


# --- the picture ---


def draw(path: Path, panels: Mapping[str, Curves], title: str) -> None:
    """Write a picture of panels side by side, both axes logarithmic."""
    width = MARGIN + len(panels) * (PANEL_WIDTH + GAP)
    parts = [
        f'<svg viewBox="0 0 {width} {PANEL_HEIGHT + 100}" xmlns="http://www.w3.org/2000/svg">',
        "<style>text { font-family: sans-serif; font-size: 13px; fill: #657b83; }</style>",
        f'<rect width="{width}" height="{PANEL_HEIGHT + 100}" rx="8" fill="#fdf6e3"/>',
        f'<text x="{MARGIN}" y="28" font-weight="bold">{escape(title)}</text>',
    ]
    for at, (label, curves) in enumerate(panels.items()):
        parts += [f'<g transform="translate({MARGIN + at * (PANEL_WIDTH + GAP)}, 50)">', *_panel(label, curves), "</g>"]
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def _panel(label: str, curves: Curves) -> list[str]:
    sizes = sorted({size for curve in curves.values() for size in curve})
    seconds = [taken for curve in curves.values() for taken in curve.values()]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    left, right = math.log10(sizes[0]), math.log10(sizes[-1])

    def place(size: float, taken: float) -> tuple[float, float]:
        x = (math.log10(size) - left) / (right - left) * PANEL_WIDTH
        y = PANEL_HEIGHT - (math.log10(taken) - low) / (high - low) * PANEL_HEIGHT
        return round(x, 1), round(y, 1)

    parts = []
    for exponent in range(low, high + 1):
        _, y = place(sizes[0], 10.0**exponent)
        parts.append(f'<path d="M0 {y}H{PANEL_WIDTH}" stroke="#93a1a1" stroke-width="0.5"/>')
        parts.append(f'<text x="-6" y="{y + 4}" text-anchor="end">{10.0**exponent:g} s</text>')
    for size in sizes:
        x, _ = place(size, 1)
        parts.append(f'<text x="{x}" y="{PANEL_HEIGHT + 18}" text-anchor="middle">{size:,}</text>')
    parts.append(f'<text x="{PANEL_WIDTH / 2}" y="{PANEL_HEIGHT + 38}" text-anchor="middle">{escape(label)}</text>')
    for name, curve in curves.items():
        points = [place(size, taken) for size, taken in sorted(curve.items())]
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLORS[name]}" stroke-width="2"/>')
        x, y = points[-1]
        parts.append(f'<text x="{x + 6}" y="{y + 4}" style="fill: {COLORS[name]}">{escape(name)}</text>')
    return parts


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 10, 100, 1000], help="(default: 1 to 1000)")
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 100, 1_000, 10_000], help="(default: to 10000)")
    parser.add_argument("--dlt-megabytes", type=int, default=10, help="dlt gets files up to this size (default: 10)")
    parser.add_argument("--cores", type=int, default=2, help="for Spark and DuckDB (default: 2)")
    parser.add_argument("--rounds", type=int, default=1, help="the fastest counts (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
