"""Avro files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.types as is_a

from schemactl.engine.avro_files import columns_of, read_header, same_columns
from schemactl.engine.input import Input
from schemactl.engine.local.avro_rows import find_chunks
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SPARK_HINT
from schemactl.engine.local.input_formats._rows import FileContents, open_files, read_rows
from schemactl.engine.local.row_files import Container
from schemactl.errors import InputError, Location


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of the files, grouped by the fields of their schemas."""
    files = {file.path: file for file in inputs}
    headers = {path: read_header(file) for path, file in files.items()}
    for paths in same_columns(headers):
        header = headers[paths[0]]
        try:
            columns = columns_of(header)
        except (ValueError, RecursionError) as error:
            hint = None if isinstance(error, RecursionError) else SPARK_HINT
            raise InputError(str(error), at=Location(paths[0]), hint=hint) from error
        # Spark's timestamps count microseconds, even if the file counts milliseconds.
        types = [
            pa.timestamp("us", of.tz) if is_a.is_timestamp(of) and of.unit == "ms" else of
            for of in (column.type for column in columns)
        ]
        schema = pa.schema(list(zip((column.name for column in columns), types, strict=True)))
        yield from read_rows(open_files([files[path] for path in paths], partial(_look_at, schema)))


def _look_at(schema: pa.Schema, path: str) -> FileContents:
    chunks = find_chunks(path)
    return FileContents(Container.AVRO, schema, chunks.row_counts, chunks.sizes)
