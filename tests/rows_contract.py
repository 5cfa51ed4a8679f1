"""Rows that the kernel and both engines make of documents hold what a plan says, value by value.

`RowsContract` has the tests; a subclass says by its fixture ``make`` what makes the rows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from schemactl.normalization.plan import RowKey
from schemactl.normalization.tally import RowCounts
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

# the interpreter of plans is kept with the tests of plans
sys.path.append(str(Path(__file__).parent / "normalization"))
from interpret import run

EMPTY = new_schema("made")
LOAD = "load1"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class MadeRows(Protocol):
    """The rows of one load.

    Attributes:
        plan: the plan by which they were made.
        tally: what the load counted.
        file: the name of the documents' file in row keys.
        rejected: the rows of ``_rejects``.
        violations: what was rejected, by violation.
    """

    plan: Any
    tally: Any
    file: str
    rejected: list[dict[str, Any]]
    violations: Any

    def rows(self, table: str) -> list[dict[str, Any]]: ...


def root_key(file, number, table="t"):
    place = "\n".join((LOAD, table, str(number), file))
    return base64.b64encode(hashlib.sha256(place.encode()).digest()[:10]).decode()[:14]


def is_keyed(document):
    return isinstance(document, dict) and document.get("_dlt_id")


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


def interpreted(make, documents, before=EMPTY):
    """Return the rows of the documents, which equal those of the interpreter."""
    made = make(documents, before)
    assert_interpreted(made, documents)
    return made


def assert_interpreted(made, documents):
    """Compare the rows with those of the interpreter."""
    keys = iter([root_key(made.file, number) for number, document in enumerate(documents, 1) if not is_keyed(document)])
    wanted = run(made.plan, documents, lambda: next(keys), LOAD)
    assert not wanted.unfit
    assert made.tally.is_loadable, made.tally
    for table in made.plan.tables:
        assert as_set(made.rows(table)) == as_set(wanted.rows[table]), table


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


def rejected(rows, *names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def with_key(kind, columns=()):
    def change(plan):
        return replace(plan, rows=replace(plan.rows, key=kind, key_columns=columns))

    return change


class RowsContract:
    """The tests of what makes rows."""

    reject_columns: Sequence[Column] = ()

    def test_rows_and_keys_are_those_of_dlt(self, make):
        worked = interpreted(make, WORKED)
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
        for name, table in worked.plan.tables.items():
            complete = [column.name for column in table.columns.values() if column.is_complete]
            assert list(worked.rows(name)[0]) == complete

    def test_mixed_kinds_go_where_the_plan_says(self, make):
        interpreted(make, MIXED, before=with_table(kept={"data_type": "json", "nullable": True}))

    def test_integers_among_other_numbers_stay_integers(self, make):
        documents = [{"n": 1.5, "w": 2.5, "l": [0.5, [1e300, 12], 7]}, {"n": 3, "w": 4, "l": [[2.0, 1_700_000_000]]}]
        made = interpreted(make, documents, before=with_table(w={"data_type": "text"}))
        assert [(row["n"], row["w"]) for row in made.rows("t")] == [(1.5, "2.5"), (3.0, "4")]
        assert sorted(row["value"] for row in made.rows("t__l__list")) == [2.0, 12.0, 1_700_000_000.0, 1e300]

    def test_documents_need_not_be_objects(self, make):
        interpreted(make, ["hello", [1, "b"], None, {"value": 3}, 2.5, {"a": {"b": [{"c": 1}]}}, []])

    def test_nesting_is_cut_where_the_plan_says(self, make):
        lists = {"l": [{"m": [{"n": 1}]}, {"m": {"z": 1, "a": 2}}], "ll": [[1, {"z": 1, "a": 0}]]}
        before = with_table()
        table = before.tables["t"]
        before = before.with_table(replace(table, properties={**table.properties, "x-normalizer": {"max_nesting": 1}}))
        made = interpreted(make, [{"a": {"b": {"c": 1}}, **lists}], before=before)
        assert {row["m"] for row in made.rows("t__l")} == {'[{"n":1}]', '{"z":1,"a":2}'}

    def test_very_wide_documents_are_taken_apart(self, make):
        interpreted(
            make, [{f"key_{number}": number if number % 2 else f"w{number}" for number in range(3000)}, {"key_1": "x"}]
        )

    def test_very_deep_documents_are_taken_apart(self, make):
        nested = 1
        for level in range(98):
            nested = {"o": nested} if level % 12 else [nested]
        interpreted(make, [{"d": nested}])

    def test_refused_rows_take_what_is_nested_with_them(self, make):
        documents = [
            {"n": 1, "l": [{"x": 1}]},
            {"n": 2, "extra": "no", "l": [{"x": 2}, {"x": 3, "sub": [1, 2]}]},
            {"n": "text", "extra": "both"},
            {"n": 4, "l": [{"x": 4, "sub": [7]}], "extra": None},
        ]
        known = with_table(n={"data_type": "bigint"})
        for name, parent, column in (("t__l", "t", "x"), ("t__l__sub", "t__l", "value")):
            known = known.with_table(Table(name, {column: Column(column, {"data_type": "bigint"})}, {"parent": parent}))
        made = make(documents, known, "columns=discard_row,data_type=discard_row")
        assert made.tally.tables["t"] == RowCounts(read=4, rejected=2)
        assert made.tally.tables["t__l"] == RowCounts(read=4, rejected_above=2)
        assert made.tally.tables["t__l__sub"] == RowCounts(read=3, rejected_above=2)
        assert [counts.loaded for counts in made.tally.tables.values()] == [
            len(made.rows(table)) for table in made.tally.tables
        ]
        rows = made.rejected
        assert list(rows[0]) == [column.name for column in self.reject_columns]
        assert rejected(rows, "column_name", "entity", "value", "path", "line") == [
            ("extra", "columns", "both", "$.extra", 3),
            ("extra", "columns", "no", "$.extra", 2),
            ("n", "data_type", "text", "$.n", 3),
        ]
        by_line = {row["line"]: json.loads(row["row"]) for row in rows}
        assert by_line[2] == documents[1]
        assert {row["row_key"] for row in rows if row["line"] == 2} == {root_key(made.file, 2)}
        assert {row["inserted_at"] for row in rows} == {NOW}
        assert {each.violation.column: (each.count, each.first.number) for each in made.violations} == {
            "extra": (2, 2),
            "n__v_text": (1, 3),
        }

    def test_refused_values_leave_their_rows(self, make):
        documents = [{"n": 1, "l": [{"x": 1, "new": 5.5}, {"x": "s"}]}, {"n": "bad", "l": [{"new": None}]}]
        known = with_table(n={"data_type": "bigint"})
        known = known.with_table(Table("t__l", {"x": Column("x", {"data_type": "bigint"})}, {"parent": "t"}))
        made = make(documents, known, "discard_value")
        assert made.tally.tables["t"] == RowCounts(read=2, values_rejected=1)
        assert made.tally.tables["t__l"] == RowCounts(read=3, values_rejected=2)
        assert sorted((row["n"] for row in made.rows("t")), key=repr) == [1, None]
        assert rejected(made.rejected, "table_name", "value", "path", "line", "row") == [
            ("t", "bad", "$.n", 2, None),
            ("t__l", "5.5", "$.l[0].new", 1, None),
            ("t__l", "s", "$.l[1].x", 1, None),
        ]

    def test_rows_of_refused_tables_are_counted_and_kept(self, make):
        documents = [{"n": 1, "l": [{"x": 1, "sub": [1]}, 2]}, {"n": 2}]
        made = make(documents, with_table(n={"data_type": "bigint"}), "tables=discard_row")
        assert made.rows("t__l") == []
        assert made.tally.tables == {
            "t": RowCounts(read=2),
            "t__l": RowCounts(read=2, rejected=2),
            "t__l__sub": RowCounts(read=1, rejected_above=1),
        }
        assert rejected(made.rejected, "table_name", "column_name", "entity", "path", "row") == [
            ("t__l", None, "tables", "$.l[0]", '{"x":1,"sub":[1]}'),
            ("t__l", None, "tables", "$.l[1]", "2"),
        ]

    def test_values_that_no_column_holds_are_reported(self, make):
        documents = [{"n": 1, "small": 5}, {"n": 2**63, "small": 70000}, {"n": 2**63 + 5}]
        known = with_table(n={"data_type": "bigint"}, small={"data_type": "bigint", "precision": 16})
        made = make(documents, known)
        assert not made.tally.is_loadable
        found = {
            each.column: (each.source, each.kind, each.count, each.first.number, each.example)
            for each in made.tally.unfit
        }
        assert found == {"n": ("$.n", "bigint", 2, 2, str(2**63))}
        assert made.plan.tables["t"].columns["small"].properties["precision"] == 32

    def test_values_that_meet_in_one_column_of_one_row_are_reported(self, make):
        documents = [{"Ab": 1, "l": [1]}, {"ab": 2}, {"Ab": 3, "ab": None}, {"Ab": 4, "ab": 5, "l": [1], "L": [2]}]
        made = make(documents)
        found = {
            (each.table, each.column): (each.sources, each.count, each.first.number) for each in made.tally.overwrites
        }
        assert found == {
            ("t", "ab"): (("$.Ab", "$.ab"), 1, 4),
            ("t__l", None): (("$.l", "$.L"), 1, 4),
        }

    def test_primary_keys_make_row_keys_as_in_dlt(self, make):
        documents = [{"id": 1, "k2": "b"}, {"id": "é", "k2": "b"}, {"k2": "c"}]
        made = make(documents, change=with_key(RowKey.PRIMARY_KEY, ("id", "k2")))
        assert "ABDQfTakwqqfEA" in {row["_dlt_id"] for row in made.rows("t")}
        (unfit,) = made.tally.unfit
        assert (unfit.column, unfit.kind, unfit.count, unfit.first.number) == ("id", "null", 1, 3)

    def test_contents_make_row_keys_as_in_dlt(self, make):
        document = {"_dlt_x": 1, "l": [1], "b": {"Z": 1}, "a": "x"}
        made = make([document], change=with_key(RowKey.CONTENT))
        assert [row["_dlt_id"] for row in made.rows("t")] == ["EHMMdEwNmUIV0w"]
