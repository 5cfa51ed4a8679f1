"""Reports how many of the tasks of Spark's running jobs are done, while the session works."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 0.5
_JOIN_SECONDS = 2


@contextlib.contextmanager
def watched(spark: SparkSession, report: Callable[[float], None]) -> Iterator[None]:
    """Report the share of tasks done, time and again, of the jobs that this session runs in the block.

    Args:
        spark: a session that is no Spark Connect session: those know of no tasks.
        report: is called from another thread, with 0 to 1.
    """
    # In a Spark that other commands work with as well, the jobs of this one have a group.
    group = spark.sparkContext.getLocalProperty("spark.jobGroup.id")
    is_over = threading.Event()

    def look() -> None:
        from py4j.protocol import Py4JError

        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            try:
                share = share_done(spark, group)
            except (Py4JError, OSError):
                return  # Java is gone; who waits for an answer of it says so
            if share is not None and not is_over.is_set():
                report(share)

    watcher = threading.Thread(target=look, daemon=True, name="schemactl-tasks")
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join(_JOIN_SECONDS)


def share_done(spark: SparkSession, group: str | None) -> float | None:
    """Return how much of the tasks of running jobs is done, None where no job runs."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    running = [job for job in jobs if job is not None and job.status == "RUNNING"]
    stages = [tracker.getStageInfo(stage) for job in running for stage in job.stageIds]
    # A stage that another job has done already is listed, and never begins.
    known = [stage for stage in stages if stage is not None and stage.numActiveTasks + stage.numCompletedTasks]
    total = sum(stage.numTasks for stage in known)
    return sum(stage.numCompletedTasks for stage in known) / total if total else None
