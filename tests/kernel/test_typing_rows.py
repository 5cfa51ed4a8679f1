"""Rows of texts that are typed, without Spark: a first look at them, and what becomes of their errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa

from schemactl.arc.fields import Field, Long, OnError, String, Typing, TypingTask
from schemactl.arc.text_columns import TextTyper
from schemactl.inference.evidence import Position
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.columnar import ColumnarSource
from schemactl.kernel.dispatch import BLOCK_SHIFT, ONE_TABLE
from schemactl.kernel.outcome import FieldErrors
from schemactl.kernel.partitions import BlockCounts, PartitionResult
from schemactl.kernel.typing_rows import RejectedRows, check_partition, typed_rows
from schemactl.normalization.tally import LoadTime

TYPING = Typing((Field(name="id", type=Long(), nullable=False), Field(name="name", type=String(), nullable=True)))


Row = tuple[str | None, str | None, str | None]


def batch(*rows: Row, file: str = "file:/data/a.csv", block: int = 0) -> pa.RecordBatch:
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    locations = [pa.array([file] * len(rows)), pa.array([block] * len(rows), pa.int64())]
    return pa.RecordBatch.from_arrays([*columns, *locations], ["c0", "c1", "fault", "file", "block"])


def look(*batches: pa.RecordBatch) -> PartitionResult:
    return check_partition(batches, "/data", TypingTask(TYPING))


def test_a_first_look_counts_rows_and_errors_by_field():
    findings = look(
        batch(("1", "a", None)),
        batch(("2", "b", None), ("y", "c", None), block=5),
        batch((None, None, None), block=5),
        batch(("x", "b", None), file="file:/data/b.csv"),
    )
    assert findings.blocks == {
        ("a.csv", 0): BlockCounts(1, 1, 1),
        ("a.csv", 5): BlockCounts(3, 3, 3),
        ("b.csv", 0): BlockCounts(1, 1, 1),
    }
    assert findings.converted == {"id": 2, "name": 4}
    message = "Unable to convert 'y' to long using formatters ['#,##0;-#,##0']"
    first = Position("a.csv", (5 << BLOCK_SHIFT) + 1)
    assert findings.errors[ONE_TABLE] == {("id", ""): FieldErrors(3, first, message)}


def test_rows_that_cannot_be_read_are_not_typed():
    findings = look(batch(("1", "b", None), ("x", "a", "more cells than columns"), ("y", "c", None)))
    assert findings.blocks == {("a.csv", 0): BlockCounts(3, 3, 2, 1, 1)}
    bad = [(record.position, record.text) for record in findings.bad_records]
    assert bad == [(Position("a.csv", 1), "more cells than columns")]
    errors = findings.errors[ONE_TABLE]["id", ""]
    assert (errors.count, errors.first) == (1, Position("a.csv", 2))


def made(on_error: OnError) -> list[Chunk | RejectedRows]:
    source = ColumnarSource(("id", "name"), task=TypingTask(TYPING, on_error))
    rows = batch(("1", "a", None), ("x", "b", None), ("2", "b", "bad"), ("3", None, None))
    return list(typed_rows(rows, "a.csv", 11, source, TextTyper(TYPING)))


def test_errors_stand_in_a_column_beside_the_others():
    (chunk,) = made(OnError.COLUMN)
    assert isinstance(chunk, Chunk)
    assert (chunk.file, list(chunk.numbers), chunk.names) == ("a.csv", [11, 12, 14], ("id", "name", "_errors"))
    assert [document["id"] for document in chunk.whole_documents] == [1, None, 3]
    assert [len(document["_errors"]) for document in chunk.documents] == [0, 1, 0]


def test_rejected_rows_are_kept_with_their_texts_and_their_reasons():
    chunk, rejected = made(OnError.REJECT)
    assert isinstance(chunk, Chunk)
    assert isinstance(rejected, RejectedRows)
    assert list(chunk.numbers) == [11, 14]
    load = LoadTime("7", datetime(2024, 1, 1, tzinfo=UTC))
    (row,) = rejected.describe("customer", {"id": "long", "name": "string"}, load).to_pylist()
    assert json.loads(row.pop("row")) == {"id": "x", "name": "b"}
    assert row == {
        "load_id": "7", "table_name": "customer", "column_name": "id", "entity": "typing", "mode": "discard_row",
        "expected": "long", "found": "Unable to convert 'x' to long using formatters ['#,##0;-#,##0']", "value": "x",
        "path": "$.id", "file": "a.csv", "line": 12, "row_key": None, "inserted_at": load.inserted_at,
    }  # fmt: skip
