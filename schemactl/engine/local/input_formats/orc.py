"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.orc

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SourceColumn, source_columns
from schemactl.engine.local.input_formats._rows import read_rows
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parts import whole_file
from schemactl.errors import InputError, Location
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    yield from read_rows([_open(file) for file in inputs])


def _open(file: Input) -> tuple[RowFile, tuple[SourceColumn, ...]]:
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
    return RowFile(whole.file, whole.path, file.path, Container.ORC, {0: count}, {0: size}), source_columns(schema)
