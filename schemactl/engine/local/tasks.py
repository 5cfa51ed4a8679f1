"""Tasks of the local engine: recipes for the record batches that a kernel function reads.

They are pickled and sent to worker processes; files are opened there.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from schemactl.engine.local.workers import Task
from schemactl.engine.parts import TaskParts
from schemactl.grouping import group_by_size
from schemactl.kernel.arrays import binary_array, string_array
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import read_pieces

_BATCH_TASK_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class _OpenedParts:
    """Parts of files that the kernel opens by itself (``kernel.files``)."""

    parts: TaskParts

    @property
    def size(self) -> int:
        """The size in bytes, uncompressed (at a guess if they are compressed)."""
        return self.parts.size

    @property
    def path(self) -> str:
        return self.parts.parts[0].path

    def _share(self) -> pa.RecordBatch:
        """Return the parts, pickled, as the kernel takes them from Spark too."""
        pickled = pickle.dumps(self.parts.parts, pickle.HIGHEST_PROTOCOL)
        return pa.RecordBatch.from_arrays([binary_array([pickled])], ["share"])


@dataclass(frozen=True, slots=True)
class FileTask(_OpenedParts):
    """Parts of files that a single worker opens and reads."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield self._share()

    def tasks(self) -> Iterator[Task]:
        yield self

    def with_layout(self, layout: CsvLayout) -> FileTask:
        return FileTask(self.parts.with_layout(layout))


@dataclass(frozen=True, slots=True)
class PackedFile(_OpenedParts):
    """A large compressed file: this process undoes the compression, workers parse the records."""

    def tasks(self) -> Iterator[Task]:
        """Yield the records of the file, some megabytes in each task."""
        yield from batch_tasks(read_pieces([self._share()]), self.path)


@dataclass(frozen=True, slots=True)
class BatchTask:
    """Record batches that are here."""

    record_batches: tuple[pa.RecordBatch, ...]
    path: str = ""

    @property
    def size(self) -> int:
        return sum(batch.nbytes for batch in self.record_batches)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.record_batches

    def tasks(self) -> Iterator[Task]:
        yield self


def batch_tasks(record_batches: Iterable[pa.RecordBatch], path: str) -> Iterator[BatchTask]:
    """Yield record batches of a file as tasks, some megabytes in each."""
    for group in group_by_size(record_batches, lambda batch: batch.nbytes, _BATCH_TASK_BYTES):
        yield BatchTask(group, path)


def document_batch(address: str, block: int, texts: Sequence[bytes]) -> pa.RecordBatch:
    """Return JSON documents of one block of a file, blank for missing ones (``kernel.partitions.records_of``)."""
    columns = [pa.repeat(address, len(texts)), pa.repeat(pa.scalar(block, pa.int64()), len(texts)), binary_array(texts)]
    return pa.RecordBatch.from_arrays(columns, ["file", "block", "text"])


def text_task(text: str) -> BatchTask:
    """Return a text as a task, in a column ``part``."""
    return BatchTask((pa.RecordBatch.from_arrays([string_array([text])], ["part"]),))
