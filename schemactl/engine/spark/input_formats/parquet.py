"""Parquet files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.parquet_faults import durations_in, unreadable_rows
from schemactl.engine.parquet_footers import ParquetFooter, footer_of
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch, described_columns
from schemactl.engine.spark.sql import quoted
from schemactl.engine.spark.types import SECOND_DIGITS
from schemactl.engine.stated_nulls import merge_nulls, stated_nulls
from schemactl.schema.paths import Path

if TYPE_CHECKING:
    import pyarrow

_DISAGREE: Final = "CANNOT_MERGE_SCHEMAS"


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together; a column that only some have is one of all.

    Where files do not agree about a type, those with the same columns come together.
    """
    allow_all_types(spark)
    groups: dict[ParquetFooter, dict[str, Mapping[Path, bool]]] = {}
    durations: dict[str, list[str]] = {}
    for each in inputs:
        schema = _schema_of(each)
        groups.setdefault(footer_of(schema), {})[each.address] = stated_nulls(schema)
        for column in durations_in(schema):
            durations.setdefault(column, []).append(each.path)
    warn_of_durations(durations)
    for footer, files in groups.items():
        try:
            together = _read(spark, files, footer)
        except Exception as error:  # PySpark has no class for this one
            if _DISAGREE not in str(error) or len(files) == 1:
                raise
            by_columns: dict[tuple[tuple[str, str], ...], dict[str, Mapping[Path, bool]]] = {}
            for address, nulls in files.items():
                columns = tuple(described_columns(spark.read.option("mergeSchema", True).parquet(address)))
                by_columns.setdefault(columns, {})[address] = nulls
            yield from (_read(spark, group, footer) for group in by_columns.values())
        else:
            yield together


def _schema_of(file: Input) -> pyarrow.Schema:
    """Return the columns that the footer of a file states; none of files elsewhere."""
    import pyarrow
    import pyarrow.parquet

    if not file.is_local:
        return pyarrow.schema([])
    try:
        return pyarrow.parquet.read_schema(file.path)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, NotImplementedError) or "encrypted" in str(error):
            return pyarrow.schema([])  # Spark reads it, or reports why not
        raise unreadable_rows(file.path, error) from error


def _read(spark: SparkSession, files: Mapping[str, Mapping[Path, bool]], footer: ParquetFooter) -> ColumnarRows:
    """Return the rows of files by address, with what each states of nulls."""
    frame = spark.read.option("mergeSchema", True).parquet(*files)
    if footer != ParquetFooter():
        digits = {name: {SECOND_DIGITS: count} for name, count in footer.second_digits}
        # Not `frame.columns`: PySpark cannot name the types of all of them.
        names = [name for name, _ in described_columns(frame) if name not in footer.nulls]
        frame = frame.select(*(F.col(quoted(name)).alias(name, metadata=digits.get(name, {})) for name in names))
    return columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK, merge_nulls(list(files.values())))
