"""Tables that Spark makes of documents hold what a plan says, value by value, whatever the partitions and sources."""

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

import pytest

from schemactl.engine.input import shown_path
from schemactl.engine.inputs import find_inputs
from schemactl.engine.package import write_rows
from schemactl.engine.scan import scan_inputs
from schemactl.inference.resolve import resolve
from schemactl.inference.sample import Sample
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import RowKey
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import STORED_REJECTS_COLUMNS, LoadTime, RowCounts
from schemactl.schema.judgment import judge
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

# the interpreter of plans is kept with the tests of plans
sys.path.append(str(Path(__file__).parents[1] / "normalization"))
from interpret import run

EMPTY = new_schema("made")
LOAD = "load1"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Made:
    """One load: its plan, what was written, and the tables read back."""

    def __init__(self, engine, folder, sources, before=EMPTY, contract=None, change=lambda plan: plan):
        self.scan = scan_inputs(engine, find_inputs([str(source) for source in sources]), Sample())
        resolution = resolve(self.scan.evidence, before, "t")
        request = PlanRequest(self.scan.evidence, resolution, judge(before, resolution.schema, contract))
        self.plan = change(make_plan(request))
        plans = {("",): self.plan}
        (self.written,) = write_rows(engine, self.scan, plans, LoadTime(LOAD, NOW), folder / "rows").values()
        self.tally = self.written.tally

    def rows(self, table):
        return read(self.written.folders[table])

    def rejects(self):
        found = self.written.rejects
        return (found, read(found.folder)) if found else (None, [])


def read(folder):
    import pyarrow.dataset

    files = [str(file) for file in folder.glob("*.parquet")]
    assert files
    return pyarrow.dataset.dataset(files).to_table().to_pylist()


def write(file, documents):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
    return file


def root_key(file, number, table="t"):
    place = "\n".join((LOAD, table, str(number), shown_path(file.as_uri())))
    return base64.b64encode(hashlib.sha256(place.encode()).digest()[:10]).decode()[:14]


def expected(plan, file, documents):
    """Return what the interpreter makes of the documents: rows by table."""
    keys = iter([root_key(file, number) for number, document in enumerate(documents, 1) if not is_keyed(document)])
    return run(plan, documents, lambda: next(keys), LOAD)


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
        case datetime() | date():
            return value.isoformat()
        case _:
            return value


def with_table(name="t", **columns):
    stated = {column: Column(column, properties) for column, properties in columns.items()}
    return EMPTY.with_table(Table(name, stated, {"write_disposition": "append", "resource": name}))


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


