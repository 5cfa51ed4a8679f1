"""Rows of Avro files: the offsets of blocks, and the record batches of consecutive blocks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, Final

import fastavro
import pyarrow as pa

from schemactl.engine.avro_files import columns_of, read_header
from schemactl.engine.input import Input
from schemactl.kernel.opening import open_bytes
from schemactl.memory import why_too_large

_CHUNK_BYTES: Final = 1 << 23
"""Blocks of Avro have some ten kilobytes: a task gets chunks of several blocks."""
_BATCH_BYTES: Final = 1 << 22
_SYNC_BYTES: Final = 16
_MOST_VARINT_BYTES: Final = 10


@dataclass(slots=True)
class Chunks:
    """Blocks that follow one another, some megabytes together: rows and bytes by the offset of the first block."""

    row_counts: dict[int, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    def add(self, start: int, end: int, rows: int) -> None:
        last = next(reversed(self.sizes), None)
        if last is None or self.sizes[last] >= _CHUNK_BYTES:
            last = start
        self.sizes[last] = end - last
        self.row_counts[last] = self.row_counts.get(last, 0) + rows


def find_chunks(path: str) -> Chunks:
    """Return the chunks of a file; blocks are not decompressed."""
    chunks, header = Chunks(), read_header(Input(path, "avro"))
    with open_bytes(path, "") as stream:
        start = stream.seek(header.size)
        while (rows := _read_long(stream, start)) is not None:
            size = _read_long(stream, start)
            if size is None or size < 0 or rows < 0:
                raise OSError(f"the block at byte {start:,} is broken")
            if reason := why_too_large(size):
                raise OSError(f"the block at byte {start:,} has {reason}")
            stream.seek(size, io.SEEK_CUR)
            if stream.read(_SYNC_BYTES) != header.sync:
                raise OSError(f"the block at byte {start:,} is broken, or the file ends within it")
            end = stream.tell()
            chunks.add(start, end, rows)
            start = end
    return chunks


def read_chunk(path: str, start: int, size: int, rows: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a chunk with some of its columns."""
    header = read_header(Input(path, "avro"))
    with open_bytes(path, "") as stream:
        stream.seek(start)
        blocks = stream.read(size)
    columns = [column for column in columns_of(header) if column.name in names]
    rows_at_once = max(1, min(1 << 13, rows * _BATCH_BYTES // size))
    try:
        records: Iterator[Any] = iter(fastavro.reader(io.BytesIO(header.plain_bytes() + blocks)))
        while batch := list(islice(records, rows_at_once)):
            rows_as_struct = pa.array([{}] * len(batch), pa.struct([]))
            table = pa.RecordBatch.from_struct_array(rows_as_struct)  # with a number of rows, whatever the columns
            for column in columns:
                values = (record[column.name] for record in batch)
                converted = values if column.convert is None else map(column.convert, values)
                table = table.append_column(column.name, pa.array(converted, column.type))
            yield table
    except MemoryError:
        raise
    except Exception as error:  # each codec has its own errors, and broken data may be any value
        raise OSError(f"the blocks from byte {start:,} are broken: {error}") from error


def _read_long(stream: IO[bytes], block_start: int) -> int | None:
    """Return a number of variable length; None at the end of the file."""
    number = 0
    for index in range(_MOST_VARINT_BYTES):
        byte = stream.read(1)
        if not byte:
            if index == 0:
                return None
            break
        number |= (byte[0] & 0x7F) << (7 * index)
        if byte[0] < 0x80:
            return (number >> 1) ^ -(number & 1)
    raise OSError(f"the block at byte {block_start:,} is broken")
