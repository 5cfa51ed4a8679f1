"""Parquet files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import map_leaves
from schemactl.engine.local.input_formats._rows import FileContents, OpenedFile, open_files, read_rows
from schemactl.engine.local.row_files import Container, open_parquet
from schemactl.engine.parquet_footers import ParquetFooter, footer_of
from schemactl.engine.stated_nulls import stated_nulls


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together whose footers agree (``_rows.read_rows``)."""
    groups: dict[ParquetFooter, list[OpenedFile]] = {}
    for opened in open_files(inputs, _look_at):
        groups.setdefault(footer_of(opened.contents.schema), []).append(opened)
    for files in groups.values():
        yield from read_rows(files)


def _look_at(path: str) -> FileContents:
    with open_parquet(path) as opened:
        schema, nulls = _in_utc(opened.schema_arrow, opened.schema), stated_nulls(opened.schema_arrow)
        groups = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
    counts = {number: group.num_rows for number, group in enumerate(groups)}
    sizes = {number: group.total_byte_size for number, group in enumerate(groups)}
    return FileContents(Container.PARQUET, schema, counts, sizes, nulls)


def _in_utc(schema: pa.Schema, parquet_schema: pq.ParquetSchema) -> pa.Schema:
    """Return columns with timestamps of the old type INT96 in UTC, as Spark reads them; Parquet states no zone."""
    physical_types = [parquet_schema.column(number).physical_type for number in range(len(parquet_schema))]
    if "INT96" not in physical_types:
        return schema
    remaining = iter(physical_types)  # both schemas list the innermost columns in one order

    def convert(of: pa.DataType) -> pa.DataType:
        return pa.timestamp("us", "UTC") if next(remaining) == "INT96" else of

    return pa.schema([field.with_type(map_leaves(field.type, convert)) for field in schema])