@pytest.fixture(scope="module")
def worked(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worked")
    return Made(engine, folder, [write(folder / "data.jsonl", WORKED)])


def keys_of(rows, *names):
    return {tuple(row[name] for name in (*names, "_dlt_parent_id", "_dlt_list_idx", "_dlt_id")) for row in rows}


def test_rows_and_keys_are_those_of_dlt(worked):
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


def test_columns_are_those_of_the_schema_in_its_order(worked):
    for name, table in worked.plan.tables.items():
        complete = [column.name for column in table.columns.values() if column.is_complete]
        assert list(worked.rows(name)[0]) == complete


def test_each_row_is_counted_once(worked):
    for name, counts in worked.tally.tables.items():
        assert counts == RowCounts(read=len(worked.rows(name)))
    assert worked.tally.is_loadable


def assert_interpreted(made, file, documents):
    wanted = expected(made.plan, file, documents)
    assert not wanted.unfit
    for table in made.plan.tables:
        assert as_set(made.rows(table)) == as_set(wanted.rows[table]), table


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


def test_mixed_kinds_go_where_the_plan_says(engine, tmp_path):
    file = write(tmp_path / "mixed.jsonl", MIXED)
    before = with_table(kept={"data_type": "json", "nullable": True})
    made = Made(engine, tmp_path, [file], before)
    assert made.tally.is_loadable, made.tally
    assert_interpreted(made, file, MIXED)


def test_integers_among_other_numbers_stay_integers(engine, tmp_path):
    documents = [{"n": 1.5, "w": 2.5, "l": [0.5, [1e300, 12], 7]}, {"n": 3, "w": 4, "l": [[2.0, 1_700_000_000]]}]
    columns = {"w": Column("w", {"data_type": "text"})}
    before = EMPTY.with_table(Table("t", columns, {"write_disposition": "append", "resource": "t"}))
    file = write(tmp_path / "numbers.jsonl", documents)
    made = Made(engine, tmp_path, [file], before)
    assert [(row["n"], row["w"]) for row in made.rows("t")] == [(1.5, "2.5"), (3.0, "4")]
    assert sorted(row["value"] for row in made.rows("t__l__list")) == [2.0, 12.0, 1_700_000_000.0, 1e300]
    assert_interpreted(made, file, documents)


def test_texts_like_the_marks_of_large_integers_and_nulls_stay_texts(engine, tmp_path):
    documents = [
        {"t": "\ufdd0", "n": 2**64, "j": {"t": "word", "n": [2**64, "1"]}},
        {"t": "\ufdd012", "n": "\ufdd0", "j": {"t": "\ufdd0", "n": ["\0null", "\ufdd0 1"]}},
        {"t": "\0null", "n": -(2**70)},
    ]
    file = write(tmp_path / "marks.jsonl", documents)
    assert_interpreted(Made(engine, tmp_path, [file], with_table(j={"data_type": "json"})), file, documents)
    assert_interpreted(Made(engine, tmp_path / "again", [file]), file, documents)


def test_documents_need_not_be_objects(engine, tmp_path):
    documents = ["hello", [1, "b"], None, {"value": 3}, 2.5, {"a": {"b": [{"c": 1}]}}, []]
    file = write(tmp_path / "bare.jsonl", documents)
    assert_interpreted(Made(engine, tmp_path, [file]), file, documents)


def test_nesting_is_cut_where_the_plan_says(engine, tmp_path):
    lists = {"l": [{"m": [{"n": 1}]}, {"m": {"z": 1, "a": 2}}], "ll": [[1, {"z": 1, "a": 0}]]}
    documents = [{"a": {"b": {"c": 1}}, **lists}]
    before = with_table()
    table = before.tables["t"]
    before = before.with_table(replace(table, properties={**table.properties, "x-normalizer": {"max_nesting": 1}}))
    file = write(tmp_path / "cut.jsonl", documents)
    made = Made(engine, tmp_path, [file], before)
    assert_interpreted(made, file, documents)
    assert {row["m"] for row in made.rows("t__l")} == {'[{"n":1}]', '{"z":1,"a":2}'}


def test_rows_do_not_depend_on_files_and_partitions(engine, cut, tmp_path):
    documents = [{"n": number, "l": [{"x": at} for at in range(number % 3)]} for number in range(60)]
    file = write(tmp_path / "one.jsonl", documents)
    whole = Made(engine, tmp_path / "whole", [file])
    with cut(300):
        split = Made(engine, tmp_path / "split", [file])
    for table in ("t", "t__l"):
        assert as_set(whole.rows(table)) == as_set(split.rows(table))
    assert len({row["_dlt_id"] for row in whole.rows("t")}) == len(documents)
    assert_interpreted(whole, file, documents)


# --- contracts ---


def rejected(rows, *names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def test_refused_rows_take_what_is_nested_with_them(engine, tmp_path):
    documents = [
        {"n": 1, "l": [{"x": 1}]},
        {"n": 2, "extra": "no", "l": [{"x": 2}, {"x": 3, "sub": [1, 2]}]},
        {"n": "text", "extra": "both"},
        {"n": 4, "l": [{"x": 4, "sub": [7]}], "extra": None},
    ]
    known = with_table(n={"data_type": "bigint"})
    for name, parent, column in (("t__l", "t", "x"), ("t__l__sub", "t__l", "value")):
        known = known.with_table(Table(name, {column: Column(column, {"data_type": "bigint"})}, {"parent": parent}))
    file = write(tmp_path / "data.jsonl", documents)
    made = Made(engine, tmp_path, [file], known, "columns=discard_row,data_type=discard_row")
    assert made.tally.tables["t"] == RowCounts(read=4, rejected=2)
    assert made.tally.tables["t__l"] == RowCounts(read=4, rejected_above=2)
    assert made.tally.tables["t__l__sub"] == RowCounts(read=3, rejected_above=2)
    assert [counts.loaded for counts in made.tally.tables.values()] == [
        len(made.rows(table)) for table in made.tally.tables
    ]
    written, rows = made.rejects()
    assert list(rows[0]) == [column.name for column in STORED_REJECTS_COLUMNS]
    assert rejected(rows, "column_name", "entity", "value", "path", "line") == [
        ("extra", "columns", "both", "$.extra", 3),
        ("extra", "columns", "no", "$.extra", 2),
        ("n", "data_type", "text", "$.n", 3),
    ]
    by_line = {row["line"]: json.loads(row["row"]) for row in rows}
    assert by_line[2] == documents[1]
    assert {row["row_key"] for row in rows if row["line"] == 2} == {root_key(file, 2)}
    assert {row["inserted_at"] for row in rows} == {NOW}
    assert {each.violation.column: (each.count, each.first.number) for each in made.written.rejected} == {
        "extra": (2, 2),
        "n__v_text": (1, 3),
    }
    assert written.rows == 3


def test_refused_values_leave_their_rows(engine, tmp_path):
    documents = [{"n": 1, "l": [{"x": 1, "new": 5.5}, {"x": "s"}]}, {"n": "bad", "l": [{"new": None}]}]
    known = with_table(n={"data_type": "bigint"})
    known = known.with_table(Table("t__l", {"x": Column("x", {"data_type": "bigint"})}, {"parent": "t"}))
    file = write(tmp_path / "data.jsonl", documents)
    made = Made(engine, tmp_path, [file], known, "discard_value")
    assert made.tally.tables["t"] == RowCounts(read=2, values_rejected=1)
    assert made.tally.tables["t__l"] == RowCounts(read=3, values_rejected=2)
    assert sorted((row["n"] for row in made.rows("t")), key=repr) == [1, None]
    _, rows = made.rejects()
    assert rejected(rows, "table_name", "value", "path", "line", "row") == [
        ("t", "bad", "$.n", 2, None),
        ("t__l", "5.5", "$.l[0].new", 1, None),
        ("t__l", "s", "$.l[1].x", 1, None),
    ]


def test_rows_of_refused_tables_are_counted_and_kept(engine, tmp_path):
    documents = [{"n": 1, "l": [{"x": 1, "sub": [1]}, 2]}, {"n": 2}]
    known = with_table(n={"data_type": "bigint"})
    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], known, "tables=discard_row")
    assert "t__l" not in made.written.folders
    assert made.tally.tables == {
        "t": RowCounts(read=2),
        "t__l": RowCounts(read=2, rejected=2),
        "t__l__sub": RowCounts(read=1, rejected_above=1),
    }
    _, rows = made.rejects()
    assert rejected(rows, "table_name", "column_name", "entity", "path", "row") == [
        ("t__l", None, "tables", "$.l[0]", '{"x":1,"sub":[1]}'),
        ("t__l", None, "tables", "$.l[1]", "2"),
    ]


