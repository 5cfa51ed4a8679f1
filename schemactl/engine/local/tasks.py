"""Tasks of the local engine: recipes for the record batches that a kernel function reads.

They are pickled and sent to worker processes; files are opened there.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from schemactl.engine.csv_faults import CsvRow, fault_text, walk_rows
from schemactl.engine.input import UTF8
from schemactl.engine.local.workers import Task
from schemactl.engine.parts import TaskParts
from schemactl.kernel.arrays import binary_array, string_array
from schemactl.kernel.cells import CsvLayout, TextRows
from schemactl.kernel.files import FilePart, read_pieces, wrapped_errors

_PACKED_TASK_BYTES = 1 << 24
_ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class FileTask:
    """Parts of files that the kernel opens by itself (``kernel.files``)."""

    parts: TaskParts

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.parts.size

    @property
    def path(self) -> str:
        """The path of the first file."""
        return self.parts.parts[0].path

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the parts, pickled, as the kernel takes them from Spark too."""
        yield _share(self.parts.parts)

    def tasks(self) -> Iterator[Task]:
        """Yield this task."""
        yield self

    def with_layout(self, layout: CsvLayout) -> FileTask:
        """Return the same files with another layout."""
        return FileTask(self.parts.with_layout(layout))


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A large compressed file: this process undoes the compression, workers parse the records."""

    parts: TaskParts

    @property
    def size(self) -> int:
        """The size in bytes, uncompressed, at a guess."""
        return self.parts.size

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.parts.parts[0].path

    def tasks(self) -> Iterator[Task]:
        """Yield the records of the file, some megabytes in each task."""
        batches: list[pa.RecordBatch] = []
        for batch in read_pieces([_share(self.parts.parts)]):
            batches.append(batch)
            if sum(held.nbytes for held in batches) >= _PACKED_TASK_BYTES:
                yield BatchTask(tuple(batches), self.path)
                batches = []
        if batches:
            yield BatchTask(tuple(batches), self.path)


@dataclass(frozen=True, slots=True)
class BatchTask:
    """Record batches that are here."""

    record_batches: tuple[pa.RecordBatch, ...]
    path: str = ""

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(batch.nbytes for batch in self.record_batches)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches."""
        yield from self.record_batches

    def tasks(self) -> Iterator[Task]:
        """Yield this task."""
        yield self


@dataclass(frozen=True, slots=True)
class MalformedCsvTask:
    """A file of CSV whose quotes or line ends are not right throughout, which is read row by row.

    Attributes:
        file: a whole file with its layout.
        size: in bytes.
        is_typed: whether the cells are wanted as columns (``kernel.partitions.read_rows``), not as documents.
    """

    file: FilePart
    size: int
    is_typed: bool = False

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.file.path

    def with_layout(self, layout: CsvLayout) -> MalformedCsvTask:
        """Return the same file with another layout."""
        return replace(self, file=replace(self.file, layout=layout))

    def tasks(self) -> Iterator[Task]:
        """Yield this task."""
        yield self

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        layout = self.file.layout
        assert layout is not None
        with wrapped_errors(self.file):
            for rows in self._rows(layout):
                count = len(rows.faults)
                files, blocks = pa.repeat(self.file.file, count), pa.repeat(pa.scalar(0, pa.int64()), count)
                if self.is_typed:
                    columns = [*rows.columns, rows.faults, files, blocks]
                    names = [*(f"c{number}" for number in range(len(rows.columns))), "fault", "file", "block"]
                    yield pa.RecordBatch.from_arrays(columns, names)
                else:
                    texts = binary_array(rows.documents(layout.names))
                    yield pa.RecordBatch.from_arrays([files, blocks, texts], ["file", "block", "text"])

    def _rows(self, layout: CsvLayout) -> Iterator[TextRows]:
        """Yield some rows at once, those of the header left out."""
        encoding = "utf-8-sig" if self.file.encoding == UTF8 else self.file.encoding
        line_end = layout.line_end.decode() or "\n"
        with (
            self.file.open() as binary,
            io.TextIOWrapper(binary, encoding, errors="replace", newline=line_end) as lines,
        ):
            for _ in range(layout.skipped_lines):
                next(lines, None)
            first_line = 1 + layout.skipped_lines
            rows = walk_rows(lines, layout.separator, first_line, keeps_values=True, line_end=line_end)
            for _ in range(layout.header_rows - layout.skipped_lines):
                next(rows, None)
            while some_rows := list(islice(rows, _ROWS_AT_ONCE)):
                yield _text_rows(some_rows, layout)


def _text_rows(rows: Sequence[CsvRow], layout: CsvLayout) -> TextRows:
    """Return rows as columns; a row is bad if it has more cells than columns, or a quote that does not close."""
    width = len(layout.names)
    cells = [[*map(_not_empty, row.values[: width + 1]), *[None] * (width + 1 - len(row.values))] for row in rows]
    *columns, surplus = (pa.array(column, pa.string()) for column in zip(*cells, strict=True))
    faults = [
        next((fault_text(cell) for cell in row.broken if not cell.is_harmless and cell.index <= width), None)
        or (None if extra is None else f"more cells than columns: {', '.join(filter(None, values))}")
        for row, values, extra in zip(rows, cells, surplus.to_pylist(), strict=True)
    ]
    return layout.taken_columns(columns, pa.array(faults, pa.string()))


def _not_empty(cell: str) -> str | None:
    return cell or None


def text_task(texts: Sequence[str], column: str) -> BatchTask:
    """Return texts as a task, in one column."""
    return BatchTask((pa.RecordBatch.from_arrays([string_array(texts)], [column]),))


def _share(parts: tuple[FilePart, ...]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([binary_array([pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)])], ["share"])
