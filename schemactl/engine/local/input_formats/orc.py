"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.orc
import pyarrow.types as is_a

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import map_leaves
from schemactl.engine.local.input_formats._rows import FileContents, open_files, read_rows
from schemactl.engine.local.row_files import Container


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    yield from read_rows(open_files(inputs, _look_at))


def _look_at(path: str) -> FileContents:
    opened = pyarrow.orc.ORCFile(path)
    schema = pa.schema([field.with_type(map_leaves(field.type, _in_utc)) for field in opened.schema])
    return FileContents(Container.ORC, schema, {0: opened.nrows})


def _in_utc(of: pa.DataType) -> pa.DataType:
    """Return a type with timestamps of microseconds in UTC, as Spark reads both kinds of ORC's timestamps."""
    return pa.timestamp("us", "UTC") if is_a.is_timestamp(of) else of
