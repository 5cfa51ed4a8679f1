"""Parquet files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import source_columns
from schemactl.engine.local.input_formats._rows import OpenedFile, read_rows
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parquet_faults import durations_in, reason_of
from schemactl.engine.parquet_footers import ParquetFooter, footer_of
from schemactl.engine.parts import whole_file
from schemactl.engine.stated_nulls import stated_nulls
from schemactl.errors import InputError, Location
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together whose footers agree (``_rows.read_rows``)."""
    groups: dict[ParquetFooter, list[OpenedFile]] = {}
    durations: dict[str, list[str]] = {}
    for file in inputs:
        schema, opened = _open(file)
        groups.setdefault(footer_of(schema), []).append(opened)
        for column in durations_in(schema):
            durations.setdefault(column, []).append(file.path)
    warn_of_durations(durations)
    for files in groups.values():
        yield from read_rows(files)


def _open(file: Input) -> tuple[pa.Schema, OpenedFile]:
    whole = whole_file(file, Form.ROWS)
    try:
        with pq.ParquetFile(whole.path) as opened:
            leaves = [opened.schema.column(number) for number in range(len(opened.schema))]
            schema, groups = (
                opened.schema_arrow,
                [opened.metadata.row_group(number) for number in range(opened.num_row_groups)],
            )
    except (pa.ArrowException, OSError) as error:
        reason = reason_of(error)
        raise InputError(f"the footer of the file cannot be read: {reason}", at=Location(file.path)) from error
    int96 = next((leaf.path for leaf in leaves if leaf.physical_type == "INT96"), None)
    if int96 is not None:
        # pyarrow reads nanoseconds without a zone: years before 1678 and after 2261 would come out as others.
        message = f"the column `{int96}` has timestamps of the old type INT96"
        raise InputError(message, at=Location(file.path), hint="`--engine spark` reads it")
    counts = {number: group.num_rows for number, group in enumerate(groups)}
    sizes = {number: group.total_byte_size for number, group in enumerate(groups)}
    row_file = RowFile(whole.file, whole.path, file.path, Container.PARQUET, counts, sizes)
    return schema, OpenedFile(row_file, source_columns(schema), stated_nulls(schema))
