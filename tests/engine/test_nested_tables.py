"""Columns that keep structure hold every value: as structs and arrays, as JSON texts where kinds mix."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.package import write_rows
from schemactl.engine.scan import scan_inputs
from schemactl.inference.sample import Sample
from schemactl.inference.source_names import resolve_data
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.judgment import Judgment, Violation, judge
from schemactl.schema.nested_types import SPARK_TYPE, Json, ListOf, MapOf, Struct, stated_type
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

NEW = new_schema("made")
EMPTY = replace(NEW, normalizers={**NEW.normalizers, "json": {"module": "nested"}})


class Made:
    """One load: what was asked for, what was written, and the rows read back in the order of the documents."""

    def __init__(self, engine, folder, sources, before=EMPTY, judged=None, table="t"):
        scan = scan_inputs(engine, find_inputs([str(source) for source in sources]), Sample())
        resolution = resolve_data(scan.evidence, before, table, False)
        judgment = (judged or (lambda after: judge(before, after)))(resolution.schema)
        self.plan = make_plan(PlanRequest(scan.evidence, resolution, judgment))
        self.schema = judgment.schema
        now = datetime(2026, 1, 2, tzinfo=UTC)
        (written,) = write_rows(engine, scan, {("",): self.plan}, LoadTime("load1", now), folder / "rows").values()
        self.tally = written.tally
        files = sorted(str(file) for file in written.folders[table].glob("*.parquet"))
        self.table = pyarrow.dataset.dataset(files).to_table()
        self._rejects = written.rejects

    def rows(self):
        return [
            {name: restored(value, self.structure(name)) for name, value in row.items() if not name.startswith("_dlt")}
            for row in self.table.to_pylist()
        ]

    def structure(self, column):
        return stated_type(self.schema.tables["t"].columns[column])

    def rejects(self):
        found = self._rejects
        return [] if found is None else pyarrow.parquet.read_table(found.folder).to_pylist()


def restored(value, structure):
    """Return a value as its document has it, but for keys that are null."""
    match structure:
        case None:
            return value
        case Json() if value is not None:
            return without_nulls(json.loads(value))
        case Struct(fields) if value is not None:
            found = {name: restored(value[name], inner) for name, inner in fields}
            return {name: each for name, each in found.items() if each is not None}
        case ListOf(element) if value is not None:
            return [restored(each, element) for each in value]
        case MapOf(inner) if value is not None:
            return {key: restored(each, inner) for key, each in value}
        case _:
            return int(value) if isinstance(value, Decimal) else value


def without_nulls(value):
    match value:
        case dict():
            return {key: without_nulls(each) for key, each in value.items() if each is not None}
        case list():
            return [without_nulls(each) for each in value]
        case _:
            return value


def write(file, documents):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
    return file


def asked(documents):
    return [without_nulls(document) for document in documents]


ODD = [
    {"n": 1, "p": {"a": 1, "b": [1, 2], "c": [{"x": 1}, {"y": None, "x": 2.5}], "mixed": [1, "a", {"x": [None]}]}},
    {"n": 2, "p": {"empty": {}, "none": [], "case": {"k": 1, "K": "2"}, "blank": {"": 1}, "nulls": {"x": None}}},
    {"n": 3, "p": {"large": 2**70, "A B": "t", "wide": 10**60, "either": 1.5, "both": True, "only": None}},
    {"n": 4, "p": {"large": -5, "either": 2**60, "both": {"x": [2**65, "2", 0.25, -0.0]}, "d": [1, 2.25, None]}},
    {"n": 5, "p": {"deep": [[[1], [], None], [[2, None]]], "a.b": {"`x'\"": 1, "ü${y}": [["12", ""]]}}},
    {"n": 6, "p": {"mixed": 9007199254740993, "text": "12", "e": 1e300}},
    {"n": 7, "p": None},
    {"n": 8, "p": {}},
    {"n": 9, "p": {"deep": None, "c": [None, {}], "text": "\\ \u0001 \U0001f600"}},
]


@pytest.fixture(scope="module")
def odd(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    return Made(engine, folder, [write(folder / "data.jsonl", ODD)])


def test_every_value_of_odd_data_is_found_again(odd):
    assert [{key: row[key] for key in ("n", "p")} for row in odd.rows()] == [
        {"p": None, **document} for document in asked(ODD)
    ]
    assert odd.tally.is_loadable


def test_places_of_one_kind_are_spark_types_and_others_json_texts(odd):
    assert odd.schema.tables["t"].columns["p"].properties[SPARK_TYPE] == (
        "struct<a:bigint,b:array<bigint>,c:array<struct<x:double>>,mixed:string COMMENT 'json',"
        "empty:string COMMENT 'json',none:string COMMENT 'json',case:string COMMENT 'json',"
        "blank:string COMMENT 'json',nulls:string COMMENT 'json',large:decimal(38,0),`A B`:string,"
        "wide:string COMMENT 'json',either:string COMMENT 'json',both:string COMMENT 'json',d:array<double>,"
        "deep:array<array<array<bigint>>>,`a.b`:struct<`` `x'\"` ``:bigint,`ü${y}`:array<array<string>>>,"
        "text:string,e:double>"
    ).replace("`` `x'\"` ``", "```x'\"`")
    inner = odd.table.schema.field("p").type
    assert inner.field("large").type == pyarrow.decimal128(38, 0)
    assert pyarrow.types.is_list(inner.field("deep").type.value_type)


def test_a_field_that_is_only_null_waits_for_a_value(odd):
    assert "only" not in dict(odd.structure("p").fields)


def test_scalars_beside_objects_go_to_their_own_columns(engine, tmp_path):
    documents = [{"p": {"a": 1, "b": ["x"]}}, {"p": 5}, {"p": "t"}, {"p": [1]}, {"p": {"b": [], "large": 2**66}}]

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])

    # Objects and lists mix here, so the column holds JSON texts.
    assert [row["p"] for row in made.rows()] == [{"a": 1, "b": ["x"]}, None, None, [1], {"b": [], "large": 2**66}]
    assert [row["p__v_bigint"] for row in made.rows()] == [None, 5, None, None, None]
    assert [row["p__v_text"] for row in made.rows()] == [None, None, "t", None, None]


def test_objects_keep_structure_beside_scalars_that_came_first(engine, tmp_path):
    documents = [{"p": 5}, {"p": {"a": 2**66, "m": [1, "7"], "d": 1}}, {"p": {"d": 0.5, "s": "x", "b": True}}]

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])

    assert [row["p"] for row in made.rows()] == [5, None, None]
    assert [row["p__v_json"] for row in made.rows()] == [None, *(each["p"] for each in documents[1:])]
    assert made.schema.tables["t"].columns["p__v_json"].properties[SPARK_TYPE] == (
        "struct<a:decimal(38,0),m:string COMMENT 'json',d:double,s:string,b:boolean>"
    )


def test_documents_that_are_lists_keep_them(engine, tmp_path):
    documents = [[1, 2], [3], {"value": [4], "o": {"k": [None]}}]

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])

    assert [row["value"] for row in made.rows()] == [[1, 2], [3], [4]]
    assert made.rows()[2]["o"] == {"k": [None]}


def test_known_structs_grow_at_the_end_and_keep_the_types_they_have(engine, tmp_path):
    first = Made(engine, tmp_path / "1", [write(tmp_path / "a.jsonl", [{"p": {"d": 1.5, "l": [1], "j": [1, "a"]}}])])

    documents = [{"p": {"new": "x", "d": 2, "l": [], "j": 1}}, {"p": {"l": None}}]
    second = Made(engine, tmp_path / "2", [write(tmp_path / "b.jsonl", documents)], first.schema)

    assert second.schema.tables["t"].columns["p"].properties[SPARK_TYPE] == (
        "struct<d:double,l:array<bigint>,j:string COMMENT 'json',new:string>"
    )
    assert [row["p"] for row in second.rows()] == asked(each["p"] for each in documents)


def test_a_field_of_another_type_than_before_becomes_json_text(engine, tmp_path):
    before = stating(p={"data_type": "json", SPARK_TYPE: "struct<a:bigint,b:struct<c:string>>"})

    made = Made(
        engine, tmp_path, [write(tmp_path / "data.jsonl", [{"p": {"a": 1.5, "b": [1]}}, {"p": {"a": 7}}])], before
    )

    assert made.schema.tables["t"].columns["p"].properties[SPARK_TYPE] == (
        "struct<a:string COMMENT 'json',b:string COMMENT 'json'>"
    )
    assert [row["p"] for row in made.rows()] == [{"a": 1.5, "b": [1]}, {"a": 7}]


def test_a_stated_map_keeps_keys_that_are_data(engine, tmp_path):
    before = stating(
        p={"data_type": "json", SPARK_TYPE: "map<string,double>"},
        q={"data_type": "json", SPARK_TYPE: "struct<m:map<string,struct<n:decimal(38,0),j:string COMMENT 'json'>>>"},
    )
    documents = [
        {"p": {"a": 1.5, "A": 2, "b c": None}, "q": {"m": {"k": {"n": 2**70, "j": [1]}, "l": {"n": 1, "j": "x"}}}},
        {"p": {}, "q": {"m": {}}},
        {"p": None},
        {"q": {"m": {"late": {"new": True}, "none": None}}},
    ]

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], before)

    assert made.schema.tables["t"].columns["p"].properties[SPARK_TYPE] == "map<string,double>"
    assert made.schema.tables["t"].columns["q"].properties[SPARK_TYPE] == (
        "struct<m:map<string,struct<n:decimal(38,0),j:string COMMENT 'json',new:boolean>>>"
    )
    assert [(row["p"], row["q"]) for row in made.rows()] == [(each.get("p"), each.get("q")) for each in documents]


def test_a_column_without_a_spark_type_keeps_json_texts(engine, tmp_path):
    before = stating(p={"data_type": "json"})

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", [{"p": {"a": 1}}])], before)

    assert made.table["p"].to_pylist() == ['{"a":1}']
    assert SPARK_TYPE not in made.schema.tables["t"].columns["p"].properties


def test_parquet_keeps_the_types_it_states(engine, tmp_path):
    rows = [
        {"n": 1, "p": {"at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "on": date(2026, 1, 2), "raw": b"\x00"}},
        {"n": 2, "p": {"price": Decimal("1.50"), "tags": [{"k": 1}, None], "small": 7, "map": [("a", {"x": 2})]}},
        {"n": 3, "p": None},
    ]
    inner = pyarrow.struct(
        {
            "at": pyarrow.timestamp("us", "UTC"), "on": pyarrow.date32(), "raw": pyarrow.binary(),
            "price": pyarrow.decimal128(10, 2), "tags": pyarrow.list_(pyarrow.struct({"k": pyarrow.int32()})),
            "small": pyarrow.int8(), "map": pyarrow.map_(pyarrow.string(), pyarrow.struct({"x": pyarrow.int8()})),
        }
    )  # fmt: skip
    table = pyarrow.Table.from_pylist(rows, pyarrow.schema({"n": pyarrow.int64(), "p": inner}))
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")

    made = Made(engine, tmp_path, [tmp_path / "data.parquet"])

    assert made.schema.tables["t"].columns["p"].properties[SPARK_TYPE] == (
        "struct<at:timestamp,on:date,raw:binary,price:decimal(10,2),tags:array<struct<k:bigint>>,small:bigint,"
        "map:map<string,struct<x:bigint>>>"
    )
    found = made.table["p"].to_pylist()
    names = [name for name, _ in made.structure("p").fields if name != "map"]
    expected = [None if row["p"] is None else {name: row["p"].get(name) for name in names} for row in rows]
    assert [each and {name: each[name] for name in names} for each in found] == expected
    assert [each and each["map"] for each in found] == [None, [("a", {"x": 2})], None]


KEYS = {
    "text": (pyarrow.string(), "a'b", "a'b"),
    "whole": (pyarrow.int8(), -3, "-3"),
    "number": (pyarrow.float64(), 0.5, "0.5"),
    "bool": (pyarrow.bool_(), True, "true"),
    "money": (pyarrow.decimal128(10, 2), Decimal("1.50"), "1.50"),
    "day": (pyarrow.date32(), date(2026, 1, 2), "2026-01-02"),
    "time": (pyarrow.time64("us"), time(1, 2, 3), "01:02:03"),
    "moment": (pyarrow.timestamp("us", "UTC"), datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02 03:00:00"),
}


def test_keys_of_maps_become_texts(engine, tmp_path):
    kinds = {name: pyarrow.map_(of, pyarrow.int64()) for name, (of, *_) in KEYS.items()}
    maps = {name: pyarrow.array([[(KEYS[name][1], 1)], None], kind) for name, kind in kinds.items()}
    pyarrow.parquet.write_table(pyarrow.table(maps), tmp_path / "data.parquet")

    made = Made(engine, tmp_path, [tmp_path / "data.parquet"])

    columns = made.schema.tables["t"].columns
    assert {columns[name].properties[SPARK_TYPE] for name in KEYS} == {"map<string,bigint>"}
    found = {name: made.table[name].to_pylist() for name in KEYS}
    assert found == {name: [[(text, 1)], None] for name, (*_, text) in KEYS.items()}


def test_maps_whose_keys_are_no_texts_or_whose_values_are_of_any_type_are_json_texts(engine, tmp_path):
    raw, pair = pyarrow.binary(), pyarrow.struct({"a": pyarrow.int64()})
    both = pyarrow.struct({"a": pyarrow.int64(), "A": pyarrow.int64()})
    maps = {
        "raw": pyarrow.array([[(b"a", 1)]], pyarrow.map_(raw, pyarrow.int64())),
        "pair": pyarrow.array([[({"a": 1}, 2)]], pyarrow.map_(pair, pyarrow.int64())),
        "both": pyarrow.array([[("k", {"a": 1, "A": 2})]], pyarrow.map_(pyarrow.string(), both)),
    }
    pyarrow.parquet.write_table(pyarrow.table(maps), tmp_path / "data.parquet")

    made = Made(engine, tmp_path, [tmp_path / "data.parquet"])

    assert {made.schema.tables["t"].columns[name].properties[SPARK_TYPE] for name in maps} == {"string"}
    assert all(isinstance(json.loads(made.table[name][0].as_py()), dict) for name in maps)
    assert json.loads(made.table["both"][0].as_py()) == {"k": {"a": 1, "A": 2}}


def test_json_and_parquet_of_one_structure_meet_in_one_column(engine, tmp_path):
    table = pyarrow.Table.from_pylist([{"p": {"a": 1, "b": "x", "c": 2.5}}])
    pyarrow.parquet.write_table(table, tmp_path / "1.parquet")
    write(tmp_path / "2.jsonl", [{"p": {"a": 2, "b": 3, "d": [True]}}])

    made = Made(engine, tmp_path, [tmp_path / "1.parquet", tmp_path / "2.jsonl"])

    assert sorted((row["p"] for row in made.rows()), key=lambda row: row["a"]) == [
        {"a": 1, "b": "x", "c": 2.5}, {"a": 2, "b": 3, "d": [True]},
    ]  # fmt: skip


def test_values_that_fit_the_old_structure_are_loaded_where_the_new_one_is_refused(engine, tmp_path):
    before = stating(
        p={"data_type": "json", SPARK_TYPE: "struct<a:bigint,l:array<struct<x:bigint>>,s:struct<k:string>>"}
    )
    documents = [
        {"n": 1, "p": {"a": 1, "l": [{"x": 1}, {"x": None}], "s": {"k": "v"}}},
        {"n": 2, "p": {"a": 2, "new": 1}},
        {"n": 3, "p": {"a": "three"}},
        {"n": 4, "p": {"a": 4, "l": [{"x": 1}, {"y": 2}]}},
        {"n": 5, "p": {"a": 5, "l": [None], "new": None, "s": None}},
        {"n": 6, "p": {"a": 6, "s": [1]}},
        {"n": 7, "p": None},
    ]

    made = Made(
        engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], before, refusing(before, Mode.DISCARD_VALUE)
    )

    expected = {1: documents[0]["p"], 5: {"a": 5, "l": [None]}}
    assert {row["n"]: row["p"] for row in made.rows()} == {
        n: without_nulls(expected[n]) if n in expected else None for n in range(1, 8)
    }
    assert made.table.schema.field("p").type.num_fields == 3
    assert [json.loads(each["value"])["a"] for each in made.rejects()] == [2, "three", 4, 6]


def test_a_column_that_would_be_json_text_takes_what_keeps_its_structure_where_that_is_refused(engine, tmp_path):
    before = stating(p={"data_type": "json", SPARK_TYPE: "struct<a:bigint,l:array<double>>"})
    documents = [
        {"n": 1, "p": {"a": 1, "l": [1, 2.5]}}, {"n": 2, "p": [1]}, {"n": 3, "p": {"a": 1.5}}, {"n": 4, "p": {"b": 1}},
        {"n": 5, "p": {"l": [2**60]}}, {"n": 6, "p": {"l": [None], "b": None}},
    ]  # fmt: skip

    made = Made(
        engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], before, refusing(before, Mode.DISCARD_ROW)
    )

    assert {row["n"]: row["p"] for row in made.rows()} == {1: {"a": 1, "l": [1, 2.5]}, 6: {"l": [None]}}
    assert (made.tally.tables["t"].read, made.tally.tables["t"].rejected) == (6, 4)
    assert sorted(each["value"] for each in made.rejects()) == [
        "[1]",
        '{"a":1.5}',
        '{"b":1}',
        '{"l":[1152921504606846976]}',
    ]


@pytest.mark.parametrize("name", ["github_events", "orders"])
def test_fixtures_are_found_again(engine, tmp_path, fixtures, name):
    file = fixtures / f"{name}.jsonl"
    documents = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()][:300]
    nested = sorted(
        {key for document in documents for key, value in document.items() if isinstance(value, dict | list)}
    )

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])

    assert nested
    for key in nested:
        if all(isinstance(document.get(key), dict | list | None) for document in documents):
            assert [row[key] for row in made.rows()] == [without_nulls(document.get(key)) for document in documents]


def test_made_up_documents_are_found_again_whatever_they_hold(engine, tmp_path):
    chance = random.Random(7)
    documents = [{"n": n, "p": {key: made_up(chance, 3) for key in "abc"}} for n in range(200)]

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)])

    assert [row["p"] for row in made.rows()] == [without_nulls(document["p"]) for document in documents]


def made_up(chance, levels):
    scalars = [None, True, 0, -7, 2**53 + 1, 2**64, 1.5, -2.5e-7, 1e22, "", "1", "ü\n"]
    kind = chance.choice(["scalar", "list", "object"]) if levels else "scalar"
    if kind == "list":
        return [made_up(chance, levels - 1) for _ in range(chance.randrange(3))]
    if kind == "object":
        return {chance.choice(["x", "y", "Y z", "`"]): made_up(chance, levels - 1) for _ in range(chance.randrange(3))}
    return chance.choice(scalars)


def stating(**columns):
    stated = {"n": Column("n", {"data_type": str(DataType.BIGINT)})}
    stated |= {name: Column(name, properties) for name, properties in columns.items()}
    return EMPTY.with_table(Table("t", stated, {"write_disposition": "append", "resource": "t"}))


def refusing(before, mode):
    """A contract that takes no new type for column `p`."""

    def judged(after):
        violation = Violation("t", "p", Entity.DATA_TYPE, mode, "old", "new")
        columns = {**after.tables["t"].columns, "p": before.tables["t"].columns["p"]}
        return Judgment(after.with_table(replace(after.tables["t"], columns=columns)), (violation,))

    return judged
