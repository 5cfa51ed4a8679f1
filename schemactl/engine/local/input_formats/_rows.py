"""Files whose columns have types as batches: those with the same columns together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import SourceColumn, merge_columns
from schemactl.engine.local.row_files import RowFile
from schemactl.engine.stated_nulls import merge_nulls
from schemactl.schema.paths import Path


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of rows, its columns, and what it states of nulls."""

    file: RowFile
    columns: tuple[SourceColumn, ...]
    nulls: Mapping[Path, bool] = field(default_factory=dict)


def read_rows(files: Sequence[OpenedFile]) -> Iterator[LocalRows]:
    """Yield the rows of all files together; a column that only some have is one of all.

    If files do not agree about a type, those with the same columns come together.
    """
    columns: tuple[SourceColumn, ...] | None = ()
    for opened in files:
        columns = None if columns is None else merge_columns(columns, opened.columns)
    groups: dict[tuple[SourceColumn, ...], list[OpenedFile]] = {}
    for opened in files:
        groups.setdefault(opened.columns if columns is None else columns, []).append(opened)
    for group_columns, group in groups.items():
        nulls = merge_nulls([opened.nulls for opened in group])
        batch = LocalRows(tuple(opened.file for opened in group), group_columns, nulls)
        batch.warn_of_cuts()
        yield batch
