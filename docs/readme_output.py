"""Writes the output of commands into README and the quickstart: ``uv run python docs/readme_output.py``.

A ``console`` block holds a line ``$ schemactl ...`` and its output. The blocks of a page run one after the other in one
folder, on the repository's fixtures and the local engine. Run times stay as the page has them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).parents[1]
PAGES = {
    TOP / "README.md": (
        "schemactl normalize fixtures/customers.csv --name crm --to duckdb:///data.duckdb --load-id day-1",
        "schemactl edit crm --column balance:bigint",
    ),
    TOP / "docs" / "quickstart.md": (),
}
"""The pages, and the commands that run before their first block."""
WIDTH = 100
TIME = re.compile(r"^(read .+ in )\d+\.\d s$", re.MULTILINE)
BLOCK = re.compile(r"(?<=```console\n)\$ (schemactl [^\n]*)\n(.*?)(?=```)", re.DOTALL)


def main() -> None:
    """Rewrite the pages."""
    for page, preparation in PAGES.items():
        page.write_text(with_output(page.read_text(encoding="utf-8"), preparation), encoding="utf-8")


def with_output(text: str, preparation: Sequence[str] = ()) -> str:
    """Return a page with the current output of its commands, after the commands that prepare the folder."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(TOP / "fixtures", work / "fixtures")
        for call in preparation:
            run(call, work)
        return BLOCK.sub(lambda block: f"$ {block[1]}\n{with_times_of(block[2], run(block[1], work))}", text)


def with_times_of(before: str, output: str) -> str:
    """Return a command's output with the run times that the page has."""
    times = {line[1]: line[0] for line in TIME.finditer(before)}
    return TIME.sub(lambda line: times.get(line[1], line[0]), output)


def run(call: str, work: Path) -> str:
    """Return the output of a call; RuntimeError if it fails for a reason other than findings."""
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
    environment = {**outside, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "SCHEMACTL_ENGINE": "local"}
    command = [sys.executable, "-m", *shlex.split(call)]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"{call}: {done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    main()
