"""Times whole commands on inputs of unusual sizes and forms, beside plain PySpark and DuckDB in the same run.

    uv run --group dev python benchmarks/inputs.py --only array-100 files-10000

A large list, many small files, many documents, one gzip, large documents, many columns. Each command is a process of
its own, from cold. Ratios are to plain PySpark's `read.json(...).schema`; MB are the most that one Python process and
that Java held.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from infer import MEGABYTE, write_events
from targets import note

COMMAND: Final = str(Path(sys.executable).with_name("schemactl"))

SPARK_SCHEMA: Final = """
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
         .config("spark.driver.memory", sys.argv[2]).getOrCreate())
print(len(spark.read.option("multiLine", sys.argv[3]).json(sys.argv[4]).schema.fields))
"""

DUCKDB_SCHEMA: Final = """
import sys, duckdb
options = "sample_size = -1" + (", maximum_object_size = 2147483647" if sys.argv[2] == "True" else "")
print(len(duckdb.sql(f"DESCRIBE SELECT * FROM read_json_auto('{sys.argv[1]}', {options})").fetchall()))
"""


@dataclass(frozen=True)
class Case:
    """An input and how it is read.

    Attributes:
        write: makes it below a folder, and returns its path.
        is_lines: whether Spark reads it as lines.
        memory: of the driver.
        loads: whether it is loaded, too.
    """

    write: Callable[[Path], Path]
    is_lines: bool = False
    memory: str = "2g"
    loads: bool = False


def write_array(folder: Path, megabytes: int, suffix: str = "") -> Path:
    """Write the events that ``write_events`` writes as lines as one list."""
    lines = write_events(folder / "events.jsonl", megabytes)
    path = folder / f"events.json{suffix}"
    with lines.open("rb") as source, gzip.open(path, "wb", 1) if suffix else path.open("wb") as file:
        for at, line in enumerate(source):
            file.write((b",\n" if at else b"[\n") + line.rstrip(b"\n"))
        file.write(b"\n]\n")
    lines.unlink()
    return path


def write_gzip(folder: Path, megabytes: int) -> Path:
    """Write events as compressed lines."""
    lines = write_events(folder / "events.jsonl", megabytes)
    path = folder / "events.jsonl.gz"
    with lines.open("rb") as source, gzip.open(path, "wb", 1) as file:
        shutil.copyfileobj(source, file)
    lines.unlink()
    return path


def write_files(folder: Path, count: int) -> Path:
    """Write files of one line each."""
    path = folder / "files"
    path.mkdir()
    for at in range(count):
        (path / f"{at:06}.jsonl").write_text(f'{{"id": {at}, "name": "n{at}", "at": "2026-01-01T00:00:00Z"}}\n')
    return path


def write_small(folder: Path, count: int) -> Path:
    """Write small documents as lines."""
    path = folder / "small.jsonl"
    with path.open("w") as file:
        file.writelines(f'{{"id": {at}, "name": "n{at % 977}", "price": {at % 1000}.5}}\n' for at in range(count))
    return path


def write_registry(folder: Path, objects: int) -> Path:
    """Write one document that has an object for each of many keys, as npm's mime-db has."""
    source = random.Random(objects)
    words = ("vnd", "x", "prs", "ms", "oasis", "openxml", "sun", "apple", "google", "3gpp", "audio", "sound")
    found = {}
    while len(found) < objects:
        kind = source.choice(("application", "audio", "image", "text", "video", "model", "font"))
        key = f"{kind}/{'.'.join(source.choices(words, k=source.randint(1, 3)))}-{len(found)}"
        value = {"source": source.choice(("iana", "apache", "nginx"))}
        if source.random() < 0.4:
            value["compressible"] = source.random() < 0.5
        if source.random() < 0.1:
            value["charset"] = "UTF-8"
        if source.random() < 0.5:
            value["extensions"] = [f"e{len(found)}", f"f{len(found)}"][: source.randint(1, 2)]
        found[key] = value
    path = folder / "registry.json"
    path.write_text(json.dumps(found, indent=2))
    return path


def write_document(folder: Path, megabytes: int) -> Path:
    """Write one document of one long list of small objects: a 50th of the bytes in thousands."""
    path = folder / "document.json"
    with path.open("w") as file:
        file.write('{"exported": "2026-01-01T00:00:00Z", "rows": [')
        for at, part in enumerate(_rows(megabytes * MEGABYTE)):
            file.write(("," if at else "") + part)
        file.write("]}\n")
    return path


def _rows(size: int) -> Iterator[str]:
    at = 0
    while size > 0:
        row = f'{{"id": {at}, "sku": "sku-{at % 977}", "price": {at % 1000}.5, "n": {at % 7}}}'
        size -= len(row) + 1
        at += 1
        yield row


def write_text(folder: Path, megabytes: int) -> Path:
    """Write one document with one long text."""
    path = folder / "text.json"
    with path.open("w") as file:
        file.write('{"id": 1, "text": "')
        for _ in range(megabytes):
            file.write("a" * MEGABYTE)
        file.write('"}\n')
    return path


