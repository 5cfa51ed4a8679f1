"""Writes what README's commands print below them, from a real run: ``uv run python docs/readme_output.py``.

A block of ``console`` holds a line ``$ schemactl ...`` and what it prints. They run one after the other in one folder,
on the repository's fixtures.
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
BLOCK = re.compile(r"(?<=```console\n)\$ (schemactl [^\n]*)\n(.*?)(?=```)", re.DOTALL)


def main() -> None:
    """Write README.md anew."""
    README.write_text(with_output(README.read_text(encoding="utf-8")), encoding="utf-8")


def with_output(text: str) -> str:
    """Return the text with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(TOP / "fixtures", work / "fixtures")
        return BLOCK.sub(lambda block: f"$ {block[1]}\n{run(block[1], work)}", text)


def run(call: str, work: Path) -> str:
    """Return what a call prints; one that fails for another reason than its findings is an error."""
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
    environment = {**outside, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    command = [sys.executable, "-m", *shlex.split(call)]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"{call}: {done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    main()
