"""Times `export --to` and `import --from` of each format, each as a whole process, on schemas of the fixtures.

    uv run --all-extras python benchmarks/formats.py [--rounds 9] [--schema FILE]

Rounds go around all commands, so that what else the machine does meets each alike; the best of the rounds counts.
Processor time stands beside the time on the clock, and below what Python takes to import libraries of formats.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from schemactl.api import infer
from schemactl.formats import FORMATS, is_readable

FIXTURES = Path(__file__).parent.parent / "fixtures"
LIBRARIES = ("pyarrow", "sqlglot", "pydantic", "jsonschema", "fastavro", "great_expectations")
ASKED = 400
"""The most milliseconds that a command should take."""

Figures = tuple[float, float]
"""Seconds on the clock, and of the processor."""


def run(call: list[str], folder: Path) -> Figures:
    """Run a command to its end; its exit code must be 0."""
    # As installed, modules are compiled once: a clone would compile its own in each process that may not write them.
    environment = {**os.environ, "TMPDIR": str(folder)}
    environment.setdefault("PYTHONPYCACHEPREFIX", str(Path(tempfile.gettempdir(), "schemactl-benchmark-compiled")))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.monotonic()
    process = subprocess.Popen(
        call, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begun
    if status != 0:
        assert process.stderr is not None
        raise SystemExit(f"{' '.join(call)}: {process.stderr.read()}")
    return seconds, used.ru_utime + used.ru_stime


def fixture_schema(folder: Path) -> Path:
    """Infer the schema of the fixture's events: ten tables of a hundred columns."""
    documents = [json.loads(line) for line in (FIXTURES / "github_events.jsonl").read_text().splitlines()]
    infer(documents, "github", table="events", schemas=folder)
    return folder / "export/github.schema.yaml"


def commands(schema: Path, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what is timed, by name; files to import are written first."""
    program = str(Path(sys.executable).with_name("schemactl"))
    yield "python -c pass", [sys.executable, "-c", "pass"]
    for library in LIBRARIES:
        if find_spec(library):
            yield f"python -c 'import {library}'", [sys.executable, "-c", f"import {library}"]
    for name in sorted(FORMATS):
        written = folder / name
        written.mkdir()
        call = [program, "export", str(schema), "--to", name, "--output", f"{written}/"]
        yield f"export --to {name}", call
        if is_readable(FORMATS[name]):
            subprocess.run(call, cwd=folder, check=True, capture_output=True)
            files = [str(path) for path in sorted(written.iterdir())]
            yield f"import --from {name}", [program, "import", *files, "--from", name, "--name", "again", "--dry-run"]


def main() -> None:
    """Print the best of the rounds in milliseconds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--schema", type=Path, help="by default that of the fixture's events")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as place:
        folder = Path(place)
        timed = dict(commands(asked.schema.resolve() if asked.schema else fixture_schema(folder), folder))
        found: dict[str, list[Figures]] = {name: [] for name in timed}
        for _ in range(asked.rounds):
            for name, call in timed.items():
                found[name].append(run(call, folder))
    best = {name: tuple(min(values) * 1000 for values in zip(*each, strict=True)) for name, each in found.items()}
    print(f"{'':44}{'clock':>8}{'cpu':>8}   (ms, best of {asked.rounds})")
    for name, (clock, cpu) in best.items():
        print(f"{name:44}{clock:8.0f}{cpu:8.0f}")
    slower = [name for name, (clock, _) in best.items() if clock > ASKED and not name.startswith("python")]
    print(f"slower than {ASKED} ms: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
