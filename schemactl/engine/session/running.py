"""The session that a command has open, for those who are given none: destinations that work with Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from schemactl.engine.session import SparkOptions, open_session
from schemactl.engine.session.failure import explain_failure, is_spark_failure
from schemactl.errors import DestinationError, SchemactlError


@contextmanager
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
    found: SparkSession | None = SparkSession.getActiveSession()
    return found


@contextmanager
def wrap_errors(task: str = "") -> Iterator[None]:
    """Report what Spark raises within a block as a failure of the destination, and what could not be done."""
    try:
        yield
    except SchemactlError:
        raise
    except Exception as error:
        if not is_spark_failure(error):
            raise
        described = explain_failure(error)
        message = f"Spark cannot {task}: {described.message}" if task else described.message
        raise DestinationError(message, hint=described.hint) from error
