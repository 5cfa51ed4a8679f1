"""Times `export --to` and `import --from` of each format, each as a whole process, beside Python's own start.

    uv run python benchmarks/formats.py --schema schemas/export/github.schema.yaml [--rounds 5]

Rounds go around all commands, so that what else the machine does meets each alike. Processor time stands beside the
time on the clock: on a busy machine it is what the command itself needs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from schemactl.formats import FORMATS, is_readable

Figures = tuple[float, float]
"""Seconds on the clock, and of the processor."""


def run(call: list[str], folder: Path) -> Figures:
    """Run a command to its end; its exit code must be 0."""
    begun = time.monotonic()
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begun
    if status != 0:
        assert process.stderr is not None
        raise SystemExit(f"{' '.join(call)}: {process.stderr.read().decode()}")
    return seconds, used.ru_utime + used.ru_stime


def commands(schema: Path, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what is timed, by name; files to import are written first."""
    program = str(Path(sys.executable).with_name("schemactl"))
    yield "python -c pass", [sys.executable, "-c", "pass"]
    yield "schemactl --version", [program, "--version"]
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
    """Print medians in milliseconds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--schema", type=Path, required=True)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        timed = dict(commands(asked.schema.resolve(), folder))
        found: dict[str, list[Figures]] = {name: [] for name in timed}
        for _ in range(asked.rounds):
            for name, call in timed.items():
                found[name].append(run(call, folder))
    print(f"{'':34}{'clock':>8}{'cpu':>8}")
    for name, figures in found.items():
        clock, cpu = (statistics.median(values) * 1000 for values in zip(*figures, strict=True))
        print(f"{name:34}{clock:8.0f}{cpu:8.0f}")


if __name__ == "__main__":
    main()
