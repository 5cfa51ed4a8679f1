"""Rows that the kernel makes of documents hold what a plan says, value by value: held to an interpreter of plans."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.kernel import rows
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.outcome import IgnoredKey, RowOutcome, rejected_by, tally_of
from schemactl.kernel.rows import RowMaker
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import RowKey
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import REJECTS_COLUMNS, LoadTime, RowCounts
from schemactl.schema.judgment import judge
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

# the interpreter of plans is kept with the tests of plans
sys.path.append(str(Path(__file__).parents[1] / "normalization"))
from interpret import run

EMPTY = new_schema("made")
LOAD = "load1"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FILE = "data.jsonl"


class Made:
    """The rows of some documents, made chunk by chunk."""

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
        self.by_violation = rejected_by(self.outcome, maker.problems)

    def rows(self, table):
        return [row for batch in self.tables.get(table, ()) for row in batch.to_pylist()]


def root_key(number, table="t"):
    place = "\n".join((LOAD, table, str(number), FILE))
    return base64.b64encode(hashlib.sha256(place.encode()).digest()[:10]).decode()[:14]


def is_keyed(document):
    return isinstance(document, dict) and document.get("_dlt_id")


def expected(plan, documents):
    """Return what the interpreter makes of the documents: rows by table."""
    keys = iter([root_key(number) for number, document in enumerate(documents, 1) if not is_keyed(document)])
    return run(plan, documents, lambda: next(keys), LOAD)


def as_set(rows):
    return Counter(
        json.dumps({name: plain(value) for name, value in row.items() if value is not None}, sort_keys=True)
        for row in rows
    )


def plain(value):
    match value:
        case dict() | list():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case Decimal():
            return str(value.normalize())
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return value


def with_table(name="t", **columns):
    stated = {column: Column(column, properties) for column, properties in columns.items()}
    return EMPTY.with_table(Table(name, stated, {"write_disposition": "append", "resource": name}))


def assert_interpreted(documents, **options):
    made = Made(documents, **options)
    wanted = expected(made.plan, documents)
    assert not wanted.unfit
    assert made.tally.is_loadable, made.tally
    for table in made.plan.tables:
        assert as_set(made.rows(table)) == as_set(wanted.rows[table]), table
    again = Made(documents, **options, size=2)
    assert again.tally == made.tally
    for table in made.plan.tables:
        assert as_set(again.rows(table)) == as_set(made.rows(table))
    return made


# --- documents ---

WORKED = [
    {"_dlt_id": "root1", "a": {"b": {"c": 1}, "d": 2}, "e": 3},
    {"_dlt_id": "root1", "items": [{"x": 1}, {"x": 2}, {"_dlt_id": "kid", "sub": [1]}]},
    {"_dlt_id": "root1", "tags": ["a", None, 3, True]},
    {"_dlt_id": "root1", "m": [[1, 2], [3]]},
    {"_dlt_id": "root1", "l": [], "d": {}, "n": None, "dl": {"x": []}},
    {"_dlt_id": "root1", "o": {"items": [{"b": {"c": [1]}}]}},
]
"""Worked examples of dlt's normalizer (docs/dlt.md §5.3)."""


def keys_of(rows, *names):
    return {tuple(row[name] for name in (*names, "_dlt_parent_id", "_dlt_list_idx", "_dlt_id")) for row in rows}


