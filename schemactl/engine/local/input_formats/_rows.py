"""Groups files whose columns have types into batches by columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from schemactl.engine.declared_nulls import merge_nulls
from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_durations
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SourceColumn, merge_columns, source_columns
from schemactl.engine.local.row_files import Container, RowFile
from schemactl.engine.parquet_faults import durations_in, unreadable_rows
from schemactl.engine.parts import whole_file
from schemactl.errors import InputError, Location
from schemactl.grouping import group_by
from schemactl.kernel.files import Form
from schemactl.schema.paths import Path


@dataclass(frozen=True, slots=True)
class FileContents:
    """The declared content of a file.

    Attributes:
        schema: the schema of its columns, as pyarrow reads them.
        row_counts: rows by block, as in ``RowFile``.
        block_sizes: bytes by block; None if the file is one block.
        nulls: whether columns may be null, if the file declares it, by path.
    """

    container: Container
    schema: pa.Schema
    row_counts: Mapping[int, int]
    block_sizes: Mapping[int, int] | None = None
    nulls: Mapping[Path, bool] | None = None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of rows and its contents, with the columns as the kernel takes them."""

    file: RowFile
    contents: FileContents
    columns: tuple[SourceColumn, ...]


def open_files(inputs: Sequence[Input], look_at: Callable[[str], FileContents]) -> list[OpenedFile]:
    """Return files of one format and their columns, with a warning about durations.

    ``look_at`` returns the declared content of the file at a path, without reading values; it may raise pyarrow's
    errors, or an error about a column.
    """
    files, durations = [], dict[str, list[str]]()
    for file in inputs:
        file_part = whole_file(file, Form.ROWS)
        try:
            contents = look_at(file_part.path)
            sizes = contents.block_sizes or {0: file.stored_size() or 0}
        except InputError as error:
            error.at = Location(file.path)
            raise
        except (pa.ArrowException, OSError) as error:
            raise unreadable_rows(file.path, error) from error
        for column in durations_in(contents.schema):
            durations.setdefault(column, []).append(file.path)
        row_file = RowFile(file_part.file, file_part.path, file.path, contents.container, contents.row_counts, sizes)
        files.append(OpenedFile(row_file, contents, source_columns(contents.schema)))
    warn_of_durations(durations)
    return files


def read_rows(files: Sequence[OpenedFile]) -> Iterator[LocalRows]:
    """Yield the rows of all files together; a column of some files becomes a column of all rows.

    If files disagree about a type, they are grouped by their columns.
    """
    columns: tuple[SourceColumn, ...] | None = ()
    for opened in files:
        columns = None if columns is None else merge_columns(columns, opened.columns)
    for group_columns, group in group_by(files, lambda opened: opened.columns if columns is None else columns).items():
        nulls = merge_nulls([opened.contents.nulls or {} for opened in group])
        batch = LocalRows(tuple(opened.file for opened in group), group_columns, nulls)
        batch.warn_of_cuts()
        yield batch
