"""Draw the terminal pictures of README and docs from real local runs: ``uv run python docs/pictures.py``."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from readme_output import BLOCK
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

FOLDER = Path(__file__).parent
WIDTH = 100
COMMAND = Path(sys.executable).with_name("schemactl")

ORDERS = """\
{"id": 1, "placed_at": "2026-01-31T10:00:00Z", "total": 12.5, "coupon": null, "lines": [{"sku": "A-1", "quantity": 2}]}
{"id": 2, "placed_at": "2026-01-31T10:05:00Z", "total": 7, "coupon": "SPRING", "lines": []}
{"id": "idx-3", "placed_at": "2026-01-31T10:07:00Z", "total": 30.25, "lines": [{"sku": "B-7", "quantity": 1}]}
"""

# rich's own form, but for the fonts that it would fetch.
SVG_FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def main() -> None:
    """Draw ``infer.svg``, ``diff.svg`` and ``readers.svg`` beside this file."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "orders.jsonl").write_text(ORDERS)
        draw("infer", run(work, "infer", "orders.jsonl", "--name", "shop"))
        commit(work)
        run(work, "edit", "shop", "--column", "total:bigint", "--column", "coupon:text,not_null")
        draw("diff", run(work, "diff", "git:main..."))
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(FOLDER.parent / "fixtures", work / "fixtures")
        run(work, "infer", "fixtures/orders.jsonl", "--name", "shop")
        write_readers(work)
        commit(work)
        run(work, "edit", "shop", "--drop", "orders.status")
        draw("readers", run(work, "diff", "git:main..."))


def write_readers(work: Path) -> None:
    """Write the queries and the settings that the page about readers shows."""
    for block in BLOCK.finditer((FOLDER / "readers.md").read_text(encoding="utf-8")):
        file = work / (block["file"] or "")
        if block["file"] and not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text(block["text"])


def commit(work: Path) -> None:
    """Make the folder a git repository whose branch ``main`` holds the schemas."""
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")
    for call in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "Add schemas")):
        subprocess.run(["git", *call], cwd=work, check=True)


def run(work: Path, *arguments: str) -> Text:
    """Return a call and what it printed, as a terminal shows it."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "SCHEMACTL_ENGINE": "local"}
    command = [COMMAND, *arguments, "--color", "always"]
    printed = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    return Text.assemble((f"$ schemactl {' '.join(arguments)}\n", "bold"), Text.from_ansi(printed.stdout))


def draw(name: str, shown: Text) -> None:
    """Write a picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(shown)
    picture = console.export_svg(title="schemactl", theme=MONOKAI, code_format=SVG_FORMAT, unique_id=name)
    (FOLDER / f"{name}.svg").write_text("".join(f"{line.rstrip()}\n" for line in picture.splitlines()))


if __name__ == "__main__":
    main()
