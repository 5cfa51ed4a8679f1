"""Rows that the kernel makes of documents hold what a plan says, value by value: held to an interpreter of plans."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from rows_contract import (
    EMPTY,
    LOAD,
    NOW,
    RowsContract,
    as_set,
    interpreted,
    with_table,
)

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.kernel import rows
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.outcome import IgnoredKey, RowOutcome, rejected_by, tally_of
from schemactl.kernel.rows import RowMaker
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import REJECTS_COLUMNS, LoadTime, RowCounts
from schemactl.schema.judgment import judge
from schemactl.schema.types import Column, DataType, Table

FILE = "data.jsonl"


class Made:
    """The rows of some documents, made chunk by chunk."""

    file = FILE

    def __init__(self, documents, before=EMPTY, contract=None, change=lambda plan: plan, size=1000):
        positions = ((Position(FILE, number), document) for number, document in enumerate(documents, 1))
        evidence = observe(positions)
        resolution = resolve(evidence, before, "t")
        request = PlanRequest(evidence, resolution, judge(before, resolution.schema, contract))
        self.plan = change(make_plan(request))
        self.outcome, self.tables, self.rejected = RowOutcome(), {}, []
        for start in range(0, len(documents), size):
            maker = RowMaker(self.plan, LoadTime(LOAD, NOW))
            part = documents[start : start + size]
            made = maker.make(Chunk(FILE, range(start + 1, start + len(part) + 1), part))
            self.outcome.merge(maker.outcome)
            self.rejected += [row for batch in made.rejects for row in batch.to_pylist()]
            for name, batches in made.tables.items():
                assert all(batch.schema == maker.schemas[name] for batch in batches)
                self.tables.setdefault(name, []).extend(batches)
        self.tally = tally_of(self.outcome, maker.problems, self.plan)
        self.violations = rejected_by(self.outcome, maker.problems)

    def rows(self, table):
        return [row for batch in self.tables.get(table, ()) for row in batch.to_pylist()]


def make_rows(documents, *options, **named_options):
    """Return the rows of the documents, which do not depend on the sizes of chunks."""
    whole = Made(documents, *options, **named_options)
    parts = Made(documents, *options, **named_options, size=2)
    assert parts.tally == whole.tally
    for table in whole.plan.tables:
        assert as_set(parts.rows(table)) == as_set(whole.rows(table))
    return whole


class TestRowsOfTheKernel(RowsContract):
    reject_columns = REJECTS_COLUMNS

    @pytest.fixture
    def make(self):
        return make_rows


def test_integers_past_all_doubles_keep_their_digits_beside_doubles():
    documents = [{"n": 1.5, "l": [2.5, 10**400]}, {"n": 10**400}, {"n": 10**300}, {"n": -(10**309), "l": [10**39]}]
    made = interpreted(make_rows, documents)
    rows = [(row["n"], row["n__v_text"]) for row in made.rows("t")]
    assert rows == [(1.5, None), (None, str(10**400)), (1e300, None), (None, str(-(10**309)))]
    assert [row["value"] for row in made.rows("t__l")] == [2.5, None, 1e39]


def test_half_surrogates_are_stored_as_question_marks():
    made = Made([{"t": "a\ud800b", "l": ["\udfff"]}, {"t": "plain"}])
    assert [row["t"] for row in made.rows("t")] == ["a?b", "plain"]
    assert [row["value"] for row in made.rows("t__l")] == ["?"]


def test_numbers_without_room_are_measured():
    def small_again(plan):
        column = Column("n", {"data_type": "bigint", "precision": 8})
        (cell,) = plan.rows.cells
        target = replace(cell.targets["bigint"][0], column=column)
        table = replace(plan.tables["t"], columns={**plan.tables["t"].columns, "n": column})
        cells = (replace(cell, targets={"bigint": (target,)}),)
        return replace(plan, rows=replace(plan.rows, cells=cells), tables={"t": table})

    made = Made([{"n": 1}, {"n": 300}, {"n": -9000}], with_table(n={"data_type": "bigint"}), change=small_again)
    assert [row["n"] for row in made.rows("t")] == [1, None, None]
    assert made.outcome.spans == {("t", "n"): (-9000.0, 300.0)}


@pytest.mark.parametrize("contract", [None, "data_type=discard_row"])
def test_rows_of_long_lists_are_the_same_a_part_at_a_time(monkeypatch, contract):
    documents = [
        {"l": [{"n": at if at % 3 else "odd", "m": list(range(at))} for at in range(7)], "o": {"k": [number, None]}}
        for number in range(3)
    ]
    nested = with_table("t__l", n={"data_type": "bigint"}).tables["t__l"]
    before = with_table().with_table(nested)
    whole = Made(documents, before, contract)
    monkeypatch.setattr(rows, "ELEMENTS_AT_ONCE", 2)
    parts = Made(documents, before, contract)

    assert len(parts.tables["t__l"]) > len(whole.tables["t__l"])
    assert {name: parts.rows(name) for name in parts.tables} == {name: whole.rows(name) for name in whole.tables}
    assert (parts.tally, as_set(parts.rejected)) == (whole.tally, as_set(whole.rejected))
    assert bool(parts.rejected) == (contract is not None)


def test_a_record_is_kept_once_however_many_of_its_columns_are_refused():
    columns = {f"c{at}": {"data_type": "bigint"} for at in range(20)}
    documents = [dict.fromkeys(columns, 1), dict.fromkeys(columns, "odd"), dict.fromkeys(columns, "odd")]
    made = Made(documents, with_table(**columns), "data_type=discard_value")

    assert len(made.violations) == len(columns)
    assert {place: json.loads(record) for place, record in made.outcome.records.items()} == {(FILE, 2): documents[1]}


@pytest.mark.parametrize("odd", ["2024-W05", "2024-01-02 03:04", "1_700_000_000", "2024-02-30"])
def test_one_odd_value_is_stored_among_usual_ones_as_it_is_alone(odd):
    moments = [{"at": "2024-01-02T03:04:05Z", "l": [{"at": "2024-01-02"}]}] * 3
    column = Column("at", {"data_type": "timestamp"})
    before = with_table(at=column.properties).with_table(Table("t__l", {"at": column}, {"parent": "t"}))
    interpreted(make_rows, [*moments, {"at": odd, "l": [{"at": odd}]}], before=before)


def test_tables_state_their_columns_without_rows():
    later = Table("later", {"at": Column("at", {"data_type": DataType.TIME})}, {})
    made = Made([{"n": 1}], change=lambda plan: replace(plan, tables={**plan.tables, "later": later}))
    maker = RowMaker(made.plan, LoadTime(LOAD, NOW))
    assert maker.schemas["later"] == pa.schema([("at", pa.time64("us"))])
    assert made.tally.tables["later"] == RowCounts()


def test_texts_that_lose_nanoseconds_are_counted():
    before = with_table(
        at={"data_type": "timestamp"}, clock={"data_type": "time"}, day={"data_type": "date"}, n={"data_type": "bigint"}
    )
    moments = ("2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00.123456000Z", "2024-01-01T00:00:00.000000001+02:00")
    documents = [
        *({"at": each, "items": [{"seen": each}]} for each in moments),
        {"at": "2024-01-01 00:00:00.5Z", "day": "2024-01-01", "clock": "10:00:00.1234569"},
        {"at": "2024-01-01T00:00:00.999999999Z", "new": 1},
    ]
    made = Made(documents, before, {"columns": "discard_row"}, size=2)
    # The last row is rejected, and loses nothing.
    assert made.outcome.cut == {("t", "at"): 2, ("t", "clock"): 1, ("t__items", "seen"): 2}
    assert Made([{"at": "2024-01-01T00:00:00.123456Z", "day": "2024-01-01"}], before).outcome.cut == {}


def test_keys_that_a_model_ignores_are_rejects_of_the_rows_that_are_loaded():
    documents = [{"a": 1}, {"a": 2, "new": 1}, {}]
    plan = Made(documents, with_table(a={"data_type": "bigint"}), {"columns": "discard_row"}).plan
    maker = RowMaker(plan, LoadTime(LOAD, NOW))
    ignored = [(IgnoredKey(("l", 0, "z"), {"b": "é"}), IgnoredKey(("y",), "w")), (IgnoredKey(("y",), 1),), ()]
    made = maker.make(Chunk(FILE, range(1, 4), documents, ignored=ignored))
    rejects = [row for batch in made.rejects for row in batch.to_pylist() if row["mode"] == "discard_value"]
    (key, *_) = made.tables["t"][0].column("_dlt_id").to_pylist()
    shared = {
        "load_id": LOAD, "table_name": "t", "entity": "columns", "mode": "discard_value", "expected": "no new column",
        "found": "the model has no such field", "file": FILE, "line": 1, "row_key": key, "row": None,
        "inserted_at": NOW,
    }  # fmt: skip
    assert rejects == [
        {**shared, "column_name": "l.z", "value": '{"b":"é"}', "path": "$.l[0].z"},
        {**shared, "column_name": "y", "value": "w", "path": "$.y"},
    ]
    assert maker.outcome.tables["t"] == RowCounts(read=3, rejected=1, values_rejected=2)
