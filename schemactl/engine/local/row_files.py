"""Files whose columns have types, opened in workers: Parquet, ORC and Arrow's own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from schemactl.engine.local.columns import SourceColumn, count_nanoseconds, read_as
from schemactl.engine.local.workers import Task
from schemactl.engine.parquet_faults import find_parquet_fault, reason_of
from schemactl.errors import InputError, Location
from schemactl.grouping import group_by_size
from schemactl.kernel.files import UnreadableFileError
from schemactl.kernel.opening import random_access

if TYPE_CHECKING:
    import pyarrow.parquet

_ROWS_AT_ONCE: Final = 1 << 13
_BYTES_OF_TASK: Final = 1 << 25


class Container(StrEnum):
    """The forms of files whose columns have types."""

    PARQUET = "parquet"
    ORC = "orc"
    ARROW_FILE = "arrow file"
    ARROW_STREAM = "arrow stream"
    AVRO = "avro"


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows.

    Attributes:
        address: ``file://`` and the path, quoted, as Spark writes it.
        path: the path to open.
        shown: the path as shown to people.
        row_counts: rows by block, the unit of a task: row groups of Parquet, chunks of Avro by offset, or else the
            whole file.
        block_sizes: bytes by block.
    """

    address: str
    path: str
    shown: str
    container: Container
    row_counts: Mapping[int, int]
    block_sizes: Mapping[int, int] = field(default_factory=dict)

    def block_groups(self) -> Iterator[tuple[int, ...]]:
        """Yield blocks that are read together, some megabytes in all."""
        yield from group_by_size(self.row_counts, self.block_sizes.__getitem__, _BYTES_OF_TASK)


@dataclass(frozen=True, slots=True)
class RowsTask:
    """Some blocks of a file, as ``kernel.partitions.read_rows`` reads them.

    Attributes:
        has_faults: whether to add a column for faults of rows, always null here.
    """

    file: RowFile
    blocks: tuple[int, ...]
    columns: tuple[SourceColumn, ...]
    has_faults: bool = False

    @property
    def size(self) -> int:
        return sum(self.file.block_sizes[block] for block in self.blocks)

    @property
    def path(self) -> str:
        return self.file.path

    def tasks(self) -> Iterator[Task]:
        yield self

    def batches(self) -> Iterator[pa.RecordBatch]:
        with _wrapped_errors(self.file):
            for block in self.blocks:
                for batch in _read_block(self.file, block, [column.name for column in self.columns]):
                    yield self._kernel_batch(batch, block)

    def _kernel_batch(self, batch: pa.RecordBatch, block: int) -> pa.RecordBatch:
        count = len(batch)
        arrays = []
        for column in self.columns:
            number = batch.schema.get_field_index(column.name)
            is_missing = number < 0
            arrays.append(pa.nulls(count, column.type) if is_missing else read_as(batch.column(number), column.type))
        names = [f"c{number}" for number in range(len(self.columns))]
        if self.has_faults:
            arrays.append(pa.nulls(count, pa.string()))
            names.append("fault")
        arrays += [pa.repeat(self.file.address, count), pa.repeat(pa.scalar(block, pa.int64()), count)]
        names += ["file", "block"]
        return pa.RecordBatch.from_arrays(arrays, names)


def count_nanoseconds_in(file: RowFile, columns: Sequence[str]) -> dict[str, int]:
    """Return by column the number of rows that lose nanoseconds, if it is not zero."""
    counts: dict[str, int] = dict.fromkeys(columns, 0)
    with _wrapped_errors(file):
        for block in file.row_counts if counts else ():
            for batch in _read_block(file, block, list(columns)):
                for name in counts:
                    if (number := batch.schema.get_field_index(name)) >= 0:
                        counts[name] += count_nanoseconds(batch.column(number))
    return {name: count for name, count in counts.items() if count}


def _read_block(file: RowFile, block: int, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a block with at least these columns."""
    match file.container:
        case Container.PARQUET:
            with open_parquet(file.path) as opened:
                present_names = [name for name in names if name in opened.schema_arrow.names]
                yield from opened.iter_batches(
                    _ROWS_AT_ONCE, row_groups=[block], columns=present_names, use_threads=False
                )
        case Container.ORC:
            from pyarrow import orc

            orc_file = orc.ORCFile(random_access(file.path))
            present_names = [name for name in names if name in orc_file.schema.names]
            for stripe in range(orc_file.nstripes):
                yield from _sliced(orc_file.read_stripe(stripe, columns=present_names))
        case Container.ARROW_FILE:
            with random_access(file.path, is_mapped=True) as source, pa.ipc.open_file(source) as reader:
                for number in range(reader.num_record_batches):
                    yield from _sliced(reader.get_batch(number))
        case Container.AVRO:
            from schemactl.engine.local.avro_rows import read_chunk

            yield from read_chunk(file.path, block, file.block_sizes[block], file.row_counts[block], names)
        case Container.ARROW_STREAM:
            with random_access(file.path, is_mapped=True) as source, pa.ipc.open_stream(source) as reader:
                for batch in reader:
                    yield from _sliced(batch)


def open_parquet(path: str) -> pyarrow.parquet.ParquetFile:
    """Open a file of Parquet; its timestamps of the old type INT96 count microseconds, the only unit with all years."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(random_access(path), coerce_int96_timestamp_unit="us")


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(batch), _ROWS_AT_ONCE):
        yield batch.slice(start, _ROWS_AT_ONCE)


@contextmanager
def _wrapped_errors(file: RowFile) -> Iterator[Any]:
    """Name the file, and the place in it, if it cannot be read."""
    try:
        yield
    except InputError as error:
        error.at = Location(file.shown)
        raise
    except (pa.ArrowException, OSError) as error:
        fault = find_parquet_fault(file.path) if file.container is Container.PARQUET else None
        reason = fault or reason_of(error)
        raise UnreadableFileError(f"{file.address}: the file cannot be read: {reason}") from error
