"""Frames whose columns state their types, read so that PySpark knows all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input_formats import FILE, Numbering, Typed
from schemactl.engine.input_warnings import warn_of_nanoseconds

_NANOSECONDS = re.compile(r"\b(timestamp_[ln]tz)\(\d+\)")


def allow_all_types(spark: SparkSession) -> None:
    """Let Spark read times of day and timestamps of nanoseconds, which pandas writes."""
    for name in ("spark.sql.timeType.enabled", "spark.sql.timestampNanosTypes.enabled"):
        spark.conf.set(name, "true")


def typed_batch(frame: DataFrame, file: Column, numbering: Numbering) -> Typed:
    """Return the columns of a frame, and ``file`` beside them."""
    return Typed(frame.select(*_known_columns(frame), file.alias(FILE)), numbering)


def _known_columns(frame: DataFrame) -> list[Column]:
    """Return the columns; those that hold timestamps of nanoseconds, which PySpark cannot name, with microseconds."""
    columns: list[Column] = []
    losses: dict[str, Column] = {}
    for name, data_type in described_columns(frame):
        column = F.col("`" + name.replace("`", "``") + "`")
        known = _NANOSECONDS.sub(r"\1", data_type)
        if known != data_type:
            cut = column.cast(known)
            # Maps cannot be compared.
            if "map<" not in data_type:
                losses[name] = F.count_if(cut.cast(data_type) != column)
            column = cut.alias(name)
        columns.append(column)
    _warn_of_losses(frame, losses)
    return columns


def _warn_of_losses(frame: DataFrame, losses: Mapping[str, Column]) -> None:
    """Count the values that lose nanoseconds, and warn of them."""
    counts = frame.agg(*losses.values()).first() if losses else None
    if counts is not None:
        warn_of_nanoseconds({name: count for name, count in zip(losses, counts, strict=True) if count})


def described_columns(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the names of columns with Spark's names of their types, also of those that PySpark has no class for."""
    rows = frame.sparkSession.sql("DESCRIBE QUERY SELECT * FROM {frame}", frame=frame).collect()
    return [(row.col_name, row.data_type) for row in rows]
