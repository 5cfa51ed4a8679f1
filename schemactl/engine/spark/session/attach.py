"""Attach PySpark to a running Java process, and restore this process afterwards."""

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

from schemactl.engine.spark.session.driver import Gateway
from schemactl.engine.spark.session.failure import translate_errors
from schemactl.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Variables that turn a session into one of another kind, or with other settings.
MISLEADING_VARIABLES = (
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
    _skip_numpy_conversion()
    with _attach_environment(gateway), _restored_interrupt_handler() as restore_handler:
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            hint = "close it, or pass it: `SparkSettings(session=...)`"
            raise EngineError("this process has a Spark session already", hint=hint)
        try:
            with _started_spark() as spark:
                restore_handler()
                # Within the session, since messages come from Java.
                with translate_errors(gateway.log):
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
            # In another thread: an interrupt leaves this thread's connection to Java in the middle of an answer.
            try_to_stop(context.cancelAllJobs, context.stop)
        if gateway is not None:
            try_to_stop(gateway.shutdown)


def call_within(seconds: float, function: Callable[[], Answer]) -> tuple[Answer] | None:
    """Return the answer of a call in a tuple, None if it takes longer; raise its exceptions."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="schemactl-spark")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return (answers[0],) if answers else None


def try_to_stop(*functions: Callable[[], object]) -> None:
    """Call the functions in order, ignoring their exceptions, within some seconds in all."""

    def run() -> None:
        for function in functions:
            with contextlib.suppress(Exception):
                function()

    call_within(STOP_LIMIT_SECONDS, run)


def _skip_numpy_conversion() -> None:
    """Remove the conversion of NumPy values for Java: we pass none.

    With the first call and the first literal it imports PySpark's test tools, and with them pandas: as much work as all
    other imports.
    """
    from py4j import protocol
    from pyspark.sql import functions, types
    from pyspark.sql.functions import builtin

    numpy = (types.NumpyScalarConverter, types.NumpyArrayConverter)
    protocol.INPUT_CONVERTER[:] = [
        converter for converter in protocol.INPUT_CONVERTER if not isinstance(converter, numpy)
    ]
    functions.lit = builtin.lit = _literal()  # type: ignore[assignment] # the same without NumPy values


def _literal() -> Callable[[Any], Any]:
    """Return PySpark's ``lit`` without NumPy values."""
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
    """Make PySpark forget the gateway, so that another session can be opened."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # PySpark expects one Java process in its life, and has no public way to drop it.
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _attach_environment(gateway: Gateway) -> AbstractContextManager[None]:
    """Set the variables that let PySpark find a gateway, within a block."""
    return environment(
        {
            **dict.fromkeys(MISLEADING_VARIABLES),
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
    """Set variables of this process (None removes one) within a block."""
    previous_values = {name: os.environ.get(name) for name in values}
    _set_variables(values)
    try:
        yield
    finally:
        _set_variables(previous_values)


def _set_variables(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _restored_interrupt_handler() -> Iterator[Callable[[], None]]:
    """Yield a function that restores the handler of Ctrl-C: that of PySpark calls Java inside the signal."""
    handler = signal.getsignal(signal.SIGINT)

    def restore() -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)

    try:
        yield restore
    finally:
        restore()


@contextlib.contextmanager
def quiet(debug: bool) -> Iterator[None]:
    """Hide warnings and logs of PySpark and py4j: they are about their internals, not the user's data."""
    if debug:
        yield
        return

    def is_not_of_py4j(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    level = py4j.level
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark\b")
        # PySpark looks for pandas before it runs functions on Arrow, and warns of pandas 3, which we do not use.
        warnings.filterwarnings("ignore", message=r".*PySpark")
        # py4j logs through its own logger and, on an interrupt, through the root.
        root.addFilter(is_not_of_py4j)
        py4j.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            root.removeFilter(is_not_of_py4j)
            py4j.setLevel(level)
