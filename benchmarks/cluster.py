"""Times a load by one, two and four workers of one core each, in processes of their own (`local-cluster`).

    uv run --group dev python benchmarks/cluster.py --megabytes 200

More workers than the machine has cores show what they cost, not what they bring.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from infer import MEGABYTE
from normalize import events, write_lines

COMMAND = Path(sys.executable).with_name("schemactl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        folder = Path(name)
        data = write_lines(folder / "events.jsonl", events(), arguments.megabytes)
        print(f"{data.stat().st_size / MEGABYTE:.0f} MB, {os.cpu_count()} cores, whole processes\n")
        print(f"{'workers':>7}{'infer, s':>12}{'normalize, s':>15}")
        for workers in arguments.workers:
            seconds = [
                run(data, folder / f"{workers}-{command}", command, workers) for command in ("infer", "normalize")
            ]
            print(f"{workers:>7}{seconds[0]:>12.1f}{seconds[1]:>15.1f}", flush=True)


def run(data: Path, folder: Path, command: str, workers: int) -> float:
    """Return the seconds that a command takes."""
    folder.mkdir()
    call = [COMMAND, command, data, "--name", "events", "--master", f"local-cluster[{workers},1,1024]"]
    # Many parts, as a large file has on a cluster.
    call += ["--conf", "spark.sql.files.maxPartitionBytes=8m", "--conf", "spark.executor.memory=1g"]
    if command == "normalize":
        call += ["--to", "parquet:loaded", "--staging", folder / "staging"]
    started = time.perf_counter()
    subprocess.run(call, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
