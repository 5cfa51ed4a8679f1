"""What the tests share: one local engine, one Spark session, one Spark Connect server and one PostgreSQL
server a run, and the conformance data."""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mysql_server
import postgres_server
import pytest
from _pytest.mark.expression import Expression
from filelock import FileLock
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from outside_data import OutsideData, outside_data
from ports import free_port
from xdist import is_xdist_worker

if TYPE_CHECKING:
    from migrated_datasets import Dataset
    from pyspark.sql import SparkSession

    from schemactl.engine.protocol import Engine

pytest.register_assert_rewrite("rows_contract")

CONNECT_START_LIMIT_SECONDS = 120


REPOSITORY = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")
"""Where Linux has files in memory."""
LEAST_MEMORY_BYTES = 8 << 30
SLOW_MARKS = ("spark", "e2e", "parity", "destinations")
FOLDER_MARKS = {"parity": "parity", "e2e": "e2e", "ci": "e2e", "destinations": "destinations"}
"""The mark of all tests in a folder."""
FILE_MARK = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
"""The mark of all tests in a file, where it is one alone."""

# Most Spark processes of the tests live for seconds and plan each query once: Java's second compiler takes more than
# it gives back. Without it Java has room for little compiled code, and spends its time on throwing out some of it.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")
# Tests make and remove many databases and small files: in memory that takes half of the system's time. Where the
# caller has chosen a folder, or memory is short, they do it on disk.
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > LEAST_MEMORY_BYTES:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None
# Each command that the tests start would compile all modules anew: a third of its time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell ignores interrupts in what it runs in the background, and processes hand that on: tests interrupt commands.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# How long a command takes on this machine is no part of what it says.
os.environ["SCHEMACTL_PROGRESS_SECONDS"] = "0"

# dlt would report that it was used, and wait for an answer where there is no network.
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"

# The settings of whoever runs the tests are no part of them.
os.environ["XDG_CONFIG_HOME"] = str(REPOSITORY / "tests" / "no-settings")
# A cache would hide a change of the code that it holds the results of.
os.environ["SCHEMACTL_CACHE_DIR"] = ""

# In CI the same examples each time: what a lucky one finds is no reason to refuse a change that has no part in it.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=20)
settings.register_profile("local", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=500)  # pytest --hypothesis-profile=thorough
# Commands mask examples where CI is set. Workers of xdist inherit the environment of the process that took it out.
if os.environ.pop("CI", None):
    os.environ["HYPOTHESIS_PROFILE"] = "ci"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))
if settings.get_current_profile_name() == "ci":
    # Hypothesis mixes in constants of the modules that happen to be loaded: a file by itself would see other examples
    # than the whole suite does. There is no public way to leave that out.
    providers._get_local_constants = providers.Constants


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let xdist's workers end without a look through all that they have in memory: it takes a second and more."""
    if is_xdist_worker(session):
        atexit.register(_end_at_once, os.getpid())  # the first one to be registered is the last one to be called


