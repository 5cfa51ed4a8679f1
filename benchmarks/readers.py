"""Times `schemactl readers` over SQL files that read the tables of a schema, without and with its cache.

The ratios are to the processor time of sqlglot's parser alone.

    uv run --group dev python benchmarks/readers.py [--models 1000] [--rounds 3]

Each file has about 100 lines: a star of a table, a CTE of 30 columns, sums of 22 of them, and a join.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TABLES, COLUMNS = 50, 30
TARGETS = {"cold": 6.0, "cached": 0.7}

PARSE = """
import sys
from pathlib import Path
import sqlglot
for path in sorted(Path("models").glob("*.sql")):
    sqlglot.parse(path.read_text(), dialect="duckdb")
"""


def model(number: int) -> str:
    """Return the SQL of a model."""
    columns = ",\n        ".join(f"c{index}" for index in range(COLUMNS))
    sums = "".join(f"        sum(c{index}) as s{index},\n" for index in range(3, 25))
    outputs = "".join(f"    totals.s{index},\n" for index in range(3, 25))
    return (
        f"with source as (\n    select * from shop.orders{number % TABLES}\n),\n"
        f"renamed as (\n    select\n        {columns}\n    from source\n    where c1 > {number}\n),\n"
        f"totals as (\n    select\n        c2,\n{sums}        count(*) as n\n    from renamed\n    group by c2\n)\n"
        f"select\n    totals.c2,\n{outputs}    totals.n\nfrom totals\nleft join other.days on days.id = totals.c2\n"
    )


def write_project(folder: Path, models: int) -> None:
    """Write the schema and the models."""
    from schemactl.formats.dlt import write
    from schemactl.schema.templates import new_schema
    from schemactl.schema.types import Column, Table

    schema = new_schema("shop")
    columns = {f"c{index}": Column(f"c{index}", {"data_type": "double"}) for index in range(COLUMNS)}
    for number in range(TABLES):
        schema = schema.with_table(Table(f"orders{number}", columns, {"write_disposition": "append"}))
    (folder / "shop.schema.yaml").write_text(write(schema))
    (folder / "models").mkdir()
    for number in range(models):
        (folder / "models" / f"m{number:05}.sql").write_text(model(number))


def run(call: Sequence[str], folder: Path, *, cache: str = "") -> tuple[float, float, int]:
    """Run a command; return seconds on the clock, seconds of the processor, and MB of memory of its first process."""
    begun = time.monotonic()
    environment = {**os.environ, "SCHEMACTL_CACHE_DIR": cache}
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(call)} failed")
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, options.models)
        readers = [str(Path(sys.executable).with_name("schemactl")), "readers", "--schema", "shop.schema.yaml"]
        command = [*readers, "--readers", "sql:models?dialect=duckdb", "--format", "csv"]
        cache = str(folder / "cache")
        run(command, folder, cache=cache)
        times = {
            "cold": min(run(command, folder) for _ in range(options.rounds)),
            "cached": min(run(command, folder, cache=cache) for _ in range(options.rounds)),
            "sqlglot's parser": min(run([sys.executable, "-c", PARSE], folder) for _ in range(options.rounds)),
        }
        print(f"{options.models:,} models of {model(0).count(chr(10))} lines, {os.cpu_count()} cores")
        parser_seconds = times["sqlglot's parser"][1]
        for title, (seconds, processor, memory) in times.items():
            target = f", target {TARGETS[title]:g} s" if title in TARGETS else ""
            work = f"{processor:5.1f} s of the processor ({processor / parser_seconds:.2f})"
            print(f"{title:<17} {seconds:5.1f} s, {work}, {memory:,} MB{target}")


if __name__ == "__main__":
    main()