def test_rows_and_keys_are_those_of_dlt():
    worked = assert_interpreted(WORKED)
    assert keys_of(worked.rows("t__items"), "x") == {
        (1, "root1", 0, "KQ7GAS+weooXog"),
        (2, "root1", 1, "H1UdCrZS2WoAfg"),
        (None, None, None, "kid"),
    }
    assert keys_of(worked.rows("t__items__sub"), "value") == {(1, "kid", 0, "Ysw1aS634kRmsw")}
    assert keys_of(worked.rows("t__tags"), "value") == {
        ("a", "root1", 0, "XeEFULqwNsSCzA"),
        (None, "root1", 1, "47HI7hNu5WS2/A"),
        ("3", "root1", 2, "o2zwU3h+RDBiSw"),
        ("True", "root1", 3, "xKXk1pzwnTSFyw"),
    }
    assert keys_of(worked.rows("t__m")) == {
        ("root1", 0, "xWqBrappX+MTNw"),
        ("root1", 1, "4iO2TLho56vE9Q"),
    }
    assert keys_of(worked.rows("t__m__list"), "value") == {
        (1, "xWqBrappX+MTNw", 0, "7cIe2zFBDEQYTA"),
        (2, "xWqBrappX+MTNw", 1, "LfQSYEIIhcPuQQ"),
        (3, "4iO2TLho56vE9Q", 0, "eh69t/TZTDZ7lA"),
    }
    assert [counts.read for counts in worked.tally.tables.values()] == [
        len(worked.rows(name)) for name in worked.tally.tables
    ]
    assert all(not (each.rejected or each.values_rejected) for each in worked.tally.tables.values())


MIXED = [
    {"v": 1.5, "k": "x", "when": "2024-01-02T03:04:05Z", "l": [{"a": "1"}, 2, "three", None, [4.5]]},
    {"v": 2, "k": {"z": 1, "a": {"b": "é"}}, "when": "1700000000", "l": []},
    {"v": "abc", "k": [1, {"c": None}], "when": 17, "deep": [{"l": [{"x": [1, "a"]}]}]},
    {"v": "5", "when": True, "deep": [{"l": [None, {"x": []}]}, None]},
    {"v": {"q": "nested"}, "": "blank", "k.`'\"$": 1, "Ab": 1, "x" * 300: True},
    {"v": [True, {"w": 1}], "when": "not a time"},
    {"_dlt_id": "own", "v": False, "l": [{"a": "b", "_dlt_id": "kid"}, {"_dlt_id": ""}]},
    {"kept": {"b": [1.50, 2e3], "a": "\u00e9\n"}, "v": None},
    {"kept": [1, {"z": None, "a": 12345678901234567890123}], "uint": 2**63 - 1},
    {"big": 2**70, "text": "word"},
    {"big": 1, "text": 10**90, "uint": 5},
]


def test_mixed_kinds_go_where_the_plan_says():
    assert_interpreted(MIXED, before=with_table(kept={"data_type": "json", "nullable": True}))


def test_integers_among_other_numbers_stay_integers():
    documents = [{"n": 1.5, "w": 2.5, "l": [0.5, [1e300, 12], 7]}, {"n": 3, "w": 4, "l": [[2.0, 1_700_000_000]]}]
    made = assert_interpreted(documents, before=with_table(w={"data_type": "text"}))
    assert [(row["n"], row["w"]) for row in made.rows("t")] == [(1.5, "2.5"), (3.0, "4")]
    assert sorted(row["value"] for row in made.rows("t__l__list")) == [2.0, 12.0, 1_700_000_000.0, 1e300]


def test_integers_past_all_doubles_keep_their_digits_beside_doubles():
    documents = [{"n": 1.5, "l": [2.5, 10**400]}, {"n": 10**400}, {"n": 10**300}, {"n": -(10**309), "l": [10**39]}]
    made = assert_interpreted(documents)
    rows = [(row["n"], row["n__v_text"]) for row in made.rows("t")]
    assert rows == [(1.5, None), (None, str(10**400)), (1e300, None), (None, str(-(10**309)))]
    assert [row["value"] for row in made.rows("t__l")] == [2.5, None, 1e39]


def test_documents_need_not_be_objects():
    assert_interpreted(["hello", [1, "b"], None, {"value": 3}, 2.5, {"a": {"b": [{"c": 1}]}}, []])


