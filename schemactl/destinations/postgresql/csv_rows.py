"""Rows of staged files as CSV, as PostgreSQL's COPY reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from schemactl.destinations._rows import batches
from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable


def csv_of(staged: StagedTable) -> Iterator[memoryview]:
    """Yield a staged table's rows as CSV, in the order of its columns; ``DestinationError`` for a NUL."""
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    for batch in batches(staged):
        sink = pa.BufferOutputStream()
        csv.write_csv(_readable(batch, staged), sink, options)
        yield memoryview(sink.getvalue())


def _readable(batch: pa.RecordBatch, staged: StagedTable) -> pa.RecordBatch:
    """Return a batch in types that Arrow writes as PostgreSQL reads them."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = column.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            columns.append(_hex(column))
            continue
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if is_text and pc.any(pc.match_substring(column, "\0")).as_py():
            raise DestinationError(
                f"column `{name}` of table `{staged.table.name}`: PostgreSQL refuses NUL characters",
                hint="remove `\\u0000` from the data, or load into a destination that stores it",
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _hex(column: pa.Array) -> pa.Array:
    """Return bytes as PostgreSQL's hexadecimal texts, without a step for each row."""
    wide = column.cast(pa.large_binary())
    _, places, data = wide.buffers()
    offsets = pa.Array.from_buffers(pa.int64(), len(wide) + 1, [None, places], offset=wide.offset)
    digits = pa.py_buffer(data.to_pybytes().hex().encode() if data is not None else b"")
    doubled = pc.multiply(offsets, 2).buffers()[1]
    texts = pa.LargeStringArray.from_buffers(len(wide), doubled, digits)
    marked = pc.binary_join_element_wise(pa.scalar("\\x", pa.large_string()), texts, pa.scalar("", pa.large_string()))
    return pc.if_else(wide.is_valid(), marked, pa.scalar(None, pa.large_string()))
