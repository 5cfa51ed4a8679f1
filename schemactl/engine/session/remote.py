"""Opens a session on a Spark Connect server."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.engine.session.attach import MISLEADING, environment
from schemactl.engine.session.bounded import bounded, check_reachable, try_bounded
from schemactl.engine.session.failure import explained
from schemactl.engine.session.settings import SESSION_CONF, SparkOptions, parse_remote
from schemactl.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_LIMIT_SECONDS = 30


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
