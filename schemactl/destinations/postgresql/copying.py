"""Rows of Parquet files as the text that PostgreSQL's COPY reads, a batch at a time.

Arrow writes the text. Texts are quoted, nulls are not: so an empty text and a null stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.destinations._rows import batches
from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable

if TYPE_CHECKING:
    import pyarrow as pa


def csv_of(staged: StagedTable) -> Iterator[memoryview]:
    """Yield the rows of a staged table as CSV without a header, in the order of the table's columns.

    Raises:
        DestinationError: a text holds a NUL character, which PostgreSQL does not take.
    """
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    for batch in batches(staged):
        sink = pa.BufferOutputStream()
        csv.write_csv(_readable(batch, staged), sink, options)
        yield memoryview(sink.getvalue())


def _readable(batch: pa.RecordBatch, staged: StagedTable) -> pa.RecordBatch:
    """Return a batch in types that Arrow writes as PostgreSQL reads them."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
                hint="take `\\u0000` out of the data, or load into a destination that keeps it",
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _hex(column: pa.Array) -> pa.Array:
    """Return bytes as PostgreSQL's hexadecimal texts, without a step for each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = column.cast(pa.large_binary())
    _, places, data = wide.buffers()
    offsets = pa.Array.from_buffers(pa.int64(), len(wide) + 1, [None, places], offset=wide.offset)
    digits = pa.py_buffer(data.to_pybytes().hex().encode() if data is not None else b"")
    doubled = pc.multiply(offsets, 2).buffers()[1]
    texts = pa.LargeStringArray.from_buffers(len(wide), doubled, digits)
    marked = pc.binary_join_element_wise(pa.scalar("\\x", pa.large_string()), texts, pa.scalar("", pa.large_string()))
    return pc.if_else(wide.is_valid(), marked, pa.scalar(None, pa.large_string()))