def _end_at_once(worker: int) -> None:
    # Nobody reads a worker's exit code; that of a process which a test has forked counts.
    if os.getpid() == worker:
        os._exit(0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Prepare what Java processes share before the first test that may start one: others need not wait for it."""
    if item.get_closest_marker("spark"):
        _share_java_classes()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without a look at what is garbage: nothing is, and the looks take a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Let each of xdist's workers begin in another place of a folder.

    In a new clone they compile all files: so each compiles some of them, and finds what the others have compiled.
    """
    report = yield
    if isinstance(collector, pytest.Dir) and is_xdist_worker(collector):
        worker = collector.config.workerinput
        start = len(report.result) * int(worker["workerid"][2:]) // worker["workercount"]
        report.result = report.result[start:] + report.result[:start]
    return report


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over the folders and files of which `-m` leaves no test: importing these takes seconds."""
    mark = _mark_of(collection_path) if config.option.markexpr else None
    if not mark:
        return None
    stated = Expression.compile(config.option.markexpr)
    others = sorted(stated.idents() - {mark})  # a test there may have any of them
    for number in range(len(others) + 1):
        for marks in combinations((mark, *others), number + 1):
            if mark in marks and stated.evaluate(lambda name, marks=marks, **_: name in marks):
                return None
    return True


def _mark_of(path: Path) -> str | None:
    """Return a mark that all tests of a folder or file have, without importing it."""
    if path.parent == REPOSITORY / "tests" and path.name in FOLDER_MARKS:
        return FOLDER_MARKS[path.name]
    if not path.name.startswith("test_") or path.suffix != ".py":
        return None
    found = FILE_MARK.search(path.read_text(encoding="utf-8"))
    return found and found[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the folder that they stand in, and those that use Spark or PostgreSQL; order their files.

    Files that share a Spark come first, then fast ones, then slow ones without it: see ``pytest_xdist_make_scheduler``.
    """
    shares_spark, is_slow = set(), set()
    for item in items:
        folder = item.path.relative_to(REPOSITORY / "tests").parts[0]
        if folder in FOLDER_MARKS:
            item.add_marker(FOLDER_MARKS[folder])
        fixtures_used = getattr(item, "fixturenames", ())
        if "spark" in fixtures_used:
            item.add_marker("spark")
        if "postgres_url" in fixtures_used:
            item.add_marker("destinations")
        if "spark" in fixtures_used or (folder == "destinations" and item.get_closest_marker("spark")):
            shares_spark.add(item.path)
        elif any(map(item.get_closest_marker, SLOW_MARKS)):
            is_slow.add(item.path)
    # Not in the order of collection, which differs between workers: see ``pytest_make_collect_report``.
    items.sort(key=lambda item: (0 if item.path in shares_spark else 2 if item.path in is_slow else 1, item.path))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have the first worker take files from the beginning, and others from the end, until nothing is left between.

    So one worker alone starts the Spark that tests share, unless these take more than half of the time.
    """
    from xdist.scheduler import LoadFileScheduling

    class BothEnds(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            if node is not self.nodes[0]:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return BothEnds(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have garbage collection pass over what is there by now."""
    # Garbage collection would look through what is loaded by now again and again, pytest's last ones too.
    gc.freeze()
    atexit.register(gc.unfreeze)  # the process ends as always: DuckDB complains of what is left


@cache
def _share_java_classes() -> None:
    """Let all Java processes of the tests take Spark's classes from one file: starting takes half the time."""
    from schemactl.engine.spark.session.java import find_java
    from schemactl.engine.spark.session.launch import spark_home

    java, jars = find_java(), spark_home() / "jars"
    if java.version >= 25:  # whose file serves none but the same command
        return
    key = hashlib.sha256(f"load {java.home} {jars} {jars.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    folder = REPOSITORY / ".pytest_cache" / f"java-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not (found := [*folder.glob("*.jsa")]):
            # A load uses more of Spark's classes than a look at the data.
            load = ("normalize", str(REPOSITORY / "fixtures" / "orders.jsonl"), "--schemas", "schemas")
            # Java writes the file as it ends, which takes longer than commands wait for it.
            script = (
                "import sys; from schemactl.cli.app import run; from schemactl.engine.spark.session import driver; "
                "driver.EXIT_LIMIT_SECONDS = 300; sys.exit(run(sys.argv[1:]))"
            )
            command = [sys.executable, "-c", script, *load, "--to", "warehouse"]
            option = f"-XX:ArchiveClassesAtExit={folder / 'making'}"
            environment = {**os.environ, "JDK_JAVA_OPTIONS": f'{os.environ["JDK_JAVA_OPTIONS"]} "{option}"'}
            subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
            found = [(folder / "making").rename(folder / "classes.jsa")]
    # Java goes on without a file that does not fit, with a warning.
    quiet = "-Xlog:cds*=off -Xlog:class+path=off"
    os.environ["JDK_JAVA_OPTIONS"] += f' "-XX:SharedArchiveFile={found[0]}" {quiet}'


@pytest.fixture(scope="session")
def conformance() -> OutsideData:
    """Data of dlt and Arc, which is kept outside the repository."""
    return outside_data()


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return REPOSITORY / "fixtures"


@pytest.fixture(scope="session")
def local_engine() -> Iterator[Engine]:
    """The engine of this machine with two workers: for all that is about data, and not about Spark."""
    from schemactl.engine.local.engine import LocalEngine
    from schemactl.engine.local.workers import Workers
    from schemactl.progress import no_progress

    workers = Workers(2)
    yield LocalEngine(workers, 2, no_progress)
    workers.close()


@pytest.fixture
def local_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands read data on this machine, as without Spark."""
    monkeypatch.setenv("SCHEMACTL_ENGINE", "local")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores, opened as the commands open theirs, with settings for many queries of a few rows."""
    from schemactl.engine.spark.session import SparkOptions, open_session

    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
        # A young generation that holds what many queries leave, one thread that looks it through, and methods that are
        # compiled sooner: this Java lives for minutes.
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -Xms1g -Xmn600m -XX:CompileThresholdScaling=0.25",
        # Most of a small query's time goes into its plan: none is described for a page that nobody opens, ...
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.maxPlanStringLength": "100",
        # ... none is looked through after each rule, ...
        "spark.sql.lightweightPlanChangeValidation": "false",
        # ... and none is compiled as a whole; the Sparks that tests start in processes of their own compile theirs.
        "spark.sql.codegen.wholeStage": "false",
    }
    with open_session(SparkOptions(master="local[2]", conf=conf)) as session:
        yield session


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and flows that start Spark get the one that the tests have."""

    @contextmanager
    def opened(_options: object, progress: object = None) -> Iterator[SparkSession]:
        yield spark

    @contextmanager
    def start_java_early(options: object) -> Iterator[object]:
        yield options

    monkeypatch.setattr("schemactl.engine.spark.session.open_session", opened)
    monkeypatch.setattr("schemactl.engine.spark.session.start_java_early", start_java_early)


@pytest.fixture(scope="session")
def connect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server; a test that uses it runs its client in a process of its own."""
    from schemactl.engine.spark.session.driver import spark_process
    from schemactl.engine.spark.session.java import find_java
    from schemactl.engine.spark.session.launch import Launch

    folder = tmp_path_factory.mktemp("connect")
    port = free_port()
    conf = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
        "spark.pyspark.python": sys.executable,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    launch = Launch(find_java(), folder, conf, memory_mb=1024, application=server)
    with spark_process(launch) as process:
        _await_port(port, lambda: process.poll() is None, launch.log)
        yield f"sc://127.0.0.1:{port}"


def _await_port(port: int, is_alive, log: Path) -> None:
    limit = time.monotonic() + CONNECT_START_LIMIT_SECONDS
    while time.monotonic() < limit and is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the Spark Connect server did not start:\n{log.read_text()}")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def dataset(request: pytest.FixtureRequest, work: Path) -> Dataset:
    """A dataset without tables in each engine; the test runs in its folder."""
    from migrated_datasets import new_dataset

    server = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    return new_dataset(request.param, work, server)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL server that runs while the tests do, with a password in it."""
    with postgres_server.running() as url:
        yield url


@pytest.fixture(scope="module")
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The address of a PostgreSQL database that the tests of one file share."""
    with postgres_server.database(postgres_url) as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[str]:
    """The address of a MariaDB server that runs while the tests do, with a password in it."""
    with mysql_server.running() as url:
        yield url


@pytest.fixture
def mariadb_url(mariadb_server: str) -> Iterator[str]:
    """The address of a MariaDB server without databases."""
    yield mariadb_server
    mysql_server.drop_databases(mariadb_server)
