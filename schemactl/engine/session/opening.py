"""Opens a Spark session that behaves: quiet, the same on every machine, and gone without a trace.

    with open_session(SparkOptions()) as spark:
        spark.read.text("a.jsonl")

What Spark raises inside the block leaves it as an `EngineError` or `InputError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from schemactl.engine.session.attach import attached, own_session, quiet
from schemactl.engine.session.driver import Progress, started_driver
from schemactl.engine.session.kept import can_keep, open_kept
from schemactl.engine.session.remote import open_remote
from schemactl.engine.session.settings import SparkOptions, check_options
from schemactl.engine.session.tasks import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextlib.contextmanager
def open_session(options: SparkOptions, progress: Progress = lambda *_: None) -> Iterator[SparkSession]:
    """Open a Spark session, and end it at the end of the block, however that comes.

    Its process ends with it, but for one that the options want kept.

    Args:
        options: which Spark.
        progress: told how much of a job is done, and what takes long after the block.

    Raises:
        InputError: the options are wrong, or Spark says that the input is.
        EngineError: Spark cannot be started or reached, or it failed while it worked.
    """
    check_options(options)
    if options.remote is not None:
        opened = open_remote(options)
    elif can_keep(options):
        opened = open_kept(options)
    else:
        opened = _open_own(options, progress)
    with quiet(options.debug), opened as spark:
        if options.remote is not None:
            yield spark
            return
        with watched(spark, lambda share: progress("", share)):
            yield spark


@contextlib.contextmanager
def begun(options: SparkOptions, progress: Progress = lambda *_: None) -> Iterator[SparkOptions]:
    """Start Java for the session that a command opens later: it comes up while the command reads its files.

    Args:
        options: which Spark.
        progress: told of what takes long after the block.

    Returns:
        The options to open the session with, in the block.
    """
    check_options(options)
    if options.remote is not None or options.keep is not None:
        yield options
        return
    with started_driver(options, progress) as driver:
        yield replace(options, begun=driver)


@contextlib.contextmanager
def _open_own(options: SparkOptions, progress: Progress) -> Iterator[SparkSession]:
    ready = options.begun
    is_ready = ready is not None and ready.options == options and not ready.is_used
    with contextlib.nullcontext(ready) if ready and is_ready else started_driver(options, progress) as driver:
        # The import takes as long as Java needs to come up: they run side by side.
        import pyspark.sql  # noqa: F401

        with attached(driver.await_gateway(), own_session) as spark:
            yield spark
