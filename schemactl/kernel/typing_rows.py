"""Types rows of texts: a first look counts the errors, a second one yields typed and rejected rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.fields import ERRORS, OnError, TypingTask, type_name
from schemactl.arc.text_columns import TextTyper
from schemactl.inference.evidence import Position
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.columnar import ColumnarSource, chunks_of_rows
from schemactl.kernel.dispatch import BLOCK_SHIFT, ONE_TABLE
from schemactl.kernel.outcome import REJECTS_SCHEMA, FieldErrors
from schemactl.kernel.partitions import MAX_BAD_RECORDS, BadRecord, BlockCounts, PartitionResult, read_rows
from schemactl.normalization.tally import LoadTime

TYPING: Final = "typing"
"""The entity of rejects of typing."""


def check_partition(batches: Iterable[pa.RecordBatch], folder: str, task: TypingTask) -> PartitionResult:
    """Type the texts of a partition (``read_rows``); return its findings: the errors by field, and no contract."""
    typer, width = TextTyper(task.typing), len(task.typing.fields)
    errors: dict[tuple[str, str], FieldErrors] = {}
    blocks: dict[tuple[str, int], BlockCounts] = {}
    bad: list[BadRecord] = []
    for file, block, offset, rows in read_rows(batches, folder):
        faults = rows.column(width)
        wrong = np.nonzero(faults.is_valid().to_numpy(zero_copy_only=False))[0].tolist()
        counts = blocks.setdefault((file, block), BlockCounts())
        counts.add(len(rows), len(rows), len(rows) - len(wrong), [offset + row for row in wrong])
        base = (block << BLOCK_SHIFT) + offset
        first_wrong = wrong[: MAX_BAD_RECORDS - len(bad)]
        bad += [BadRecord(Position(file, base + row), faults[row].as_py()) for row in first_wrong]
        _, row_errors = typer.run(_without(rows.columns[:width], faults))
        good_rows = np.nonzero(faults.is_null().to_numpy(zero_copy_only=False))[0]
        for name, error in _first_errors(row_errors).items():
            number = base + int(good_rows[error.first.number])
            placed = replace(error, first=Position(file, number))
            errors[name, ""] = errors[name, ""].merged(placed) if (name, "") in errors else placed
    return PartitionResult({}, blocks, tuple(bad), errors={ONE_TABLE: errors}, converted=typer.converted)


def _first_errors(errors: pa.Array) -> dict[str, FieldErrors]:
    """Return the errors of rows by field; positions count the rows from 0."""
    flat = errors.flatten()
    if not len(flat):
        return {}
    rows = pc.list_parent_indices(errors).to_numpy()
    names, messages = flat.field(0), flat.field(1)
    first_errors: dict[str, FieldErrors] = {}
    for name in names.unique().to_pylist():
        error_indexes = np.nonzero(pc.equal(names, name).to_numpy(zero_copy_only=False))[0]
        first_errors[name] = FieldErrors(
            len(error_indexes), Position("", int(rows[error_indexes[0]])), messages[int(error_indexes[0])].as_py()
        )
    return first_errors


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rows that typing rejects: their places, their texts by field, and the errors of each row."""

    file: str
    numbers: Sequence[int]
    columns: dict[str, pa.Array]
    errors: pa.Array

    def describe(self, table: str, types: Mapping[str, str], load: LoadTime) -> pa.RecordBatch:
        """Return a record for each error (``REJECTS_SCHEMA``): the type, the message, the text and the whole row."""
        rejects: list[dict[str, Any]] = []
        texts = {name: column.cast(pa.string()).to_pylist() for name, column in self.columns.items()}
        for index, (number, errors) in enumerate(zip(self.numbers, self.errors.to_pylist(), strict=True)):
            row = json.dumps({name: column[index] for name, column in texts.items()}, ensure_ascii=False)
            rejects += [
                {
                    "load_id": load.id, "table_name": table, "column_name": error["field"], "entity": TYPING,
                    "mode": "discard_row", "expected": types[error["field"]], "found": error["message"],
                    "value": texts[error["field"]][index], "path": f"$.{error['field']}", "file": self.file,
                    "line": number, "row": row, "inserted_at": load.inserted_at,
                }
                for error in errors
            ]  # fmt: skip
        return pa.RecordBatch.from_pylist(rejects, schema=REJECTS_SCHEMA)


def typed_rows(
    rows: pa.RecordBatch, file: str, first: int, source: ColumnarSource, typer: TextTyper
) -> Iterator[Chunk | RejectedRows]:
    """Yield typed rows of one file, and rows that typing rejects; unreadable rows are left out.

    The rows have the strings of the source's fields, followed by the reason why a row is bad; ``first`` counts from 1.
    """
    assert source.task is not None
    width = len(source.names)
    is_read = rows.column(width).is_null()
    numbers = first + np.nonzero(is_read.to_numpy(zero_copy_only=False))[0]
    texts = _without(rows.columns[:width], rows.column(width))
    columns, errors = typer.run(texts)
    if source.task.on_error is OnError.COLUMN:
        with_errors = replace(source, names=(*source.names, ERRORS))
        yield from chunks_of_rows(_batch_of([*columns, errors]), file, numbers.tolist(), with_errors)
        return
    is_wrong = pc.greater(pc.list_value_length(errors), 0)
    mask = is_wrong.to_numpy(zero_copy_only=False)
    good = pc.invert(is_wrong)
    good_rows = _batch_of([column.filter(good) for column in columns])
    yield from chunks_of_rows(good_rows, file, numbers[~mask].tolist(), source)
    if mask.any():
        rejected = {name: text.filter(is_wrong) for name, text in zip(source.names, texts, strict=True)}
        yield RejectedRows(file, numbers[mask].tolist(), rejected, errors.filter(is_wrong))


def _without(columns: Sequence[pa.Array], faults: pa.Array) -> Sequence[pa.Array]:
    """Return the columns of the rows that have no fault."""
    if faults.null_count == len(faults):
        return columns
    is_read = faults.is_null()
    return [column.filter(is_read) for column in columns]


def _batch_of(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [f"c{index}" for index in range(len(columns))])


def type_names(task: TypingTask) -> dict[str, str]:
    """Return Arc's name of the type of each field."""
    return {field.name: type_name(field.type) for field in task.typing.fields}
