"""One table of what benchmarks measured: beside whom, the ratio, and what is asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

RESULTS = "SCHEMACTL_BENCHMARK_RESULTS"
"""The variable that names the file that takes the results of a run."""

TARGETS = {
    ("infer, 1 KB", "schemactl --engine local / import pyarrow"): 3.0,
    ("infer, 1 MB, whole process", "schemactl --engine local / DuckDB"): 3.0,
    ("infer, 1 MB, whole process", "schemactl --engine local / dlt into DuckDB"): 0.2,
    ("infer, 1 MB of nested orders", "schemactl --engine local / DuckDB"): 3.0,
    ("infer, 1 MB of nested orders", "schemactl --engine local / dlt into DuckDB"): 0.2,
    ("infer, 1 MB of CSV", "schemactl --engine local / DuckDB"): 3.0,
    ("infer, 1 MB of CSV", "schemactl --engine local / dlt into DuckDB"): 0.2,
    ("infer, 1 MB of Parquet", "schemactl --engine local / DuckDB"): 3.0,
    ("infer, 1 MB of Parquet", "schemactl --engine local / dlt into DuckDB"): 0.2,
    ("infer, 200 MB, whole process", "schemactl --engine local / DuckDB"): 1.25,
    ("infer, 200 MB of nested orders", "schemactl --engine local / DuckDB"): 1.25,
    ("infer, 2000 MB, whole process", "schemactl --engine local / DuckDB"): 1.0,
    ("normalize, 1 MB, whole process", "local into DuckDB / dlt into DuckDB"): 0.4,
    ("normalize, 200 MB, whole process", "local into Parquet / plain PySpark, one table"): 0.7,
    ("normalize, 200 MB, whole process", "schemactl into Parquet / plain PySpark, one table"): 1.2,
    ("infer, 1 MB, whole process", "schemactl / plain PySpark"): 1.3,
    ("infer, 200 MB, whole process", "schemactl / plain PySpark"): 1.6,
    ("normalize, 1 MB, whole process", "schemactl into DuckDB / plain PySpark, one table"): 1.6,
    ("infer, CSV of 1,000 columns and 100 rows", "schemactl / plain PySpark"): 1.5,
    ("infer, CSV of 10,000 columns and 100 rows", "schemactl / plain PySpark"): 2.0,
    ("infer, 200 MB, warm", "schemactl / Spark read.json().schema"): 5.0,
    ("infer, 200 MB, warm", "schemactl / DuckDB read_json_auto"): 1.5,
    ("infer, 200 MB, warm", "schemactl / dlt, scaled"): 1 / 30,
    ("normalize, 200 MB, warm", "schemactl, whole / Spark parse and write"): 2.5,
    ("array-100", "schemactl infer / schemactl infer, as lines"): 1.3,
    ("array-100-gz", "schemactl infer / schemactl infer, as lines"): 1.3,
    ("array-300", "schemactl infer / schemactl infer, as lines"): 1.3,
    ("document-50", "schemactl infer / plain PySpark"): 2.0,
    ("document-300", "schemactl infer / plain PySpark"): 3.0,
    ("files-10000", "schemactl infer / plain PySpark"): 1.2,
    ("files-10000", "schemactl infer, local / schemactl infer, local, in one file"): 2.0,
    ("gzip-1000", "schemactl infer / schemactl infer, as lines"): 1.3,
    ("typed once", "schemactl / Spark's reader, declared types"): 1.5,
    ("--model: validate, and make documents", "schemactl / validate_json"): 1.25,
    ("evidence and rows of ten tables", "schemactl / of one table"): 1.2,
}
"""The highest ratio of seconds that is asked for, by task and contenders."""


def note(task: str, seconds: dict[str, float]) -> None:
    """Keep the seconds of all contenders of a task for the table."""
    if path := os.environ.get(RESULTS):
        with Path(path).open("a") as file:
            file.write(json.dumps([task, seconds]) + "\n")


def print_targets(path: Path) -> None:
    """Print the ratios that were measured beside those that are asked for."""
    found = dict(map(json.loads, path.read_text().splitlines()))
    print(f"\n{'':<48}{'':<56}{'ratio':>8}{'at most':>9}")
    for (task, contenders), most in TARGETS.items():
        ours, other = contenders.split(" / ")
        seconds = found.get(task, {})
        if ours in seconds and other in seconds:
            print(f"{task:<48}{contenders:<56}{seconds[ours] / seconds[other]:>8.2f}{most:>9.2f}")
