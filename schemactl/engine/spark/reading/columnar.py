"""Frames whose columns state their types, read so that PySpark knows all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input_warnings import warn_of_cuts
from schemactl.engine.spark.batches import ColumnarRows, count_values
from schemactl.engine.spark.places import FILE, Numbering
from schemactl.engine.spark.sql import quoted
from schemactl.engine.spark.types import NANOSECONDS
from schemactl.grouping import group_by
from schemactl.schema.paths import Path

_NANOSECONDS = re.compile(r"\b(timestamp_[ln]tz)\(\d+\)")


def allow_all_types(spark: SparkSession) -> None:
    """Let Spark read times of day and timestamps of nanoseconds, which pandas writes."""
    for name in ("spark.sql.timeType.enabled", "spark.sql.timestampNanosTypes.enabled"):
        spark.conf.set(name, "true")


def read_agreeing(
    addresses: Sequence[str], load: Callable[..., DataFrame]
) -> Iterator[tuple[DataFrame, Sequence[str]]]:
    """Yield one frame of all files, or if their types differ, a frame for each set of columns, with its files.

    ``load`` returns the frame of files with some addresses, and raises Spark's error if their types differ.
    """
    try:
        frame = load(*addresses)
    except Exception as error:  # PySpark has no class for this type
        if "CANNOT_MERGE_SCHEMAS" not in str(error) or len(addresses) == 1:
            raise
        by_columns = group_by(addresses, lambda address: tuple(described_columns(load(address))))
        yield from ((load(*group), group) for group in by_columns.values())
    else:
        yield frame, addresses


def columnar_batch(
    frame: DataFrame, file: Column, numbering: Numbering, nulls: Mapping[Path, bool] | None = None
) -> ColumnarRows:
    """Return the columns of a frame, and ``file``; ``nulls`` as in ``ColumnarRows``."""
    return ColumnarRows(frame.select(*_known_columns(frame), file.alias(FILE)), numbering, nulls or {})


def _known_columns(frame: DataFrame) -> list[Column]:
    """Return the columns, converting types for which PySpark lacks a class.

    Timestamps of nanoseconds are counted from 1970 (``spark_types.NANOSECONDS``). Inside structs, lists and maps they
    are cut to microseconds, with a warning.
    """
    columns: list[Column] = []
    losses: dict[str, Column] = {}
    for name, data_type in described_columns(frame):
        column = F.col(quoted(name))
        if (nanoseconds := _NANOSECONDS.fullmatch(data_type)) is not None:
            column = F.unix_nanos(column).cast("bigint").alias(name, metadata={NANOSECONDS: nanoseconds[1]})
        elif (pyspark_type := _NANOSECONDS.sub(r"\1", data_type)) != data_type:
            cut = column.cast(pyspark_type)
            # Maps cannot be compared.
            if "map<" not in data_type:
                losses[name] = F.count_if(cut.cast(data_type) != column)
            column = cut.alias(name)
        columns.append(column)
    warn_of_cuts(count_values(frame, losses))
    return columns


def described_columns(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the names of columns with Spark's names of their types, even if PySpark has no class for a type."""
    rows = frame.sparkSession.sql("DESCRIBE QUERY SELECT * FROM {frame}", frame=frame).collect()
    return [(row.col_name, row.data_type) for row in rows]
