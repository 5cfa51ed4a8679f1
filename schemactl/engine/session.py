"""Opens a Spark session that behaves: quiet, the same on every machine, and gone without a trace.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

What Spark raises inside the block leaves it as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemactl.engine.bounded import bounded, check_reachable, try_bounded
from schemactl.engine.failure import explain_failure, is_spark_failure
from schemactl.engine.gateway import LOG_NAME, Gateway, Launch, await_end, await_gateway, java_options, spark_process
from schemactl.engine.java import find_java
from schemactl.engine.java_cache import JavaCache, JavaStart, keep_cache, open_cache
from schemactl.engine.settings import (
    SESSION_CONF,
    SparkOptions,
    check_options,
    driver_conf,
    driver_memory_mb,
    parse_remote,
    parse_standalone,
)
from schemactl.engine.surroundings import environment, kept_interrupt_handler, quiet
from schemactl.errors import EngineError
from schemactl.store.own_folder import own_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkOptions", "open_session"]

CONNECT_LIMIT_SECONDS = 30
CACHE_LIMIT_SECONDS = 300

Progress = Callable[[str, float | None], None]
"""Is told what is being done and how much of it is (0 to 1, None where that is not known)."""

# They turn a session into another kind of session, or into one with settings that nobody here asked for.
_MISLEADING = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONNECT_MODE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)


@contextlib.contextmanager
def open_session(options: SparkOptions, progress: Progress = lambda *_: None) -> Iterator[SparkSession]:
    """Open a Spark session, and stop it and its process at the end of the block, however that comes.

    Args:
        options: which Spark.
        progress: told of what takes long after the block.

    Raises:
        InputError: the options are wrong, or Spark says that the input is.
        EngineError: Spark cannot be started or reached, or it failed while it worked.
    """
    check_options(options)
    opened = _open_driver(options, progress) if options.remote is None else _open_remote(options)
    with quiet(options.debug), opened as spark:
        yield spark


@contextlib.contextmanager
def _open_driver(options: SparkOptions, progress: Progress) -> Iterator[SparkSession]:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(own_folder("spark", log=LOG_NAME))
        conf = driver_conf(options, folder)
        check_reachable("the Spark master", conf["spark.master"], parse_standalone(conf["spark.master"]))
        java = find_java()
        launch = Launch(java, folder, conf, driver_memory_mb(conf), options.debug)
        start = JavaStart(java, launch.class_path, java_options(launch), launch.memory_mb)
        cache = stack.enter_context(open_cache(options.java_cache, start))
        if options.debug:
            chosen = f"Java {java.version} of {java.origin}: {java.home}"
            print(*java.passed_over, chosen, *([cache] if cache else []), sep="\n", file=sys.stderr)
        if cache is not None:
            launch = replace(launch, cache_options=cache.options)
        with _explained(None if options.debug else launch.log), spark_process(launch) as process:
            # The import takes as long as Java needs to come up: they run side by side.
            import pyspark.sql  # noqa: F401

            with _kept(cache, process, progress):
                yield from _attached(await_gateway(process, launch), launch)


@contextlib.contextmanager
def _kept(cache: JavaCache | None, process: subprocess.Popen[bytes], progress: Progress) -> Iterator[None]:
    """Let Java keep what it learned in the block, where it has to and the block ends well."""
    if cache is None or cache.made_at is None:
        yield
        return
    try:
        yield
    except BaseException:
        # Told to leave by itself, it would begin to keep.
        process.kill()
        raise
    progress("keeping what Java learned", None)
    keep_cache(cache, await_end(process, CACHE_LIMIT_SECONDS))


def _attached(gateway: Gateway, launch: Launch) -> Iterator[SparkSession]:
    log = None if launch.debug else launch.log
    with environment(_attach_environment(gateway, launch)), kept_interrupt_handler() as keep_handler:
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
            try_bounded(context.cancelAllJobs, context.stop)
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
    check_reachable("the Spark Connect server", options.remote, (parse_remote(options.remote),))
    with environment(dict.fromkeys(_MISLEADING)), _explained(None):
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
