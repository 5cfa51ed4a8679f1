"""Arrow's own files (IPC, Feather) and streams, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path as FilePath

import pyarrow as pa

from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import source_columns
from schemactl.engine.local.input_formats._rows import OpenedFile, read_rows
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parquet_faults import durations_in, reason_of
from schemactl.engine.parts import whole_file
from schemactl.engine.stated_nulls import stated_nulls
from schemactl.errors import InputError, Location
from schemactl.kernel.files import Form
from schemactl.schema.paths import Path


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    durations: dict[str, list[str]] = {}
    files = [_open(file, durations) for file in inputs]
    warn_of_durations(durations)
    yield from read_rows(files)


def _open(file: Input, durations: dict[str, list[str]]) -> OpenedFile:
    whole = whole_file(file, Form.ROWS)
    try:
        container, schema, count, nulls = _look_at(whole.path)
    except (pa.ArrowException, OSError) as error:
        message = f"this is not a valid Arrow file: {reason_of(error)}"
        raise InputError(message, at=Location(file.path)) from error
    for column in durations_in(schema):
        durations.setdefault(column, []).append(file.path)
    size = FilePath(whole.path).stat().st_size
    row_file = RowFile(whole.file, whole.path, file.path, container, {0: count}, {0: size})
    return OpenedFile(row_file, source_columns(schema), nulls)


def _look_at(path: str) -> tuple[Container, pa.Schema, int, dict[Path, bool]]:
    """Return whether it is a file or a stream, its columns, how many rows it has, and which columns may be null."""
    with pa.memory_map(path) as source:
        if source.read(6) == b"ARROW1":
            source.seek(0)
            with pa.ipc.open_file(source) as reader:
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
                return Container.ARROW_FILE, reader.schema, *_count(reader.schema, batches)
        source.seek(0)
        with pa.ipc.open_stream(source) as reader:
            return Container.ARROW_STREAM, reader.schema, *_count(reader.schema, reader)


def _count(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> tuple[int, dict[Path, bool]]:
    """Return the number of rows, and which columns may be null: Arrow does not enforce what a schema states."""
    nulls, rows = stated_nulls(schema), 0
    for batch in batches:
        rows += batch.num_rows
        for field, column in zip(schema, batch.columns, strict=True):
            nulls[field.name,] |= column.null_count > 0
    return rows, nulls
