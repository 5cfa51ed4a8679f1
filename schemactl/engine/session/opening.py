"""Opens a Spark session that behaves: quiet, the same on every machine, and gone without a trace.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

What Spark raises inside the block leaves it as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemactl.engine.session.attach import (
    MISLEADING,
    attached_session,
    bounded,
    environment,
    quiet,
    try_bounded,
)
from schemactl.engine.session.driver import check_reachable, started_driver
from schemactl.engine.session.failure import explained, wrap_errors
from schemactl.engine.session.settings import SESSION_CONF, SparkOptions, check_options, parse_remote
from schemactl.errors import EngineError
from schemactl.progress import Progress, no_progress
from schemactl.store.sources import TABLE_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_LIMIT_SECONDS = 30
SECONDS_BETWEEN_LOOKS = 0.5
_JOIN_SECONDS = 2


@contextlib.contextmanager
def open_remote(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session on the server that the options name, and stop it at the end of the block."""
    assert options.remote is not None
    check_reachable("the Spark Connect server", options.remote, (parse_remote(options.remote),))
    with environment(dict.fromkeys(MISLEADING)), explained(None):
        from pyspark.sql import SparkSession

        def connect() -> SparkSession:
            builder = SparkSession.builder.remote(options.remote or "").appName("schemactl")
            session: SparkSession = builder.config(map={**SESSION_CONF, **options.conf}).getOrCreate()
            session.version  # noqa: B018 - asks the server, which the lines above need not have done
            return session

        try:
            connected = bounded(connect, CONNECT_LIMIT_SECONDS)
            if connected is None:
                raise EngineError(f"the Spark Connect server `{options.remote}` does not answer")
            spark = connected[0]
            try:
                yield spark
            finally:
                try_bounded(spark.interruptAll, spark.stop)
        finally:
            _forget_remote()


def _forget_remote() -> None:
    """Drop a session that did not connect or stop: at its exit Python would wait minutes for its server."""
    from pyspark.sql.connect.session import SparkSession

    spark = SparkSession._default_session
    if spark is not None:
        atexit.unregister(spark.client._on_exit)
    SparkSession._default_session = None
    SparkSession._active_session.session = None


@contextlib.contextmanager
def watched(spark: SparkSession, report: Callable[[float], None]) -> Iterator[None]:
    """Report the share of tasks done, 0 to 1, of the jobs that this session runs in the block, from another thread.

    Sessions of Spark Connect know of no tasks.
    """
    is_over = threading.Event()

    def look() -> None:
        from py4j.protocol import Py4JError

        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            try:
                share = share_done(spark)
            except (Py4JError, OSError):
                return  # Java is gone; who waits for an answer of it says so
            if share is not None and not is_over.is_set():
                report(share)

    watcher = threading.Thread(target=look, daemon=True, name="schemactl-tasks")
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join(_JOIN_SECONDS)


def share_done(spark: SparkSession) -> float | None:
    """Return how much of the tasks of running jobs is done, None where no job runs."""
    tracker = spark.sparkContext.statusTracker()
    running = [job for job in map(tracker.getJobInfo, tracker.getActiveJobsIds()) if job is not None]
    stages = [tracker.getStageInfo(stage) for job in running for stage in job.stageIds]
    # A stage that another job has done already is listed, and never begins.
    known = [stage for stage in stages if stage is not None and stage.numActiveTasks + stage.numCompletedTasks]
    total = sum(stage.numTasks for stage in known)
    return sum(stage.numCompletedTasks for stage in known) / total if total else None


@contextlib.contextmanager
def open_session(options: SparkOptions, progress: Progress = no_progress) -> Iterator[SparkSession]:
    """Open a Spark session, and end it and its process at the end of the block, however that comes.

    Raises:
        InputError: the options are wrong, or Spark says that the input is.
        EngineError: Spark cannot be started or reached, or it failed while it worked.
    """
    check_options(options)
    opened = _open_own(options) if options.remote is None else open_remote(options)
    with quiet(options.debug), opened as spark:
        if options.remote is not None:
            yield spark
            return
        with watched(spark, lambda share: progress("", share)):
            yield spark


@contextlib.contextmanager
def begun(options: SparkOptions) -> Iterator[SparkOptions]:
    """Start Java for the session that a command opens later: it comes up while the command reads its files.

    Returns:
        The options to open the session with, in the block.
    """
    check_options(options)
    if options.remote is not None:
        yield options
        return
    with started_driver(options) as driver:
        yield replace(options, begun=driver)


@contextlib.contextmanager
def _open_own(options: SparkOptions) -> Iterator[SparkSession]:
    ready = options.begun
    is_ready = ready is not None and ready.options == options and not ready.is_used
    with contextlib.nullcontext(ready) if ready and is_ready else started_driver(options) as driver:
        # The import takes as long as Java needs to come up: they run side by side.
        import pyspark.sql  # noqa: F401

        with attached_session(driver.await_gateway()) as spark:
            yield spark


# --- beside a session that is open ---


@contextlib.contextmanager
def open_sibling_session(session: Any) -> Iterator[Any]:
    """Open a session in the Spark of another one, classic or of Connect, with the settings that answers depend on.

    Raises:
        EngineError: Spark failed in the block.
    """
    with explained(None):
        spark = session.newSession()
        for name, value in SESSION_CONF.items():
            spark.conf.set(name, value)
        active = type(session).getActiveSession() or session
        _make_active(spark)
        try:
            yield spark
        finally:
            _make_active(active)


def _make_active(session: Any) -> None:
    """Make a session the active one of its thread: Spark does so with each frame made of data, and by no other call."""
    session.createDataFrame([], "id int")


@contextlib.contextmanager
def view_of(frame: Any, name: str) -> Iterator[str]:
    """Make a DataFrame known to all sessions of its Spark for the time of a block, and return it as a source."""
    frame.createOrReplaceGlobalTempView(name)
    try:
        yield f"{TABLE_PREFIX}global_temp.{name}"
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)


@contextlib.contextmanager
def running_session() -> Iterator[SparkSession]:
    """Yield the session that is open, else one that is opened with Spark's defaults and closed at the end.

    Raises:
        DestinationError: Spark failed inside the block.
        EngineError: no session is open, and none can be opened.
    """
    spark = active_session()
    if spark is not None:
        with wrap_errors():
            yield spark
        return
    with open_session(SparkOptions()) as opened, wrap_errors():
        yield opened


def active_session() -> SparkSession | None:
    """Return the session that is open, None where there is none."""
    from pyspark.sql import SparkSession

    found: SparkSession | None = SparkSession.getActiveSession()
    return found
