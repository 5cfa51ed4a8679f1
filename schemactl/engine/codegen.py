"""Lets Spark make one Java method of a whole stage where that is worth it; our sessions have it off (``settings``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_WHOLE_STAGE: Final = "spark.sql.codegen.wholeStage"
_MOST_FIELDS: Final = "spark.sql.codegen.maxFields"


@contextmanager
def whole_stages(spark: SparkSession, most_fields: int | None = None) -> Iterator[None]:
    """Let Spark compile whole stages of what runs in the block.

    It then reads columnar files by columns, and gives rows from step to step without making them.

    Args:
        spark: its settings are what they were after the block.
        most_fields: steps with more fields, nested ones counted, stay apart; None for Spark's own limit.
    """
    wanted = {_WHOLE_STAGE: "true"} if most_fields is None else {_WHOLE_STAGE: "true", _MOST_FIELDS: str(most_fields)}
    before = {name: str(spark.conf.get(name)) for name in wanted}
    _set(spark, wanted)
    try:
        yield
    finally:
        _set(spark, before)


def _set(spark: SparkSession, conf: dict[str, str]) -> None:
    for name, value in conf.items():
        spark.conf.set(name, value)
