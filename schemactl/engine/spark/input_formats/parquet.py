"""Parquet files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.declared_nulls import declared_nulls, merge_nulls
from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.parquet_faults import check_parquet_types, durations_in, unreadable_rows
from schemactl.engine.parquet_footers import ParquetFooter, footer_of
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch, described_columns, read_agreeing
from schemactl.engine.spark.sql import quoted
from schemactl.engine.spark.types import SECOND_DIGITS
from schemactl.schema.paths import Path


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together; a column of some files becomes a column of all rows.

    If files disagree about a type, they are grouped by their columns.
    """
    allow_all_types(spark)
    groups: dict[ParquetFooter, dict[str, Mapping[Path, bool]]] = {}
    durations: dict[str, list[str]] = {}
    for file in inputs:
        schema = _schema_of(file)
        groups.setdefault(footer_of(schema), {})[file.address] = declared_nulls(schema)
        for column in durations_in(schema):
            durations.setdefault(column, []).append(file.path)
    warn_of_durations(durations)
    for footer, files in groups.items():
        for frame, addresses in read_agreeing(list(files), spark.read.option("mergeSchema", True).parquet):
            yield _batch(frame, [files[address] for address in addresses], footer)


def _schema_of(file: Input) -> pyarrow.Schema:
    """Return the columns in the footer of a file; empty for remote files."""
    if not file.is_local:
        return pyarrow.schema([])
    try:
        with pyarrow.parquet.ParquetFile(file.path) as opened:
            check_parquet_types(opened.schema, file.path)
            return opened.schema_arrow
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, NotImplementedError) or "encrypted" in str(error):
            return pyarrow.schema([])  # Spark reads it, or reports why not
        raise unreadable_rows(file.path, error) from error


def _batch(frame: DataFrame, nulls: Sequence[Mapping[Path, bool]], footer: ParquetFooter) -> ColumnarRows:
    """Return the rows of files with one footer; ``nulls`` has the statement of each file (``declared_nulls``)."""
    if footer != ParquetFooter():
        digits = {name: {SECOND_DIGITS: count} for name, count in footer.second_digits}
        # Not `frame.columns`: PySpark cannot name the types of all of them.
        names = [name for name, _ in described_columns(frame) if name not in footer.nulls]
        frame = frame.select(*(F.col(quoted(name)).alias(name, metadata=digits.get(name, {})) for name in names))
    return columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK, merge_nulls(nulls))
