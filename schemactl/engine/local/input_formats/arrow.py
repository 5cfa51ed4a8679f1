"""Arrow's own files (IPC, Feather) and streams, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.types as is_a

from schemactl.engine.declared_nulls import declared_nulls
from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import map_leaves
from schemactl.engine.local.input_formats._rows import FileContents, open_files, read_rows
from schemactl.engine.local.row_files import Container
from schemactl.errors import InputError
from schemactl.kernel.opening import random_access


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    yield from read_rows(open_files(inputs, _look_at))


def _look_at(path: str) -> FileContents:
    with random_access(path, is_mapped=True) as source:
        if source.read(6) == b"ARROW1":
            source.seek(0)
            with pa.ipc.open_file(source) as reader:
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
                return _count(Container.ARROW_FILE, reader.schema, batches)
        source.seek(0)
        with pa.ipc.open_stream(source) as reader:
            return _count(Container.ARROW_STREAM, reader.schema, reader)


def _count(container: Container, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> FileContents:
    """Count rows and search for nulls, because Arrow does not enforce the nullability in a schema."""
    for column_field in schema:
        map_leaves(column_field, partial(_check_type, column_field.name))
    nulls, row_count = declared_nulls(schema), 0
    for batch in batches:
        row_count += batch.num_rows
        for field, column in zip(schema, batch.columns, strict=True):
            nulls[field.name,] |= column.null_count > 0
    return FileContents(container, schema, {0: row_count}, nulls=nulls)


def _check_type(column: str, field: pa.Field) -> pa.DataType:
    if is_a.is_interval(field.type) or is_a.is_union(field.type):
        message = f"the column `{column}` has the Arrow type `{field.type}`, which tables do not support"
        raise InputError(message, hint="remove the column, or write it as text")
    return field.type
