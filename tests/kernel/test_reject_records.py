from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from schemactl.kernel.chunks import Chunk
from schemactl.kernel.outcome import REJECTS_SCHEMA
from schemactl.kernel.reject_records import STORED_SCHEMA, DroppedValues, drops_values, with_records
from schemactl.normalization.tally import REJECTS_COLUMNS, STORED_REJECTS_COLUMNS, reject_id


def rejects(*rows):
    defaults = {"load_id": "1", "table_name": "t", "file": "f", "inserted_at": datetime(2026, 1, 1, tzinfo=UTC)}
    return pa.RecordBatch.from_pylist([{**defaults, **row} for row in rows], schema=REJECTS_SCHEMA)


def test_the_first_reject_of_each_record_has_its_text():
    batches = [rejects({"line": 3}, {"line": 4}), rejects({"line": 3}, {"line": 5})]
    completed = with_records(batches, "t", None, lambda line: f'{{"n":{line}}}', lambda line: f"key{line}")
    rows = [row for batch in completed for row in batch.to_pylist()]
    assert [row["record"] for row in rows] == ['{"n":3}', '{"n":4}', None, '{"n":5}']
    assert [row["root_key"] for row in rows] == ["key3", "key4", "key3", "key5"]
    assert [row["record_id"] for row in rows] == [reject_id("1", "f", line) for line in (3, 4, 3, 5)]
    assert {row["state"] for row in rows} == {"waiting"}
    assert completed[0].schema == STORED_SCHEMA


def test_new_columns_come_after_those_of_earlier_versions():
    assert STORED_REJECTS_COLUMNS[: len(REJECTS_COLUMNS)] == REJECTS_COLUMNS
    assert all(column.nullable for column in STORED_REJECTS_COLUMNS[len(REJECTS_COLUMNS) :])


def test_dropped_values_leave_neither_record_nor_row_nor_value():
    dropped = DroppedValues(frozenset({("t", "amount")}))
    batch = rejects(
        {"line": 1, "column_name": "mail", "value": "ann@x.org", "found": "ann@x.org is no mail", "row": '{"mail":1}'},
        {"line": 1, "column_name": "amount", "value": "n/a", "found": "text", "row": '{"mail":1}'},
        {"line": 2, "column_name": "user.mail", "value": "ann@x.org", "found": "ann@x.org is no mail"},
    )
    (completed,) = with_records([batch], "t", dropped, lambda _: "ann@x.org")
    assert "ann@x.org" not in str(completed.to_pylist())
    rows = completed.to_pylist()
    assert [row["value"] for row in rows] == [None, "n/a", None]
    assert [row["record"] for row in rows] == [row["row"] for row in rows] == [None, None, None]


@pytest.mark.parametrize(("hint", "drops"), [("drop", True), ("DROP", True), (True, False), ("mask", False)])
def test_only_the_mark_drop_keeps_values_out(hint, drops):
    assert drops_values({"x-annotation-pii": hint}) is drops


def test_the_record_of_a_document_that_a_model_changed_is_its_text():
    chunk = Chunk("f", [1], [{"a": 1}], originals=[b'{"a": "1", "b": 2}'])
    assert chunk.record_text(0) == '{"a": "1", "b": 2}'
    assert Chunk("f", [1], [{"a": 1}]).record_text(0) == '{"a":1}'
