"""A load on a standalone cluster of a master and two workers, of which one is killed midway, has each row once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import duckdb
import pytest
from ports import free_port

from schemactl.engine.spark.session.java import find_java
from schemactl.engine.spark.session.launch import Launch, java_environment, java_options, write_files

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"),
]

COMMAND = Path(sys.executable).with_name("schemactl")
LIMIT_SECONDS = 240
FILES, DOCUMENTS_EACH, LINES_EACH = 16, 200, 6


@contextmanager
def part_of_cluster(folder: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a master or a worker while the block runs."""
    folder.mkdir()
    launch = Launch(find_java(), folder, {"spark.master": "local-cluster"}, memory_mb=256, debug=True)
    write_files(launch)
    environment = {**java_environment(launch), "SPARK_NO_DAEMONIZE": "1"}
    command = [str(launch.java.executable), *java_options(launch), f"@{folder / 'class-path'}"]
    command += [f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0", *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        yield process
    finally:
        for each in (*executors_of(process.pid), process.pid):
            kill(each)
        process.wait()


def await_log(folder: Path, text: str, times: int = 1) -> None:
    """Wait until a part of the cluster has logged a text so many times."""
    limit = time.monotonic() + LIMIT_SECONDS
    log = folder / "log"
    while (found := log.read_text()).count(text) < times:
        assert time.monotonic() < limit, found
        time.sleep(0.1)


def executors_of(worker: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == worker and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(path.parent.name))
    return found


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def write_orders(folder: Path) -> None:
    folder.mkdir()
    for file in range(FILES):
        orders = (
            {"id": file * DOCUMENTS_EACH + at, "lines": [{"n": n, "sku": f"s{at}"} for n in range(LINES_EACH)]}
            for at in range(DOCUMENTS_EACH)
        )
        (folder / f"{file:03}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in orders))


def test_a_worker_that_is_killed_midway_loses_and_doubles_no_row(tmp_path: Path) -> None:
    write_orders(tmp_path / "orders")
    staging = tmp_path / "staging"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as cluster:
        cluster.enter_context(part_of_cluster(tmp_path / "master", "master.Master", "--port", str(port)))
        await_log(tmp_path / "master", "Starting Spark master at")
        workers = [
            cluster.enter_context(
                part_of_cluster(tmp_path / f"worker-{at}", "worker.Worker", "--cores", "1", "--memory", "1g", master)
            )
            for at in range(2)
        ]
        small = ("--conf", "spark.executor.memory=768m", "--conf", "spark.sql.files.maxPartitionBytes=20000")
        call = [COMMAND, "normalize", tmp_path / "orders", "--name", "shop", "--to", "duckdb:///loaded.duckdb"]
        call += ["--master", master, "--staging", staging, *small]
        await_log(tmp_path / "master", "Registering worker", 2)
        load = subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        limit = time.monotonic() + LIMIT_SECONDS
        while not list(staging.rglob("*.parquet")) and load.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        killed = (*executors_of(workers[0].pid), workers[0].pid)
        assert executors_of(workers[1].pid), "the other one cannot go on"
        for each in killed:
            kill(each)
        out, _ = load.communicate(timeout=LIMIT_SECONDS)
    assert len(killed) == 2, out
    assert load.returncode == 0, out
    with duckdb.connect(str(tmp_path / "loaded.duckdb"), read_only=True) as database:
        count, ids = database.execute("SELECT count(*), count(DISTINCT id) FROM shop.orders").fetchall()[0]
        lines = database.execute(
            "SELECT count(*), count(DISTINCT (id, n)) FROM shop.orders__lines AS l"
            " JOIN shop.orders AS o ON l._dlt_parent_id = o._dlt_id"
        ).fetchall()[0]
    expected = FILES * DOCUMENTS_EACH
    assert (count, ids) == (expected, expected)
    assert lines == (expected * LINES_EACH, expected * LINES_EACH)
    assert not list(staging.iterdir())
