"""Opens a Spark session that behaves: quiet, the same on every machine, and gone without a trace.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

What Spark raises inside the block leaves it as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from schemactl.engine.failure import explain_failure, is_spark_failure
from schemactl.engine.gateway import LOG_NAME, Gateway, Launch, await_gateway, spark_process
from schemactl.engine.java import find_java
from schemactl.engine.settings import (
    SESSION_CONF,
    SparkOptions,
    check_options,
    driver_conf,
    driver_memory_mb,
    parse_remote,
    parse_standalone,
)
from schemactl.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkOptions", "open_session"]

REACH_LIMIT_SECONDS = 10
CONNECT_LIMIT_SECONDS = 30
STOP_LIMIT_SECONDS = 5

# They turn a session into another kind of session, or into one with settings that nobody here asked for.
_MISLEADING = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONNECT_MODE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)

Answer = TypeVar("Answer")


@contextlib.contextmanager
def open_session(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a Spark session, and stop it and its process at the end of the block, however that comes.

    Raises:
        InputError: the options are wrong, or Spark says that the input is.
        EngineError: Spark cannot be started or reached, or it failed while it worked.
    """
    check_options(options)
    opened = _open_remote if options.remote is not None else _open_driver
    with _quiet(options.debug), opened(options) as spark:
        yield spark


@contextlib.contextmanager
def _open_driver(options: SparkOptions) -> Iterator[SparkSession]:
    with _own_folder() as folder:
        conf = driver_conf(options, folder)
        _reach("the Spark master", conf["spark.master"], parse_standalone(conf["spark.master"]))
        java = find_java()
        launch = Launch(java, folder, conf, driver_memory_mb(conf), options.debug)
        if options.debug:
            print(
                *java.passed_over,
                f"Java {java.version} of {java.origin}: {java.home}",
                sep="\n",
                file=sys.stderr,
            )
        with _explained(None if options.debug else launch.log), spark_process(launch) as process:
            # The import takes as long as Java needs to come up: they run side by side.
            import pyspark.sql  # noqa: F401

            yield from _attached(await_gateway(process, launch), launch)


def _attached(gateway: Gateway, launch: Launch) -> Iterator[SparkSession]:
    log = None if launch.debug else launch.log
    with _environment(_attach_environment(gateway, launch)), _kept_interrupt_handler() as keep_handler:
        _check_alone()
        try:
            spark = _attach()
            keep_handler()
            # Explained here and not further out: Java must be there to be asked for the words.
            with _explained(log):
                yield spark
        finally:
            _detach()


def _check_alone() -> None:
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        raise EngineError("this process has a Spark session already", hint="close it first")


def _attach() -> SparkSession:
    from pyspark.sql import SparkSession

    spark: SparkSession = SparkSession.builder.getOrCreate()
    return spark


