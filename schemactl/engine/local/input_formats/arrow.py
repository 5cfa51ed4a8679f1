"""Arrow's own files (IPC, Feather) and streams, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SourceColumn, source_columns
from schemactl.engine.local.input_formats._rows import read_rows
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parquet_faults import durations_in, reason_of
from schemactl.engine.parts import whole_file
from schemactl.errors import InputError, Location
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    durations: dict[str, list[str]] = {}
    files = [_open(file, durations) for file in inputs]
    warn_of_durations(durations)
    yield from read_rows(files)


def _open(file: Input, durations: dict[str, list[str]]) -> tuple[RowFile, tuple[SourceColumn, ...]]:
    whole = whole_file(file, Form.ROWS)
    try:
        container, schema, count = _look_at(whole.path)
    except (pa.ArrowException, OSError) as error:
        message = f"this is not a valid Arrow file: {reason_of(error)}"
        raise InputError(message, at=Location(file.path)) from error
    for column in durations_in(schema):
        durations.setdefault(column, []).append(file.path)
    size = Path(whole.path).stat().st_size
    return RowFile(whole.file, whole.path, file.path, container, {0: count}, {0: size}), source_columns(schema)


def _look_at(path: str) -> tuple[Container, pa.Schema, int]:
    """Return whether it is a file or a stream, its columns, and how many rows it has."""
    with pa.memory_map(path) as source:
        if source.read(6) == b"ARROW1":
            source.seek(0)
            with pa.ipc.open_file(source) as reader:
                counts = (reader.get_batch(number).num_rows for number in range(reader.num_record_batches))
                return Container.ARROW_FILE, reader.schema, sum(counts)
        source.seek(0)
        with pa.ipc.open_stream(source) as reader:
            return Container.ARROW_STREAM, reader.schema, sum(batch.num_rows for batch in reader)