# --- what would be lost ---


def test_values_that_no_column_holds_are_reported(engine, tmp_path):
    documents = [{"n": 1, "small": 5}, {"n": 2**63, "small": 70000}, {"n": 2**63 + 5}]
    known = with_table(n={"data_type": "bigint"}, small={"data_type": "bigint", "precision": 16})
    file = write(tmp_path / "data.jsonl", documents)
    made = Made(engine, tmp_path, [file], known)
    assert not made.tally.is_loadable
    found = {
        each.column: (each.source, each.kind, each.count, each.first.number, each.example) for each in made.tally.unfit
    }
    assert found == {"n": ("$.n", "bigint", 2, 2, str(2**63))}
    assert made.plan.tables["t"].columns["small"].properties["precision"] == 32


def test_values_that_meet_in_one_column_of_one_row_are_reported(engine, tmp_path):
    documents = [{"Ab": 1, "l": [1]}, {"ab": 2}, {"Ab": 3, "ab": None}, {"Ab": 4, "ab": 5, "l": [1], "L": [2]}]
    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])
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


def test_primary_keys_make_row_keys_as_in_dlt(engine, tmp_path):
    documents = [{"id": 1, "k2": "b"}, {"id": "é", "k2": "b"}, {"k2": "c"}]
    change = with_key(RowKey.PRIMARY_KEY, ("id", "k2"))
    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], change=change)
    assert "ABDQfTakwqqfEA" in {row["_dlt_id"] for row in made.rows("t")}
    (unfit,) = made.tally.unfit
    assert (unfit.column, unfit.kind, unfit.count, unfit.first.number) == ("id", "null", 1, 3)


def test_primary_keys_of_stated_types_make_row_keys_as_in_dlt(engine, tmp_path):
    import pyarrow.parquet
    from dlt.common.json import json as dlt_json
    from dlt.common.normalizers.json.helpers import get_row_hash

    moment = datetime(2024, 1, 2, 3, 4, 5, 120000)
    columns = {
        "amount": pyarrow.array([Decimal("1.50"), Decimal("-0.10")], pyarrow.decimal128(10, 2)),
        "at": pyarrow.array(
            [moment.replace(tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)], pyarrow.timestamp("us", "UTC")
        ),
        "naive": pyarrow.array([moment, datetime(2024, 1, 2)], pyarrow.timestamp("us")),
        "day": [date(2024, 1, 2), date(1500, 1, 2)],
        "hour": [time(3, 4, 5, 120000), time(3, 4)],
        "raw": [b"\x00\xff" * 50, b""],
        "small": pyarrow.array([1, -2], pyarrow.int8()),
        "ratio": [0.5, 1e16],
        "is_new": [True, False],
        "name": ["é", "x"],
    }
    file = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), file)

    made = Made(engine, tmp_path, [file], change=with_key(RowKey.PRIMARY_KEY, tuple(columns)))

    # dlt hashes rows as it has stored them between its steps
    rows = [dlt_json.loads(dlt_json.typed_dumps(row)) for row in pyarrow.table(columns).to_pylist()]
    assert {row["_dlt_id"] for row in made.rows("t")} == {get_row_hash(row, list(columns)) for row in rows}


