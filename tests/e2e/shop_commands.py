"""Commands on the orders of a shop, as processes, with each engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).with_name("schemactl")
ENGINES = {"local": ("--engine", "local"), "spark": ("--master", "local[1]", "--conf", "spark.driver.memory=1g")}
ORDERS = '{"id": 1, "at": "2026-01-31T10:00:00Z"}\n{"id": "idx-2", "at": null}\n{"id": 3, "lines": [{"n": 1}]}\n'


def start(command: str, *args: str, engine: str = "local") -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    call = [COMMAND, command, *args, "--name", "shop", *ENGINES[engine]]
    return subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True)


def run(limit_seconds: float, command: str, *args: str, engine: str = "local") -> subprocess.CompletedProcess[str]:
    process = start(command, *args, engine=engine)
    out, err = process.communicate(timeout=limit_seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, with content and time of change."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}
