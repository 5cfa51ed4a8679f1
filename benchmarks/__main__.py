"""Runs all benchmarks, one after the other, and prints one table of what they measured beside what is asked for.

    uv run --group dev python benchmarks

It takes about an hour.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from targets import RESULTS, print_targets

with tempfile.TemporaryDirectory() as folder:
    results = Path(folder, "results.jsonl")
    results.touch()
    # As installed, modules are compiled once, whatever this environment says of that.
    environment = {**os.environ, RESULTS: str(results), "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        if path.name != "targets.py":
            print(f"\n=== {path.name}", flush=True)
            subprocess.run([sys.executable, str(path)], env=environment, check=True)
    print_targets(results)
