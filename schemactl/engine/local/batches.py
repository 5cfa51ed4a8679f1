"""Batches of records as the local engine has them: tasks of documents, and of rows whose columns have types."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from schemactl.arc.fields import TypingTask
from schemactl.arc.source_columns import check_column_type, match_columns, no_columns
from schemactl.engine.input_warnings import warn_of_cuts
from schemactl.engine.local.columns import SourceColumn, column_properties, is_nanoseconds, spark_name
from schemactl.engine.local.row_files import RowFile, RowsTask, count_nanoseconds_in
from schemactl.engine.local.tasks import BatchTask, FileTask, PackedFile
from schemactl.engine.local.workers import Task
from schemactl.engine.protocol import DocumentBatch, RowBatch, RowRecords, TextBatch
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.partitions import Gaps
from schemactl.schema.paths import Path


class TaskSource(Protocol):
    """Something that has tasks."""

    @property
    def size(self) -> int: ...

    def tasks(self) -> Iterator[Task]: ...


LocalRecords: TypeAlias = tuple[TaskSource, ...]
"""Records of the local engine."""


class TextDocuments(DocumentBatch):
    """Documents whose values are all texts, or may be."""

    __slots__ = ()

    @abstractmethod
    def with_null_values(self, null_values: Sequence[str]) -> TextDocuments:
        """Return the same records, some texts read as nulls."""


@dataclass(frozen=True, slots=True)
class LocalDocuments(TextDocuments):
    """JSON documents, or the rows of files of CSV.

    Attributes:
        layout: the layout of CSV; None for JSON.
    """

    sources: tuple[FileTask | PackedFile | BatchTask, ...]
    gaps: Gaps | None = None
    layout: CsvLayout | None = None

    @property
    def has_columns(self) -> bool:
        return self.layout is not None

    def csv_layout(self) -> CsvLayout | None:
        return self.layout

    def records(self) -> LocalRecords:
        return self.sources

    def with_null_values(self, null_values: Sequence[str]) -> LocalDocuments:
        """Return the same records, some texts of CSV read as nulls."""
        if self.layout is None:
            return self
        return self._with_layout(replace(self.layout, null_values=tuple(null_values)))

    def _with_layout(self, layout: CsvLayout) -> LocalDocuments:
        sources = tuple(
            source.with_layout(layout) if isinstance(source, FileTask) else source for source in self.sources
        )
        return replace(self, sources=sources, layout=layout)

    def typed_by(self, task: TypingTask) -> LocalTexts:
        if self.layout is None:
            raise no_columns()
        names = self.layout.names
        columns = match_columns(task.typing.fields, dict(zip(names, map(str, range(len(names))), strict=True)))
        for typing_field in task.typing.fields:
            check_column_type(typing_field, None)
        batch = self._with_layout(replace(self.layout, taken=tuple(map(int, columns))))
        return LocalTexts(batch.sources, task, self.gaps)


@dataclass(frozen=True, slots=True)
class LocalTexts(TextBatch):
    """Texts that a typing gives types, and why a row is bad."""

    sources: tuple[TaskSource, ...]
    task: TypingTask
    gaps: Gaps | None = None

    def texts(self) -> RowRecords:
        return RowRecords(self.sources, tuple(field.name for field in self.task.typing.fields))


@dataclass(frozen=True, slots=True)
class LocalRows(RowBatch):
    """Rows of files that declare the types of their columns.

    Attributes:
        columns: the columns of all files together, in order.
    """

    files: tuple[RowFile, ...]
    columns: tuple[SourceColumn, ...]
    nulls: Mapping[Path, bool] = field(default_factory=dict)

    def column_types(self) -> dict[Path, dict[str, Any]]:
        return column_properties(self.columns)

    def count_by_block(self) -> dict[tuple[str, int], int]:
        return {(file.shown, block): count for file in self.files for block, count in file.row_counts.items()}

    def rows(self, keys: Set[str | None] | None = None) -> RowRecords:
        columns = tuple(column for column in self.columns if keys is None or column.name in keys)
        return RowRecords(self._tasks(columns), tuple(column.name for column in columns))

    def _tasks(self, columns: tuple[SourceColumn, ...], *, has_faults: bool = False) -> tuple[RowsTask, ...]:
        return tuple(
            RowsTask(file, blocks, columns, has_faults) for file in self.files for blocks in file.block_groups()
        )

    def typed_by(self, task: TypingTask) -> LocalTexts:
        """Return the columns of a typing, converted to strings."""
        by_name: Mapping[str, SourceColumn] = {column.name: column for column in self.columns}
        names = match_columns(task.typing.fields, {name: name for name in by_name})
        columns = tuple(by_name[name] for name in names)
        for typing_field, column in zip(task.typing.fields, columns, strict=True):
            check_column_type(typing_field, spark_name(column.type))
        return LocalTexts(self._tasks(columns, has_faults=True), task)

    def warn_of_nanoseconds(self) -> None:
        columns = {column.name: column for column in self.columns if is_nanoseconds(column.type)}
        counts = self._count_nanoseconds(columns)
        warn_of_cuts(counts, "columns without `precision: 9` cut timestamps with nanoseconds to microseconds")

    def warn_of_cuts(self) -> None:
        """Warn of timestamps inside of structs, lists and maps, which are cut to microseconds."""
        warn_of_cuts(
            self._count_nanoseconds({column.name: column for column in self.columns if column.has_nested_nanoseconds})
        )

    def _count_nanoseconds(self, columns: Mapping[str, SourceColumn]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for file in self.files if columns else ():
            counts.update(count_nanoseconds_in(file, tuple(columns)))
        return counts
