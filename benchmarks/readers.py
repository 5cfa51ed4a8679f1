"""Times `schemactl readers` over SQL files that read the tables of a schema, beside sqlglot's parser alone.

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
ASKED_SECONDS = 6.0

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
        f"renamed as (\n    select\n        {columns}\n    from source\n    where c1 > 3\n),\n"
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


def run(call: Sequence[str], folder: Path) -> tuple[float, float, int]:
    """Run a command; return seconds on the clock, seconds of the processor, and MB of memory."""
    begun = time.monotonic()
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL)
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
        calls = {
            "schemactl readers": [*readers, "--readers", "sql:models?dialect=duckdb", "--format", "csv"],
            "sqlglot's parser alone": [sys.executable, "-c", PARSE],
        }
        print(f"{options.models:,} models of {model(0).count(chr(10))} lines; {ASKED_SECONDS:g} s asked for 1,000")
        for title, call in calls.items():
            seconds, processor, memory = min(run(call, folder) for _ in range(options.rounds))
            print(f"{title:<24} {seconds:6.1f} s, {processor:6.1f} s of the processor, {memory:,} MB")


if __name__ == "__main__":
    main()
