"""Attaches PySpark to a Java process that is there, and puts this process back in order afterwards."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from schemactl.engine.session.driver import Gateway
from schemactl.engine.session.failure import explained
from schemactl.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# They turn a session into another kind of session, or into one with settings that nobody here asked for.
MISLEADING = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONNECT_MODE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)

STOP_LIMIT_SECONDS = 5

Answer = TypeVar("Answer")


@contextlib.contextmanager
def attached_session(gateway: Gateway) -> Iterator[SparkSession]:
    """Attach PySpark to a Java process and start Spark in it; stop Spark and detach PySpark at the end of the block.

    Exceptions of Spark become errors of ours.
    """
    _pass_no_numpy()
    with _attach_environment(gateway), _restored_interrupt_handler() as restore_handler:
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            hint = "close it, or pass it: `SparkSettings(session=...)`"
            raise EngineError("this process has a Spark session already", hint=hint)
        try:
            with _started_spark() as spark:
                restore_handler()
                # Explained here and not further out: Java must be there to be asked for the words.
                with explained(gateway.log):
                    yield spark
        finally:
            _forget_gateway()


@contextlib.contextmanager
def _started_spark() -> Iterator[SparkSession]:
    """Start Spark in the Java process; stop the running jobs and Spark at the end."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    try:
        yield SparkSession.builder.getOrCreate()
    finally:
        context: Any = SparkContext._active_spark_context
        gateway: Any = SparkContext._gateway
        if context is not None:
            # In a thread of its own: an interrupt leaves this thread's connection to Java in mid-answer.
            try_bounded(context.cancelAllJobs, context.stop)
        if gateway is not None:
            try_bounded(gateway.shutdown)


def bounded(work: Callable[[], Answer], seconds: float) -> tuple[Answer] | None:
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


def try_bounded(*steps: Callable[[], object]) -> None:
    """Take the steps in order as far as they work; they have a few seconds together."""

    def run() -> None:
        for step in steps:
            with contextlib.suppress(Exception):
                step()

    bounded(run, STOP_LIMIT_SECONDS)


def _pass_no_numpy() -> None:
    """Take NumPy's values out of those that can be passed to Java: we have none.

    To look for one, PySpark imports its test tools with the first call and the first literal, and with them pandas: as
    much work as all other imports.
    """
    from py4j import protocol
    from pyspark.sql import functions, types
    from pyspark.sql.functions import builtin

    numpy = (types.NumpyScalarConverter, types.NumpyArrayConverter)
    protocol.INPUT_CONVERTER[:] = [each for each in protocol.INPUT_CONVERTER if not isinstance(each, numpy)]
    functions.lit = builtin.lit = _literal()  # type: ignore[assignment] # alike, but for values of NumPy


def _literal() -> Callable[[Any], Any]:
    """Return PySpark's ``lit``, but for values of NumPy."""
    from pyspark.sql import Column
    from pyspark.sql.functions import builtin
    from pyspark.sql.utils import enum_to_value, try_remote_functions

    @try_remote_functions
    def lit(col: Any) -> Any:
        if isinstance(col, Column):
            return col
        if isinstance(col, list):
            return builtin.array(*map(lit, col))
        return builtin._invoke_function("lit", enum_to_value(col))

    return lit


def _forget_gateway() -> None:
    """Forget the gateway, so that another session can be opened."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Names with an underscore: PySpark expects one Java process in its life and has no public way to drop it.
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _attach_environment(gateway: Gateway) -> AbstractContextManager[None]:
    """Set the variables by which PySpark finds a gateway, for the time of a block."""
    return environment(
        {
            **dict.fromkeys(MISLEADING),
            "PYSPARK_GATEWAY_PORT": str(gateway.port),
            "PYSPARK_GATEWAY_SECRET": gateway.secret,
            "PYSPARK_PYTHON": gateway.python,
            # PySpark sets these as it attaches, and leaves them.
            "SPARK_AUTH_SOCKET_TIMEOUT": None,
            "SPARK_BUFFER_SIZE": None,
        }
    )


@contextlib.contextmanager
def environment(values: dict[str, str | None]) -> Iterator[None]:
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
def _restored_interrupt_handler() -> Iterator[Callable[[], None]]:
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
def quiet(debug: bool) -> Iterator[None]:
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
        # PySpark asks for pandas before it runs what works on Arrow, and warns of pandas 3, which nothing of ours uses.
        warnings.filterwarnings("ignore", message=r".*PySpark")
        # py4j logs through its own logger and, on an interrupt, through the root.
        root.addFilter(is_ours)
        py4j.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            root.removeFilter(is_ours)
            py4j.setLevel(level)
