"""Opens a Spark session that behaves: quiet, the same on every machine, and gone without a trace.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

What Spark raises inside the block leaves it as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemactl.engine.bounded import bounded, check_reachable, try_bounded
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
from schemactl.engine.surroundings import environment, kept_interrupt_handler, quiet
from schemactl.errors import EngineError
from schemactl.store.own_folder import own_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkOptions", "open_session"]

CONNECT_LIMIT_SECONDS = 30

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
def open_session(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a Spark session, and stop it and its process at the end of the block, however that comes.

    Raises:
        InputError: the options are wrong, or Spark says that the input is.
        EngineError: Spark cannot be started or reached, or it failed while it worked.
    """
    check_options(options)
    opened = _open_remote if options.remote is not None else _open_driver
    with quiet(options.debug), opened(options) as spark:
        yield spark


@contextlib.contextmanager
def _open_driver(options: SparkOptions) -> Iterator[SparkSession]:
    with own_folder("spark", log=LOG_NAME) as folder:
        conf = driver_conf(options, folder)
        check_reachable("the Spark master", conf["spark.master"], parse_standalone(conf["spark.master"]))
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