def hash_of(values):
    text = json.dumps(values, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(hashlib.shake_128(text.encode()).digest(10)).decode().rstrip("=")


def test_keys_may_have_many_columns(engine, tmp_path):
    names = [f"c{number:02}" for number in range(16)]
    documents = [dict.fromkeys(names, "a"), dict.fromkeys(names, "b")]
    file = write(tmp_path / "data.jsonl", documents)
    made = Made(engine, tmp_path, [file], change=with_key(RowKey.PRIMARY_KEY, tuple(names)))
    assert {row["_dlt_id"] for row in made.rows("t")} == {hash_of(each) for each in documents}


def test_contents_make_row_keys_as_in_dlt(engine, tmp_path):
    document = {"_dlt_x": 1, "l": [1], "b": {"Z": 1}, "a": "x"}
    file = write(tmp_path / "data.jsonl", [document])
    made = Made(engine, tmp_path, [file], change=with_key(RowKey.CONTENT))
    assert [row["_dlt_id"] for row in made.rows("t")] == ["EHMMdEwNmUIV0w"]


# --- other sources, other shapes ---


def test_typed_sources_keep_their_types(engine, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    item = pa.struct([("sku", pa.string()), ("prices", pa.list_(pa.decimal128(8, 2)))])
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "amount": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "at": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "naive": pa.array([datetime(2024, 1, 2, 3), None], pa.timestamp("us")),
            "day": pa.array([date(1500, 1, 2), None]),
            "raw": pa.array([b"\x00\xff", None]),
            "ratio": pa.array([0.5, None], pa.float32()),
            "who": pa.array([{"name": "a", "age": 1}, None], pa.struct([("name", pa.string()), ("age", pa.int16())])),
            "items": pa.array([[{"sku": "x", "prices": [Decimal("2.25")]}, None], []], pa.list_(item)),
            "attributes": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "odd.`name": pa.array(["x", None]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    made = Made(engine, tmp_path, [tmp_path / "data.parquet"])
    assert made.tally.is_loadable, made.tally
    first = next(row for row in made.rows("t") if row["id"] == 1)
    values = {name: value for name, value in first.items() if not name.startswith("_dlt")}
    assert values == {
        "id": 1,
        "amount": Decimal("1.50"),
        "at": datetime(2024, 1, 2, tzinfo=UTC),
        "naive": datetime(2024, 1, 2, 3, tzinfo=UTC),
        "day": date(1500, 1, 2),
        "raw": b"\x00\xff",
        "ratio": 0.5,
        "who__name": "a",
        "who__age": 1,
        "attributes": '{"k":1}',
        "odd_name": "x",
    }
    assert {row["sku"] for row in made.rows("t__items")} == {"x", None}
    assert [row["value"] for row in made.rows("t__items__prices")] == [Decimal("2.25")]
    assert {row["_dlt_id"] for row in made.rows("t")} == {root_key(tmp_path / "data.parquet", at) for at in (1, 2)}


@pytest.mark.spark
def test_records_of_formats_without_row_numbers_are_numbered_as_they_stand(spark, spark_engine, tmp_path):
    spark.range(40, numPartitions=2).write.orc(str(tmp_path / "data"))
    made = Made(spark_engine, tmp_path / "made", [tmp_path / "data"])
    files = sorted((tmp_path / "data").glob("*.orc"))
    assert {row["_dlt_id"] for row in made.rows("t")} == {root_key(file, at) for file in files for at in range(1, 21)}


def test_very_wide_documents_are_taken_apart(engine, tmp_path):
    documents = [{f"key_{number}": number if number % 2 else f"w{number}" for number in range(3000)}, {"key_1": "x"}]
    file = write(tmp_path / "wide.jsonl", documents)
    assert_interpreted(Made(engine, tmp_path, [file]), file, documents)


def test_very_deep_documents_are_taken_apart(engine, tmp_path):
    nested = 1
    for level in range(98):
        nested = {"o": nested} if level % 12 else [nested]
    documents = [{"d": nested}]
    file = write(tmp_path / "deep.jsonl", documents)
    assert_interpreted(Made(engine, tmp_path, [file]), file, documents)


def test_tables_without_rows_have_a_file_with_their_columns(engine, tmp_path):
    import pyarrow.parquet

    known = with_table(n={"data_type": "bigint"})
    later = Table("later", {"at": Column("at", {"data_type": DataType.TIME})}, {})

    def change(plan):
        return replace(plan, tables={**plan.tables, "later": later})

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", [{"n": 1}])], known, change=change)
    (file,) = made.written.folders["later"].glob("*.parquet")
    assert pyarrow.parquet.read_schema(file).names == ["at"]
    assert made.tally.tables["later"] == RowCounts()
