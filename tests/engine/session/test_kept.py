"""Which commands share a kept driver, and that it serves them and ends, seen from processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schemactl.engine.session import SparkOptions
from schemactl.engine.session.kept import socket_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 240


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A runtime folder whose path is short enough for sockets; temporary files and the work are beside it."""
    folder = Path(tempfile.mkdtemp(prefix="kept-", dir="/tmp"))
    (folder / "tmp").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    yield folder
    for process in processes(folder):
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def processes(folder: Path, word: str = "") -> list[int]:
    """Ids of the living processes that inherited the temporary folder, and whose command line has a word."""
    mark = f"TMPDIR={folder / 'tmp'}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            command = (path.parent / "cmdline").read_bytes()
            if mark in path.read_bytes() + b"\0" and command and word.encode() in command:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def await_true(is_so: Callable[[], bool]) -> bool:
    limit = time.monotonic() + LIMIT_SECONDS
    while not is_so() and time.monotonic() < limit:
        time.sleep(0.1)
    return is_so()


def start(script: str) -> subprocess.Popen[str]:
    whole = "from schemactl.engine.session import *\n" + textwrap.dedent(script)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", whole], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(script: str) -> str:
    process = start(script)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, err) == (0, "")
    return out


def drivers() -> list[dict]:
    command = [sys.executable, "-m", "schemactl", "engine", "status", "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["drivers"]


KEPT = SparkOptions(master="local[1]", keep=60)


def test_commands_that_want_the_same_spark_share_a_driver(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = socket_path(KEPT)
    monkeypatch.setenv("TERM_SESSION_ID", "another")
    monkeypatch.setenv("SCHEMACTL_SCHEMAS", "another")

    assert socket_path(KEPT) == first
    assert socket_path(SparkOptions(master="local[1]", keep=5)) == first


@pytest.mark.parametrize(
    "options",
    [
        SparkOptions(master="local[2]", keep=60),
        SparkOptions(master="local[1]", keep=60, conf={"spark.driver.memory": "1g"}),
        SparkOptions(master="local[1]", keep=60, conf={"spark.sql.shuffle.partitions": "7"}),
        SparkOptions(master="local[1]", keep=60, java_cache=Path("cache")),
    ],
)
def test_another_spark_is_another_driver(runtime: Path, options: SparkOptions) -> None:
    assert socket_path(options) != socket_path(KEPT)


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "HADOOP_CONF_DIR", "PYTHONPATH", "JAVA_TOOL_OPTIONS", "TZ"])
def test_what_spark_would_inherit_counts(runtime: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = socket_path(KEPT)
    monkeypatch.setenv(name, "another")

    assert socket_path(KEPT) != before


def test_another_version_or_working_folder_counts(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = socket_path(KEPT)
    (Path.cwd() / "below").mkdir()
    monkeypatch.chdir("below")
    elsewhere = socket_path(KEPT)
    monkeypatch.setattr("schemactl.engine.session.kept.__version__", "999")

    assert len({before, elsewhere, socket_path(KEPT)}) == 3


def test_passwords_are_in_no_name(runtime: Path) -> None:
    path = socket_path(SparkOptions(keep=60, conf={"spark.hadoop.fs.s3a.secret.key": "hunter2"}))

    assert "hunter2" not in str(path)
    assert not path.exists()


SESSION = """
    from schemactl.engine.session.settings import SparkOptions
    with open_session(SparkOptions(master="local[2]", keep={keep})) as spark:
        {body}
"""
PID = "print(spark._jvm.java.lang.ProcessHandle.current().pid())"
SLOW = """
    import sys, time
    from schemactl.engine.session.settings import SparkOptions
    def slow(batches):
        import time
        for batch in batches:
            time.sleep(600)
            yield batch
    with open_session(SparkOptions(master="local[2]", keep=120)) as spark:
        print("at work", flush=True)
        spark.range(0, 4, 1, 2).mapInArrow(slow, "id long").collect()
"""
WORKER = "pyspark.worker"


@pytest.mark.spark
def test_a_driver_serves_its_commands_outlives_one_that_is_killed_and_ends_when_it_is_idle(runtime: Path) -> None:
    # one after another, and at once
    leaves_traces = """
        spark.conf.set("spark.sql.shuffle.partitions", "77")
        spark.range(3).createOrReplaceTempView("numbers")
        spark.table("numbers").cache().count()
        {}
    """
    first = run(SESSION.format(keep=120, body=leaves_traces.format(PID)))
    holds = f"{PID}; sys.stdout.flush(); input()"
    held = start("import sys\n" + textwrap.dedent(SESSION.format(keep=120, body=holds)))
    assert held.stdout is not None
    second = held.stdout.readline()
    sees = f"""
        assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
        assert not spark.catalog.tableExists("numbers")
        assert spark.range(5).count() == 5
        {PID}
    """
    third = run(SESSION.format(keep=120, body=sees))
    (driver,) = drivers()
    assert first == second == third == f"{driver['pid']}\n"
    assert (driver["commands"], driver["served"], driver["seconds_left"]) == (1, 3, None)

    # a killed one leaves no job and no worker
    process = start(SLOW)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    assert await_true(lambda: len(processes(runtime, WORKER)) >= 2)  # a daemon and at least one worker
    process.kill()
    process.communicate()
    assert await_true(lambda: len(processes(runtime, WORKER)) <= 1)
    assert [driver["commands"] for driver in drivers()] == [1]
    held.communicate("\n", timeout=LIMIT_SECONDS)
    assert held.returncode == 0

    # the last one says how long it is kept
    jobs = "print(list(spark.sparkContext.statusTracker().getActiveJobsIds()), spark.range(5).count())"
    assert run(SESSION.format(keep=1, body=jobs)) == "[] 5\n"
    assert await_true(lambda: processes(runtime) == [])
    assert list((runtime / "tmp").iterdir()) == []
    assert drivers() == []


@pytest.mark.spark
def test_a_driver_that_nobody_attaches_to_ends(runtime: Path) -> None:
    process = start(SESSION.format(keep=1, body="pass"))
    assert await_true(lambda: processes(runtime, "session.keeper") != [])
    process.kill()
    process.communicate()

    assert await_true(lambda: processes(runtime) == [])


@pytest.mark.spark
def test_a_killed_keeper_takes_its_driver_along_and_the_next_command_starts_another(runtime: Path) -> None:
    first = run(SESSION.format(keep=120, body=PID))
    (keeper,) = processes(runtime, "session.keeper")
    os.kill(keeper, signal.SIGKILL)
    second = run(SESSION.format(keep=120, body=PID))

    assert first != second
    assert await_true(lambda: int(first) not in processes(runtime))


@pytest.mark.spark
def test_a_driver_that_cannot_start_is_reported_as_without_a_keeper(runtime: Path) -> None:
    out = run("""
        from schemactl.engine.session.settings import SparkOptions
        from schemactl.errors import EngineError
        try:
            with open_session(SparkOptions(master="spark://127.0.0.1:9", keep=60)):
                pass
        except EngineError as error:
            print(error.message)
    """)

    assert out.startswith("cannot reach the Spark master `spark://127.0.0.1:9`")
    assert await_true(lambda: processes(runtime) == [])
