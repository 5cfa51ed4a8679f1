"""Files whose columns have types as batches: those with the same columns together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SourceColumn, merge_columns
from schemactl.engine.local.row_files import RowFile


def read_rows(files: Sequence[tuple[RowFile, tuple[SourceColumn, ...]]]) -> Iterator[LocalRows]:
    """Yield the rows of all files together; a column that only some have is one of all.

    If files do not agree about a type, those with the same columns come together.
    """
    columns: tuple[SourceColumn, ...] | None = ()
    for _, file_columns in files:
        columns = None if columns is None else merge_columns(columns, file_columns)
    groups: dict[tuple[SourceColumn, ...], list[RowFile]] = {}
    for file, file_columns in files:
        groups.setdefault(file_columns if columns is None else columns, []).append(file)
    for group_columns, group in groups.items():
        batch = LocalRows(tuple(group), group_columns)
        batch.warn_of_cuts()
        yield batch