def _detach() -> None:
    """Stop the running jobs and the session, and forget the gateway: another session can be opened then."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Names with an underscore: PySpark expects one Java process in its life and has no public way to drop it.
    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    try:
        if context is not None:
            # In a thread of its own: an interrupt leaves this thread's connection to Java in mid-answer.
            _try_bounded(context.cancelAllJobs, context.stop)
    finally:
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        if gateway is not None:
            with contextlib.suppress(Exception):
                gateway.shutdown()


@contextlib.contextmanager
def _open_remote(options: SparkOptions) -> Iterator[SparkSession]:
    assert options.remote is not None
    _reach("the Spark Connect server", options.remote, (parse_remote(options.remote),))
    with _environment(dict.fromkeys(_MISLEADING)), _explained(None):
        from pyspark.sql import SparkSession

        def connect() -> SparkSession:
            builder = SparkSession.builder.remote(options.remote or "").appName("schemactl")
            session: SparkSession = builder.config(map={**SESSION_CONF, **options.conf}).getOrCreate()
            session.version  # noqa: B018 - asks the server, which the lines above need not have done
            return session

        try:
            connected = _bounded(connect, CONNECT_LIMIT_SECONDS)
            if connected is None:
                raise EngineError(f"the Spark Connect server `{options.remote}` does not answer")
            spark = connected[0]
            try:
                yield spark
            finally:
                _try_bounded(spark.interruptAll, spark.stop)
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


def _attach_environment(gateway: Gateway, launch: Launch) -> dict[str, str | None]:
    return {
        **dict.fromkeys(_MISLEADING),
        "PYSPARK_GATEWAY_PORT": str(gateway.port),
        "PYSPARK_GATEWAY_SECRET": gateway.secret,
        "PYSPARK_PYTHON": launch.conf["spark.pyspark.python"],
        # PySpark sets these as it attaches, and leaves them.
        "SPARK_AUTH_SOCKET_TIMEOUT": None,
        "SPARK_BUFFER_SIZE": None,
    }


def _reach(what: str, address: str, places: tuple[tuple[str, int], ...]) -> None:
    """Raise EngineError where none of the places listens; without this look Spark tries for minutes."""
    reasons = []
    for place in places:
        try:
            socket.create_connection(place, timeout=REACH_LIMIT_SECONDS).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    if reasons:
        raise EngineError(f"cannot reach {what} `{address}`: {reasons[0].lower()}")


@contextlib.contextmanager
def _explained(log: Path | None) -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        if log and str(log) not in (error.hint or ""):
            error.hint = f"{error.hint}; Spark's log: {log}" if error.hint else f"Spark's log: {log}"
        raise
    except Exception as error:
        if _is_interrupted(error):
            raise KeyboardInterrupt from error
        if not is_spark_failure(error):
            raise
        raise explain_failure(error, log) from error


def _is_interrupted(error: BaseException) -> bool:
    """Whether the error came while an interrupt was on its way: PySpark still calls Java then, which may fail."""
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _is_interrupted(context))


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder for Spark's files, removed at the end; after a failure of Spark its log stays."""
    folder = Path(tempfile.mkdtemp(prefix="schemactl-"))
    failed = False
    try:
        yield folder
    except EngineError:
        failed = True
        raise
    finally:
        _empty(folder, keep=LOG_NAME if failed else None)


def _empty(folder: Path, keep: str | None) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != keep:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _environment(values: dict[str, str | None]) -> Iterator[None]:
    """Set variables of this process (None removes one) for the time of a block."""
    before = {name: os.environ.get(name) for name in values}

    def apply(wanted: dict[str, str | None]) -> None:
        for name, value in wanted.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    apply(values)
    try:
        yield
    finally:
        apply(before)


@contextlib.contextmanager
def _kept_interrupt_handler() -> Iterator[Callable[[], None]]:
    """Hand out a function that puts the handler of Ctrl-C back: PySpark's talks to Java inside the signal."""
    handler = signal.getsignal(signal.SIGINT)

    def put_back() -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)

    try:
        yield put_back
    finally:
        put_back()


@contextlib.contextmanager
def _quiet(debug: bool) -> Iterator[None]:
    """Keep what PySpark and py4j say off the terminal: it is about their innards, not the user's data."""
    if debug:
        yield
        return

    def is_ours(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    level = py4j.level
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark\b")
        warnings.filterwarnings("ignore", message=r".*PySpark")
        # py4j logs through its own logger and, on an interrupt, through the root.
        root.addFilter(is_ours)
        py4j.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            root.removeFilter(is_ours)
            py4j.setLevel(level)


def _bounded(work: Callable[[], Answer], seconds: float) -> tuple[Answer] | None:
    """Return the work's answer in a tuple, None where it takes longer; raise what the work raises."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="schemactl-spark")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return (answers[0],) if answers else None


def _try_bounded(*steps: Callable[[], object]) -> None:
    """Take the steps in order as far as they work; they have a few seconds together."""

    def run() -> None:
        for step in steps:
            with contextlib.suppress(Exception):
                step()

    _bounded(run, STOP_LIMIT_SECONDS)
