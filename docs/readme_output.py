"""Writes what README's commands print below them, from a real run: ``uv run python docs/readme_output.py``.

A block of ``console`` holds a line ``$ schemactl ...`` and what it prints. They run one after the other in one folder,
on the repository's fixtures, and on this machine's engine. How long a run took is left as README has it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[1]
README = TOP / "README.md"
WIDTH = 100
TIME = re.compile(r"^(read .+ in )\d+\.\d s$", re.MULTILINE)
BLOCK = re.compile(r"(?<=```console\n)\$ (schemactl [^\n]*)\n(.*?)(?=```)", re.DOTALL)


def main() -> None:
    """Write README.md anew."""
    README.write_text(with_output(README.read_text(encoding="utf-8")), encoding="utf-8")


def with_output(text: str) -> str:
    """Return the text with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(TOP / "fixtures", work / "fixtures")
        return BLOCK.sub(lambda block: f"$ {block[1]}\n{with_times_of(block[2], run(block[1], work))}", text)


def with_times_of(before: str, output: str) -> str:
    """Return what a command prints with the times that README has."""
    times = {line[1]: line[0] for line in TIME.finditer(before)}
    return TIME.sub(lambda line: times.get(line[1], line[0]), output)


def run(call: str, work: Path) -> str:
    """Return what a call prints; one that fails for another reason than its findings is an error."""
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
    environment = {**outside, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "SCHEMACTL_ENGINE": "local"}
    command = [sys.executable, "-m", *shlex.split(call)]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"{call}: {done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    main()
