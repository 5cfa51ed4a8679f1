from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemactl.engine.spark.session.opening import report_tasks, share_done

pytestmark = pytest.mark.spark


def test_share_of_the_tasks_that_are_done_is_reported_while_a_job_runs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schemactl.engine.spark.session.opening.SECONDS_BETWEEN_REPORTS", 0.05)
    shares: list[float] = []
    threads: set[int] = set()

    def report(share: float) -> None:
        shares.append(share)
        threads.add(threading.get_ident())

    def slow(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            time.sleep(0.1)
            yield batch

    with report_tasks(spark, report):
        frame = spark.range(0, 24, numPartitions=24).mapInArrow(slow, "id bigint")
        assert frame.count() == 24

    assert any(0 < share < 1 for share in shares)
    assert all(0 <= share <= 1 for share in shares)
    assert threading.get_ident() not in threads
    count = len(shares)
    spark.range(10).count()
    assert len(shares) == count, "nothing is reported after the block"


def test_nothing_is_said_while_no_job_runs(spark: SparkSession) -> None:
    assert share_done(spark) is None
