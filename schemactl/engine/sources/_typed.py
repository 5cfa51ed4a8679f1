"""Frames whose columns state their types, read so that PySpark knows all of them."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.sources import FILE, Typed

_NANOSECONDS = re.compile(r"\b(timestamp_[ln]tz)\(\d+\)")


def allow_all_types(spark: SparkSession) -> None:
    """Let Spark read times of day and timestamps of nanoseconds, which pandas writes."""
    for name in ("spark.sql.timeType.enabled", "spark.sql.timestampNanosTypes.enabled"):
        spark.conf.set(name, "true")


def typed(frame: DataFrame, file: Column) -> Typed:
    """Return the columns of a frame, and ``file`` beside them."""
    return Typed(frame.select(*_known_columns(frame), file.alias(FILE)))


def _known_columns(frame: DataFrame) -> list[Column]:
    """Return the columns; those that hold timestamps of nanoseconds, which PySpark cannot name, with microseconds."""
    described = frame.sparkSession.sql("DESCRIBE QUERY SELECT * FROM {frame}", frame=frame).collect()
    columns: list[Column] = []
    for row in described:
        column = F.col("`" + row.col_name.replace("`", "``") + "`")
        known = _NANOSECONDS.sub(r"\1", row.data_type)
        columns.append(column if known == row.data_type else column.cast(known).alias(row.col_name))
    return columns
