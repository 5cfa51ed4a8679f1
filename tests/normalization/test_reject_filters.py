from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest

from schemactl.normalization.rejects import Reject, RejectFilter, RejectKind, summarize
from schemactl.normalization.tally import RejectState

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
TUESDAY = datetime(2026, 3, 3, tzinfo=UTC)


def reject(**values):
    row = {
        "record_id": "ab12", "load_id": "1", "table_name": "orders", "column_name": "amount", "entity": "data_type",
        "mode": "discard_row", "expected": "bigint", "found": "text", "value": "n/a", "file": "data/orders.jsonl",
        "line": 3, "path": "$.amount", "row_key": "k", "row": "{}", "inserted_at": MONDAY, "root_table": "orders",
        "root_key": "k", "record": "{}", "state": "waiting", "replayed_in": None, "discarded_because": None,
    }  # fmt: skip
    return Reject.of({**row, **values})


@pytest.mark.parametrize(("values", "kind", "reason"), [
    ({}, RejectKind.CONTRACT, "data_type=discard_row: expected bigint, found text"),
    ({"entity": "typing", "found": "cannot convert n/a"}, RejectKind.TYPING, "not a value of type bigint"),
    ({"row_key": None, "expected": "int_parsing", "found": "not an integer"}, RejectKind.MODEL,
     "int_parsing: not an integer"),
    ({"entity": "columns", "found": "the model has no such field"}, RejectKind.MODEL,
     "bigint: the model has no such field"),
])  # fmt: skip
def test_rejects_have_a_kind_and_a_reason_without_the_value(values, kind, reason):
    assert (reject(**values).kind, reject(**values).reason) == (kind, reason)


@pytest.mark.parametrize(
    ("values", "is_loaded"),
    [
        ({}, False),
        ({"row_key": "nested"}, True),
        ({"mode": "discard_value", "row": None}, True),
        ({"mode": "discard_value", "entity": "tables"}, False),
        ({"row_key": None, "root_key": None}, False),
    ],
)
def test_a_record_is_loaded_without_the_values_or_nested_rows_that_are_rejected(values, is_loaded):
    assert reject(**values).is_of_loaded_row is is_loaded


@pytest.mark.parametrize(
    ("selection", "is_selected"),
    [
        ({}, True),
        ({"record_ids": ("ab",)}, True),
        ({"record_ids": ("b",)}, False),
        ({"tables": ("orders",)}, True),
        ({"tables": ("lines",)}, False),
        ({"columns": ("amount",)}, True),
        ({"files": ("data/*.jsonl",)}, True),
        ({"files": ("*.csv",)}, False),
        ({"load_ids": ("2",)}, False),
        ({"reason": "contract"}, True),
        ({"reason": "DATA_TYPE"}, True),
        ({"reason": "data_type=discard_row"}, True),
        ({"reason": "expected big"}, True),
        ({"reason": "typing"}, False),
        ({"since": MONDAY}, True),
        ({"since": TUESDAY}, False),
        ({"before": TUESDAY}, True),
        ({"before": MONDAY}, False),
        ({"states": frozenset((RejectState.DISCARDED,))}, False),
        ({"states": None}, True),
    ],
)
def test_filters_select_rejects(selection, is_selected):
    assert RejectFilter(**selection).selects(reject()) is is_selected


def test_rejects_are_summarized_by_reason_and_records_count_once():
    rejects = [
        reject(),
        reject(column_name="total", record=None, inserted_at=TUESDAY),
        reject(record_id="cd34", record=None, value="?", inserted_at=TUESDAY),
        reject(record_id="ef56", state="discarded"),
    ]
    summaries = {
        (tuple((group.column, group.count, group.lost, group.last) for group in summary.groups), summary.lost)
        for summary in (summarize(order, RejectFilter()) for order in permutations(rejects))
    }
    assert summaries == {((("amount", 2, 1, TUESDAY), ("total", 1, 0, TUESDAY)), 1)}
    records = summarize(rejects, RejectFilter(states=None)).records
    assert records == {RejectState.WAITING: 2, RejectState.REPLAYED: 0, RejectState.DISCARDED: 1}
