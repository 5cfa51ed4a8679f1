"""Runs all benchmarks, one after the other: `uv run --group dev python benchmarks`. Takes about an hour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
    print(f"\n=== {path.name}", flush=True)
    subprocess.run([sys.executable, str(path)], check=True)
