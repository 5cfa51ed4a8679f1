"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.types as is_a

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import source_columns
from schemactl.engine.local.input_formats._rows import OpenedFile, read_rows
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parts import whole_file
from schemactl.errors import InputError, Location
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    yield from read_rows([_open(file) for file in inputs])


def _open(file: Input) -> OpenedFile:
    whole = whole_file(file, Form.ROWS)
    try:
        opened = pyarrow.orc.ORCFile(whole.path)
        schema, count = opened.schema, opened.nrows
    except (pa.ArrowException, OSError) as error:
        hint = "was it written to the end?"
        raise InputError(
            "the file cannot be read: it has no footer of ORC", at=Location(file.path), hint=hint
        ) from error
    size = Path(whole.path).stat().st_size
    row_file = RowFile(whole.file, whole.path, file.path, Container.ORC, {0: count}, {0: size})
    return OpenedFile(row_file, source_columns(_in_utc(schema)))


def _in_utc(schema: pa.Schema) -> pa.Schema:
    """Return columns with timestamps of microseconds in UTC, as Spark reads both kinds of ORC's timestamps."""
    return pa.schema([field.with_type(_type_in_utc(field.type)) for field in schema])


def _type_in_utc(of: pa.DataType) -> pa.DataType:
    if is_a.is_timestamp(of):
        return pa.timestamp("us", "UTC")
    if is_a.is_struct(of):
        return pa.struct([field.with_type(_type_in_utc(field.type)) for field in of])
    if is_a.is_list(of):
        return pa.list_(_type_in_utc(of.value_type))
    return pa.map_(_type_in_utc(of.key_type), _type_in_utc(of.item_type)) if is_a.is_map(of) else of
