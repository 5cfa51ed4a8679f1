"""Open Spark sessions: quiet, with the same settings on every machine, and without traces afterwards.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

Exceptions of Spark leave the block as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemactl.engine.spark.options import SESSION_CONF, SparkOptions, check_options, parse_remote
from schemactl.engine.spark.session.attach import (
    MISLEADING_VARIABLES,
    attached_session,
    call_within,
    environment,
    quiet,
    try_to_stop,
)
from schemactl.engine.spark.session.driver import check_reachable, start_driver
from schemactl.engine.spark.session.failure import translate_errors, wrap_errors
from schemactl.errors import EngineError
from schemactl.progress import Progress, no_progress
from schemactl.store.sources import TABLE_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_LIMIT_SECONDS = 30
SECONDS_BETWEEN_REPORTS = 0.5
_JOIN_SECONDS = 2


@contextlib.contextmanager
def open_remote(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session on the Spark Connect server of the options, and stop it at the end of the block."""
    assert options.remote is not None
    check_reachable("the Spark Connect server", options.remote, (parse_remote(options.remote),))
    with environment(dict.fromkeys(MISLEADING_VARIABLES)), translate_errors(None):
        from pyspark.sql import SparkSession

        def connect() -> SparkSession:
            builder = SparkSession.builder.remote(options.remote or "").appName("schemactl")
            session: SparkSession = builder.config(map={**SESSION_CONF, **options.conf}).getOrCreate()
            session.version  # noqa: B018 - asks the server: the lines above may not
            return session

        try:
            answer = call_within(CONNECT_LIMIT_SECONDS, connect)
            if answer is None:
                host, _ = parse_remote(options.remote)
                uses_tls = ";token=" in options.remote and host != "localhost"
                hint = "Spark sends a token by TLS, except to the host `localhost`" if uses_tls else None
                raise EngineError(f"the Spark Connect server `{options.remote}` does not answer", hint=hint)
            (spark,) = answer
            try:
                yield spark
            finally:
                try_to_stop(spark.interruptAll, spark.stop)
        finally:
            _forget_remote()


def _forget_remote() -> None:
    """Drop a session that did not connect or stop: Python would wait minutes for its server as it ends."""
    from pyspark.sql.connect.session import SparkSession

    spark = SparkSession._default_session
    if spark is not None:
        atexit.unregister(spark.client._on_exit)
    SparkSession._default_session = None
    SparkSession._active_session.session = None


@contextlib.contextmanager
def report_tasks(spark: SparkSession, report: Callable[[float], None]) -> Iterator[None]:
    """Report the share of tasks done, 0 to 1, of jobs that run within the block, from another thread.

    It needs a session without Spark Connect.
    """
    is_over = threading.Event()

    def run() -> None:
        from py4j.protocol import Py4JError

        while not is_over.wait(SECONDS_BETWEEN_REPORTS):
            try:
                share = share_done(spark)
            except (Py4JError, OSError):
                return  # Java has ended; the call that waits for it raises the error
            if share is not None and not is_over.is_set():
                report(share)

    thread = threading.Thread(target=run, daemon=True, name="schemactl-tasks")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(_JOIN_SECONDS)


def share_done(spark: SparkSession) -> float | None:
    """Return the share of tasks done of the running jobs, 0 to 1; None if no job runs."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getActiveJobsIds()) if job is not None]
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    # A job lists stages that an earlier job has done, which never start.
    started_stages = [stage for stage in stages if stage is not None and stage.numActiveTasks + stage.numCompletedTasks]
    total = sum(stage.numTasks for stage in started_stages)
    return sum(stage.numCompletedTasks for stage in started_stages) / total if total else None


@contextlib.contextmanager
def open_session(options: SparkOptions, progress: Progress = no_progress) -> Iterator[SparkSession]:
    """Open a Spark session, and end it and its process at the end of the block."""
    check_options(options)
    with quiet(options.debug):
        if options.remote is not None:
            with open_remote(options) as spark:
                yield spark
            return
        with _open_local(options) as spark, report_tasks(spark, lambda share: progress("", share)):
            yield spark


@contextlib.contextmanager
def start_java_early(options: SparkOptions) -> Iterator[SparkOptions]:
    """Start Java ahead of the session that a command opens, while the command reads its files.

    Yields:
        The options to open the session with, within the block.
    """
    check_options(options)
    if options.remote is not None:
        yield options
        return
    with start_driver(options) as driver:
        yield replace(options, driver=driver)


@contextlib.contextmanager
def _open_local(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session on a driver of this process: on the driver of the options first, then on new drivers."""
    early = options.driver
    is_free = early is not None and early.options == options and not early.is_used
    with contextlib.nullcontext(early) if early and is_free else start_driver(options) as driver:
        # The import takes as long as Java needs to come up: both run at the same time.
        import pyspark.sql  # noqa: F401

        with attached_session(driver.await_gateway()) as spark:
            yield spark


@contextlib.contextmanager
def open_sibling_session(session: Any) -> Iterator[Any]:
    """Open a session in the Spark of another session, classic or Connect, with the settings that results depend on."""
    with translate_errors(None):
        spark = session.newSession()
        for name, value in SESSION_CONF.items():
            spark.conf.set(name, value)
        previous_session = type(session).getActiveSession() or session
        _make_active(spark)
        try:
            yield spark
        finally:
            _make_active(previous_session)


def _make_active(session: Any) -> None:
    """Make a session the active one of its thread, which Spark does as it makes a frame of data and not otherwise."""
    session.createDataFrame([], "id int")


@contextlib.contextmanager
def view_of(frame: Any, name: str) -> Iterator[str]:
    """Share a DataFrame with all sessions of its Spark within a block, and yield it as a source."""
    frame.createOrReplaceGlobalTempView(name)
    try:
        yield f"{TABLE_PREFIX}global_temp.{name}"
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)


@contextlib.contextmanager
def running_session() -> Iterator[SparkSession]:
    """Yield the open session, or one with Spark's defaults that is closed at the end of the block."""
    spark = active_session()
    if spark is not None:
        with wrap_errors():
            yield spark
        return
    with open_session(SparkOptions()) as spark, wrap_errors():
        yield spark


def active_session() -> SparkSession | None:
    """Return the open session, if any."""
    from pyspark.sql import SparkSession

    session: SparkSession | None = SparkSession.getActiveSession()
    return session