def test_nesting_is_cut_where_the_plan_says():
    lists = {"l": [{"m": [{"n": 1}]}, {"m": {"z": 1, "a": 2}}], "ll": [[1, {"z": 1, "a": 0}]]}
    before = with_table()
    table = before.tables["t"]
    before = before.with_table(replace(table, properties={**table.properties, "x-normalizer": {"max_nesting": 1}}))
    made = assert_interpreted([{"a": {"b": {"c": 1}}, **lists}], before=before)
    assert {row["m"] for row in made.rows("t__l")} == {'[{"n":1}]', '{"z":1,"a":2}'}


def test_half_surrogates_are_stored_as_question_marks():
    made = Made([{"t": "a\ud800b", "l": ["\udfff"]}, {"t": "plain"}])
    assert [row["t"] for row in made.rows("t")] == ["a?b", "plain"]
    assert [row["value"] for row in made.rows("t__l")] == ["?"]


# --- contracts ---


def rejected(rows, *names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def test_refused_rows_take_what_is_nested_with_them():
    documents = [
        {"n": 1, "l": [{"x": 1}]},
        {"n": 2, "extra": "no", "l": [{"x": 2}, {"x": 3, "sub": [1, 2]}]},
        {"n": "text", "extra": "both"},
        {"n": 4, "l": [{"x": 4, "sub": [7]}], "extra": None},
    ]
    known = with_table(n={"data_type": "bigint"})
    for name, parent, column in (("t__l", "t", "x"), ("t__l__sub", "t__l", "value")):
        known = known.with_table(Table(name, {column: Column(column, {"data_type": "bigint"})}, {"parent": parent}))
    made = Made(documents, known, "columns=discard_row,data_type=discard_row")
    assert made.tally.tables["t"] == RowCounts(read=4, rejected=2)
    assert made.tally.tables["t__l"] == RowCounts(read=4, rejected_above=2)
    assert made.tally.tables["t__l__sub"] == RowCounts(read=3, rejected_above=2)
    assert [counts.loaded for counts in made.tally.tables.values()] == [
        len(made.rows(table)) for table in made.tally.tables
    ]
    rows = made.rejected
    assert list(rows[0]) == [column.name for column in REJECTS_COLUMNS]
    assert rejected(rows, "column_name", "entity", "value", "path", "line") == [
        ("extra", "columns", "both", "$.extra", 3),
        ("extra", "columns", "no", "$.extra", 2),
        ("n", "data_type", "text", "$.n", 3),
    ]
    by_line = {row["line"]: json.loads(row["row"]) for row in rows}
    assert by_line[2] == documents[1]
    assert {row["row_key"] for row in rows if row["line"] == 2} == {root_key(2)}
    assert {row["inserted_at"] for row in rows} == {NOW}
    assert {each.violation.column: (each.count, each.first.number) for each in made.by_violation} == {
        "extra": (2, 2),
        "n__v_text": (1, 3),
    }


def test_refused_values_leave_their_rows():
    documents = [{"n": 1, "l": [{"x": 1, "new": 5.5}, {"x": "s"}]}, {"n": "bad", "l": [{"new": None}]}]
    known = with_table(n={"data_type": "bigint"})
    known = known.with_table(Table("t__l", {"x": Column("x", {"data_type": "bigint"})}, {"parent": "t"}))
    made = Made(documents, known, "discard_value")
    assert made.tally.tables["t"] == RowCounts(read=2, values_rejected=1)
    assert made.tally.tables["t__l"] == RowCounts(read=3, values_rejected=2)
    assert sorted((row["n"] for row in made.rows("t")), key=repr) == [1, None]
    assert rejected(made.rejected, "table_name", "value", "path", "line", "row") == [
        ("t", "bad", "$.n", 2, None),
        ("t__l", "5.5", "$.l[0].new", 1, None),
        ("t__l", "s", "$.l[1].x", 1, None),
    ]


def test_rows_of_refused_tables_are_counted_and_kept():
    documents = [{"n": 1, "l": [{"x": 1, "sub": [1]}, 2]}, {"n": 2}]
    made = Made(documents, with_table(n={"data_type": "bigint"}), "tables=discard_row")
    assert made.tally.tables == {
        "t": RowCounts(read=2),
        "t__l": RowCounts(read=2, rejected=2),
        "t__l__sub": RowCounts(read=1, rejected_above=1),
    }
    assert rejected(made.rejected, "table_name", "column_name", "entity", "path", "row") == [
        ("t__l", None, "tables", "$.l[0]", '{"x":1,"sub":[1]}'),
        ("t__l", None, "tables", "$.l[1]", "2"),
    ]


# --- what would be lost ---


def test_values_that_no_column_holds_are_reported():
    documents = [{"n": 1, "small": 5}, {"n": 2**63, "small": 70000}, {"n": 2**63 + 5}]
    known = with_table(n={"data_type": "bigint"}, small={"data_type": "bigint", "precision": 16})
    made = Made(documents, known)
    assert not made.tally.is_loadable
    found = {
        each.column: (each.source, each.kind, each.count, each.first.number, each.example) for each in made.tally.unfit
    }
    assert found == {"n": ("$.n", "bigint", 2, 2, str(2**63))}
    assert made.plan.tables["t"].columns["small"].properties["precision"] == 32


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


def test_values_that_meet_in_one_column_of_one_row_are_reported():
    documents = [{"Ab": 1, "l": [1]}, {"ab": 2}, {"Ab": 3, "ab": None}, {"Ab": 4, "ab": 5, "l": [1], "L": [2]}]
    made = Made(documents)
    found = {(each.table, each.column): (each.sources, each.count, each.first.number) for each in made.tally.overwrites}
    assert found == {
        ("t", "ab"): (("$.Ab", "$.ab"), 1, 4),
        ("t__l", None): (("$.l", "$.L"), 1, 4),
    }


# --- keys ---


def with_key(kind, columns=()):
    def change(plan):
        return replace(plan, rows=replace(plan.rows, key=kind, key_columns=columns))

    return change


def test_primary_keys_make_row_keys_as_in_dlt():
    documents = [{"id": 1, "k2": "b"}, {"id": "é", "k2": "b"}, {"k2": "c"}]
    made = Made(documents, change=with_key(RowKey.PRIMARY_KEY, ("id", "k2")))
    assert "ABDQfTakwqqfEA" in {row["_dlt_id"] for row in made.rows("t")}
    (unfit,) = made.tally.unfit
    assert (unfit.column, unfit.kind, unfit.count, unfit.first.number) == ("id", "null", 1, 3)


def test_contents_make_row_keys_as_in_dlt():
    document = {"_dlt_x": 1, "l": [1], "b": {"Z": 1}, "a": "x"}
    made = Made([document], change=with_key(RowKey.CONTENT))
    assert [row["_dlt_id"] for row in made.rows("t")] == ["EHMMdEwNmUIV0w"]


# --- other shapes ---


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

    assert len(made.by_violation) == len(columns)
    assert {place: json.loads(record) for place, record in made.outcome.records.items()} == {(FILE, 2): documents[1]}


def test_very_wide_documents_are_taken_apart():
    assert_interpreted(
        [{f"key_{number}": number if number % 2 else f"w{number}" for number in range(3000)}, {"key_1": "x"}]
    )


def test_very_deep_documents_are_taken_apart():
    nested = 1
    for level in range(98):
        nested = {"o": nested} if level % 12 else [nested]
    assert_interpreted([{"d": nested}])


@pytest.mark.parametrize("odd", ["2024-W05", "2024-01-02 03:04", "1_700_000_000", "2024-02-30"])
def test_one_odd_value_is_stored_among_usual_ones_as_it_is_alone(odd):
    moments = [{"at": "2024-01-02T03:04:05Z", "l": [{"at": "2024-01-02"}]}] * 3
    column = Column("at", {"data_type": "timestamp"})
    before = with_table(at=column.properties).with_table(Table("t__l", {"at": column}, {"parent": "t"}))
    assert_interpreted([*moments, {"at": odd, "l": [{"at": odd}]}], before=before)


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
