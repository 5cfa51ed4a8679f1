"""Batches of XML as the local engine has them: records are documents, or rows of the texts that are their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
import pyarrow as pa

from schemactl.arc.fields import TypingTask
from schemactl.arc.source_columns import check_column_type, match_columns
from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRecords, LocalTexts, TextDocuments
from schemactl.engine.local.columns import spark_name
from schemactl.engine.local.tasks import batch_tasks, document_batch
from schemactl.engine.local.workers import Task
from schemactl.engine.local.xml_records import XmlColumn, read_documents
from schemactl.errors import InputError
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import FilePart, UnreadableFileError, wrapped_errors
from schemactl.kernel.partitions import Gaps

_MOST_OF_TASK: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class XmlTask:
    """A file of XML.

    Attributes:
        columns: the columns of the records of all files that are read together.
        tag: the name of the elements that are records.
        null_values: texts that mean null in columns of texts.
        row_columns: the columns that have rows of texts; None for documents.
    """

    part: FilePart
    columns: tuple[XmlColumn, ...]
    tag: str
    size: int
    null_values: frozenset[str] = frozenset()
    row_columns: tuple[str, ...] | None = None

    @property
    def path(self) -> str:
        return self.part.path

    def tasks(self) -> Iterator[Task]:
        """Yield this task; of a large file, tasks with its records: this process parses the XML, workers the rest."""
        if self.size <= _MOST_OF_TASK:
            yield self
        else:
            yield from batch_tasks(self.batches(), self.path)

    def batches(self) -> Iterator[pa.RecordBatch]:
        file = Input(self.part.file, "xml", self.part.encoding, full_address=self.part.path, record_tag=self.tag)
        try:
            with wrapped_errors(self.part):
                for number, documents in enumerate(read_documents(file, self.columns)):
                    yield self._batch(number, [self._without_nulls(document) for document in documents])
        except InputError as error:  # the file was changed after it was checked
            raise UnreadableFileError(f"{self.part.file}: {error.message}") from error

    def _without_nulls(self, document: dict[str, Any]) -> dict[str, Any]:
        if not self.null_values:
            return document
        return {
            name: value for name, value in document.items() if type(value) is not str or value not in self.null_values
        }

    def _batch(self, number: int, documents: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        if self.row_columns is None:
            return document_batch(self.part.file, number, list(map(orjson.dumps, documents)))
        places = {
            "file": pa.repeat(self.part.file, len(documents)),
            "block": pa.repeat(pa.scalar(number, pa.int64()), len(documents)),
        }
        cells = {
            f"c{index}": pa.array([document.get(name) for document in documents], pa.string())
            for index, name in enumerate(self.row_columns)
        }
        return pa.RecordBatch.from_pydict({**cells, "fault": pa.nulls(len(documents), pa.string()), **places})


@dataclass(frozen=True, slots=True)
class LocalXml(TextDocuments):
    """Records of files of XML with the same columns."""

    files: tuple[XmlTask, ...]
    gaps: Gaps | None = None

    @property
    def has_columns(self) -> bool:
        return True

    def csv_layout(self) -> CsvLayout | None:
        """Return None: records are documents."""
        return None

    def records(self) -> LocalRecords:
        return self.files

    def with_null_values(self, null_values: Sequence[str]) -> LocalXml:
        return LocalXml(tuple(replace(file, null_values=frozenset(null_values)) for file in self.files))

    def typed_by(self, task: TypingTask) -> LocalTexts:
        columns = {column.name: column for column in self.files[0].columns}
        names = match_columns(task.typing.fields, {name: name for name in columns})
        for typing_field, name in zip(task.typing.fields, names, strict=True):
            check_column_type(typing_field, spark_name(columns[name].type()))
        return LocalTexts(tuple(replace(file, row_columns=tuple(names)) for file in self.files), task)