CASES: Final[dict[str, Case]] = {
    "lines-100": Case(lambda folder: write_events(folder / "events.jsonl", 100), is_lines=True),
    "array-100": Case(lambda folder: write_array(folder, 100)),
    "array-100-gz": Case(lambda folder: write_array(folder, 100, ".gz")),
    "lines-300": Case(lambda folder: write_events(folder / "events.jsonl", 300), is_lines=True),
    "array-300": Case(lambda folder: write_array(folder, 300)),
    "files-10000": Case(lambda folder: write_files(folder, 10_000), is_lines=True),
    "files-100000": Case(lambda folder: write_files(folder, 100_000), is_lines=True, memory="1g"),
    "lines-1000": Case(lambda folder: write_events(folder / "events.jsonl", 1000), is_lines=True),
    "documents-10000000": Case(lambda folder: write_small(folder, 10_000_000), is_lines=True, memory="1g"),
    "gzip-1000": Case(lambda folder: write_gzip(folder, 1000), is_lines=True),
    "registry-2522": Case(lambda folder: write_registry(folder, 2522), loads=True),
    "document-50": Case(lambda folder: write_document(folder, 50), loads=True),
    "document-300": Case(lambda folder: write_document(folder, 300), loads=True),
    "text-300": Case(lambda folder: write_text(folder, 300), loads=True),
}


def main() -> None:
    arguments = _parse_arguments()
    print(f"{'':<40}{'seconds':>9}{'ratio':>8}{'Python MB':>11}{'Java MB':>9}", flush=True)
    found: dict[str, dict[str, float]] = {}
    for name in arguments.only or CASES:
        with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as folder:
            found[name] = _measure(name, CASES[name], Path(folder), arguments)
    for name, seconds in found.items():
        lines = found.get(_AS_LINES.get(name, ""), {})
        note(name, seconds | {f"{of_whom}, as lines": held for of_whom, held in lines.items()})


_AS_LINES: Final = {
    "array-100": "lines-100",
    "array-100-gz": "lines-100",
    "array-300": "lines-300",
    "gzip-1000": "lines-1000",
}
"""The case that has the same documents as lines."""


def _measure(name: str, case: Case, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of each command that ended well."""
    path, master = case.write(folder), f"local[{arguments.cores}]"
    local = ["--name", "events", "--schemas", "{}", "--engine", "local"]
    ours = [str(path), "--name", "events", "--schemas", "{}", "--master", master]
    ours += ["--conf", f"spark.driver.memory={case.memory}"]
    read = f"{path}/*" if path.is_dir() else str(path)
    commands = {
        "plain PySpark": [sys.executable, "-c", SPARK_SCHEMA, master, case.memory, str(not case.is_lines), str(path)],
        "DuckDB": [sys.executable, "-c", DUCKDB_SCHEMA, read, str(not case.is_lines)],
        "schemactl infer": [COMMAND, "infer", *ours],
        "schemactl infer, local": [COMMAND, "infer", str(path), *local],
    }
    if path.is_dir():
        whole = folder / "whole.jsonl"
        whole.write_bytes(b"".join(file.read_bytes() for file in sorted(path.iterdir())))
        commands["schemactl infer, local, in one file"] = [COMMAND, "infer", str(whole), *local]
    if case.loads:
        commands["schemactl normalize"] = [COMMAND, "normalize", *ours, "--to", "duckdb:///{}/shop.duckdb?dataset=shop"]
    base, seconds = None, {}
    for of_whom, command in commands.items():
        if arguments.ours and not of_whom.startswith("schemactl"):
            continue
        found = run(command, arguments.seconds)
        base = found.seconds if base is None else base
        ratio = f"{found.seconds / base:>8.2f}"
        print(
            f"{name + ', ' + of_whom:<40}{found.seconds:>9.1f}{ratio}{found.python:>11.0f}{found.java:>9.0f}"
            f"  {found.failure}",
            flush=True,
        )
        if not found.failure:
            seconds[of_whom] = found.seconds
    return seconds


@dataclass(slots=True)
class Run:
    """How long a process took, what the largest Python process and Java held (MB), and how it failed."""

    seconds: float = 0
    python: float = 0
    java: float = 0
    failure: str = ""


def run(command: list[str], limit: int) -> Run:
    """Run a command in a folder of its own, and look at its processes while it runs."""
    environment = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false"}
    found = Run()
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as folder, tempfile.TemporaryFile("w+") as log:
        words = [word.replace("{}", folder) for word in command]
        start = time.perf_counter()
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
        while process.poll() is None:
            _watch(psutil.Process(process.pid), found)
            if time.perf_counter() - start > limit:
                process.terminate()
                process.wait()
                found.failure = f"more than {limit} s"
                break
            time.sleep(0.1)
        found.seconds = time.perf_counter() - start
        log.seek(0)
        if process.returncode and not found.failure:
            lines = [line.strip() for line in log if line.strip()]
            found.failure = f"exit {process.returncode}: {' | '.join(lines[-2:])[:200]}"
    return found


def _watch(process: psutil.Process, found: Run) -> None:
    try:
        each = [process, *process.children(recursive=True)]
    except psutil.Error:
        return
    for one in each:
        try:
            size = one.memory_info().rss / MEGABYTE
            is_java = one.name() == "java"
        except psutil.Error:
            continue
        if is_java:
            found.java = max(found.java, size)
        else:
            found.python = max(found.python, size)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=list(CASES), help="cases (default: all)")
    parser.add_argument("--ours", action="store_true", help="leave out the others")
    parser.add_argument("--seconds", type=int, default=600, help="for one command at most (default: 600)")
    parser.add_argument("--cores", type=int, default=2, help="for Spark (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
