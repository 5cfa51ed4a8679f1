"""``--keep-spark`` as its users run it: the installed command leaves Spark, attaches to it, shows and ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_schemas import check_document

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"),
]

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 300
INFER = ("infer", "orders.jsonl", "--name", "shop", "--master", "local[1]")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder with a path that is short enough for sockets; data are in the working folder."""
    folder = Path(tempfile.mkdtemp(prefix="kept-", dir="/tmp"))
    (folder / "tmp").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.jsonl").write_text('{"id": 1, "lines": [{"n": 1}]}\n{"id": "idx-2"}\n')
    yield folder
    for driver in status():
        os.kill(driver["pid"], signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def schemactl(*args: str) -> str:
    done = subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def status() -> list[dict]:
    document = json.loads(schemactl("engine", "status", "--format", "json"))
    check_document(document, "engine")
    return document["drivers"]


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_commands_attach_to_the_spark_that_the_first_one_left(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert schemactl("engine", "status") == "no Spark is kept\n"

    first = schemactl(*INFER, "--keep-spark")
    (kept,) = status()
    assert (kept["served"], kept["commands"], kept["keep_seconds"], kept["master"]) == (1, 0, 900.0, "local[1]")

    # By a variable, at the same time: each has a session of its own.
    monkeypatch.setenv("SCHEMACTL_KEEP_SPARK", "10m")
    both = [subprocess.Popen([COMMAND, *INFER, "--check"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    reported = [process.communicate(timeout=TIME_LIMIT_SECONDS)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], (first, reported)
    (same,) = status()
    assert (same["pid"], same["served"], same["keep_seconds"]) == (kept["pid"], 3, 600.0)

    schemactl(*INFER, "--check", "--conf", "spark.driver.memory=1g")
    assert sorted(driver["served"] for driver in status()) == [1, 3]

    pids = {driver["pid"] for driver in status()}
    reported = schemactl("engine", "stop").splitlines()
    assert sorted(reported) == sorted(f"process {pid} has ended" for pid in pids)
    assert [pid for pid in pids if is_there(pid)] == []
    assert list((runtime / "tmp").iterdir()) == []
    assert status() == []
