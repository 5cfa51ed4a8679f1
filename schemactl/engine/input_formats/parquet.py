"""Parquet files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.input_formats import Numbering, Typed
from schemactl.engine.reading.typed import allow_all_types, described_columns, typed_batch
from schemactl.engine.sql import quoted

ENDINGS = (".parquet",)

_DISAGREE: Final = "CANNOT_MERGE_SCHEMAS"


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Typed]:
    """Yield the rows of all files together; a column that only some have is one of all.

    Where files do not agree about a type, those with the same columns come together.
    """
    allow_all_types(spark)
    groups: dict[frozenset[str], list[str]] = {}
    for each in inputs:
        groups.setdefault(_columns_of_nulls(each), []).append(each.address)
    for nulls, addresses in groups.items():
        try:
            together = _read(spark, addresses, nulls)
        except Exception as error:  # PySpark has no class for this one
            if _DISAGREE not in str(error) or len(addresses) == 1:
                raise
            yield from (_read(spark, group, nulls) for group in _by_columns(spark, addresses))
        else:
            yield together


def _columns_of_nulls(file: Input) -> frozenset[str]:
    """Return the columns that state no type, as Arrow writes those of nulls alone; Spark takes them for integers.

    Like dlt, nothing is made of them. Of files elsewhere this is not known.
    """
    import pyarrow
    import pyarrow.parquet

    if not file.is_local:
        return frozenset()
    try:
        schema = pyarrow.parquet.read_schema(file.path)
    except (pyarrow.ArrowException, OSError):
        return frozenset()  # Spark tells what is wrong with it, or reads it
    return frozenset(field.name for field in schema if pyarrow.types.is_null(field.type))


def _read(spark: SparkSession, addresses: Sequence[str], nulls: frozenset[str]) -> Typed:
    frame = spark.read.option("mergeSchema", True).parquet(*addresses)
    if nulls:
        # Not `frame.columns`: PySpark cannot name the types of all of them.
        frame = frame.select(*(quoted(name) for name, _ in described_columns(frame) if name not in nulls))
    return typed_batch(frame, F.col("_metadata.file_path"), Numbering.ROW)


def _by_columns(spark: SparkSession, addresses: Sequence[str]) -> list[list[str]]:
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for address in addresses:
        columns = tuple(described_columns(spark.read.option("mergeSchema", True).parquet(address)))
        groups.setdefault(columns, []).append(address)
    return list(groups.values())
