"""Works in a Spark that the caller has open: beside the caller's session, which stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemactl.engine.session.failure import explained
from schemactl.engine.session.settings import SESSION_CONF
from schemactl.store.sources import TABLE_PREFIX


@contextmanager
def beside(session: Any) -> Iterator[Any]:
    """Open a session in the Spark of another one, with the settings that answers depend on.

    Args:
        session: a SparkSession, classic or of Spark Connect.

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


@contextmanager
def view_of(frame: Any, name: str) -> Iterator[str]:
    """Make a DataFrame known to all sessions of its Spark for the time of a block, and return it as a source."""
    frame.createOrReplaceGlobalTempView(name)
    try:
        yield f"{TABLE_PREFIX}global_temp.{name}"
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)
