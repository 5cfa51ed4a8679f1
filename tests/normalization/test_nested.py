"""The normalizer that keeps structure: types as text, types from evidence, and what becomes of single columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.inference.evidence import Evidence, FileEvidence, Position, merge, observe
from schemactl.inference.nested_schema import structures_in
from schemactl.inference.source_names import resolve_data
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.judgment import Judgment, Violation, judge
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, Struct, is_within, read_type, write_type
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

NEW = new_schema("shop")
EMPTY = replace(NEW, normalizers={**NEW.normalizers, "json": {"module": "nested"}})


def evidence_of(*documents):
    return observe((Position("f", number), document) for number, document in enumerate(documents, 1))


def resolved(*documents, before=EMPTY):
    return resolve_data(evidence_of(*documents), before, "t", False).schema


def type_of(*values, before=EMPTY):
    return (
        resolved(*({"p": value} for value in values), before=before).tables["t"].columns["p"].properties["x-spark-type"]
    )


def stating(before=EMPTY, table=None, **columns):
    stated = {name: Column(name, properties) for name, properties in columns.items()}
    return before.with_table(Table("t", stated, {"write_disposition": "append", "resource": "t", **(table or {})}))


def kept_as(spark_type):
    return stating(p={"data_type": "json", "x-spark-type": spark_type})


# --- types as text ---

LEAVES = st.sampled_from(
    ["bigint", "double", "boolean", "string", "binary", "date", "timestamp", "decimal(38,0)", "time(6)"]
)
NAMES = st.text(min_size=1, max_size=6).filter(lambda name: "\0" not in name)


def structs(inner):
    field = inner | st.just(Json())
    return st.dictionaries(NAMES, field, min_size=1, max_size=4).map(lambda found: Struct(tuple(found.items())))


TYPES = st.recursive(
    LEAVES.map(Leaf), lambda inner: inner.map(ListOf) | inner.map(MapOf) | structs(inner), max_leaves=8
)


@given(TYPES)
def test_a_type_is_read_as_it_was_written(of):
    assert read_type(write_type(of)) == of


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (" STRUCT < a : INT , `b c` long > ", "struct<a:bigint,`b c`:bigint>"),
        ("array<decimal( 10 , 2 )>", "array<decimal(10,2)>"),
        ("array<decimal>", "array<decimal(10,0)>"),
        ("struct<a:string COMMENT 'json',b:string comment 'a word'>", "struct<a:string COMMENT 'json',b:string>"),
        ("struct<`a``b`:array<array<time>>>", "struct<`a``b`:array<array<time(6)>>>"),
    ],
)
def test_spark_spellings_are_understood(text, written):
    assert write_type(read_type(text)) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("decimal(12)", "decimal(12,0)"), ("dec", "decimal(10,0)"), ("decimal( 05 , 2 )", "decimal(5,2)")],
)
def test_sizes_that_are_not_said_are_spark_s_own(text, written):
    assert write_type(read_type(f"struct<n:{text}>")) == f"struct<n:{written}>"


@pytest.mark.parametrize("text", ["decimal(a)", "decimal(10>", "struct<a:int)", "decimal(1,2,3)", "time(1,2)"])
def test_a_type_with_other_marks_or_sizes_is_refused(text):
    with pytest.raises(ValueError, match=r"expected|sizes"):
        read_type(text)


@pytest.mark.parametrize(("text", "reason"), [
    ("struct<a:strin>", "the type `strin`"), ("struct<a:bigint", "too early"), ("struct<a:bigint>>", "unexpected `>`"),
    ("struct<a:bigint,a:string>", "`a` is duplicated"), ("map<bigint,bigint>", "map keys must be strings"),
    ("map<string>", "expected `,`, found `>`"), ("array<>", "expected a name, found `>`"),
    ("bigint", "is not an object or list type"), ("struct<a;bigint>", "is not understood"),
])  # fmt: skip
def test_what_is_no_such_type_is_reported_with_its_column(text, reason):
    with pytest.raises(InputError, match=f"column `p` has `x-spark-type.*{reason}"):
        type_of({"a": 1}, before=kept_as(text))


@pytest.mark.parametrize(
    ("old", "new", "is_readable"),
    [
        ("struct<a:bigint>", "struct<b:string,a:bigint>", True),
        ("array<struct<a:array<string>>>", "array<struct<a:array<string>,b:date>>", True),
        ("struct<a:string>", "struct<a:string COMMENT 'json'>", True),
        ("struct<a:bigint,b:bigint>", "struct<a:bigint>", False),
        ("struct<a:bigint>", "struct<a:double>", False),
        ("map<string,struct<a:bigint>>", "map<string,struct<a:bigint,b:date>>", True),
        ("map<string,bigint>", "struct<a:bigint>", False),
        ("array<bigint>", "struct<a:bigint>", False),
    ],
)
def test_files_are_read_together_where_fields_were_only_added(old, new, is_readable):
    assert is_within(read_type(old), read_type(new)) is is_readable


# --- types from evidence ---


@pytest.mark.parametrize(("values", "spark_type"), [
    ([{"a": 1, "b": 1.5, "c": True, "d": "x"}], "struct<a:bigint,b:double,c:boolean,d:string>"),
    ([{"d": "2026-01-31"}], "struct<d:string>"),
    ([{"a": 1}, {"a": 0.5}], "struct<a:double>"),
    ([{"a": 2**53 - 1}, {"a": 0.5}], "struct<a:double>"),
    ([{"a": 2**53}, {"a": 0.5}], "struct<a:string COMMENT 'json'>"),  # evidence may have rounded 2^53 + 1
    ([{"a": 2**53 + 2}, {"a": 0.5}], "struct<a:string COMMENT 'json'>"),
    ([{"a": -(2**60)}, {"a": 0.5}], "struct<a:string COMMENT 'json'>"),
    ([{"a": 2**63 - 1}], "struct<a:bigint>"),
    ([{"a": 2**63}, {"a": 1}], "struct<a:decimal(38,0)>"),
    ([{"a": 10**37}], "struct<a:decimal(38,0)>"),
    ([{"a": 10**38}], "struct<a:string COMMENT 'json'>"),
    ([{"a": 10**90}], "struct<a:string COMMENT 'json'>"),
    ([{"a": 2**64}, {"a": 0.5}], "struct<a:string COMMENT 'json'>"),
    ([{"a": 1}, {"a": "1"}], "struct<a:string COMMENT 'json'>"),
    ([{"a": 1}, {"a": {}}], "struct<a:string COMMENT 'json'>"),
    ([{"a": [1]}, {"a": {"b": 1}}], "struct<a:string COMMENT 'json'>"),
    ([[1, 2], [None], []], "array<bigint>"),
    ([[1, "a"]], "string"),
    ([{"a": [[1], ["x"]], "b": 1}], "struct<a:string COMMENT 'json',b:bigint>"),
    ([[{"a": 1}, {"b": [{}]}]], "array<struct<a:bigint,b:string COMMENT 'json'>>"),
    ([{"a": None, "b": 1}], "struct<b:bigint>"),
    ([{"a": None}], "string"),
    ([{}], "string"),
    ([[]], "string"),
    ([{"a": 1, "A": 2}], "string"),
    ([{"a": {"": 1}, "b": {"k": 1, "K": 1}, "c": 1}],
     "struct<a:string COMMENT 'json',b:string COMMENT 'json',c:bigint>"),
    ([{"z": 1, "a": 1}, {"m": 1, "a": 1}], "struct<z:bigint,a:bigint,m:bigint>"),
    ([{"Ünïcode key": 1, "a.b": 1, "a`b": 1}], "struct<`Ünïcode key`:bigint,`a.b`:bigint,`a``b`:bigint>"),
])  # fmt: skip
def test_a_place_of_one_kind_has_its_type_and_others_are_json_texts(values, spark_type):
    assert type_of(*values) == spark_type


@pytest.mark.parametrize(("before", "value", "after"), [
    ("struct<a:bigint>", {"b": [True], "a": 2}, "struct<a:bigint,b:array<boolean>>"),
    ("struct<b:bigint,a:struct<x:string>>", {"a": {"y": 1}}, "struct<b:bigint,a:struct<x:string,y:bigint>>"),
    ("array<struct<a:bigint>>", [{"b": 1}], "array<struct<a:bigint,b:bigint>>"),
    ("struct<a:double>", {"a": 1}, "struct<a:double>"),
    ("struct<a:double>", {"a": 2**60}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:bigint>", {"a": 0.5}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:bigint>", {"a": 2**70}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:decimal(38,0)>", {"a": 1}, "struct<a:decimal(38,0)>"),
    ("struct<a:string>", {"a": 1}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:string COMMENT 'json'>", {"a": "x"}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:timestamp>", {"a": None, "b": 1}, "struct<a:timestamp,b:bigint>"),
    ("struct<a:struct<x:bigint>>", {"a": {}}, "struct<a:struct<x:bigint>>"),
    ("struct<a:array<bigint>>", {"a": []}, "struct<a:array<bigint>>"),
    ("struct<a:array<bigint>>", {"a": ["x"]}, "struct<a:string COMMENT 'json'>"),
    ("struct<a:bigint>", {"A": 1}, "string"),
    ("struct<a:bigint>", [1], "string"),
    ("string", {"a": 1}, "string"),
    ("map<string,bigint>", {"b": 1, "B": None}, "map<string,bigint>"),
    ("map<string,struct<a:bigint>>", {"k": {"b": 1}, "l": {"c": "x"}},
     "map<string,struct<a:bigint,b:bigint,c:string>>"),
    ("struct<m:map<string,bigint>>", {"m": {}}, "struct<m:map<string,bigint>>"),
    ("map<string,bigint>", {"b": "x"}, "string"),
    ("map<string,bigint>", [1], "string"),
])  # fmt: skip
def test_a_known_type_grows_and_becomes_json_text_where_it_would_change(before, value, after):
    assert type_of(value, before=kept_as(before)) == after


LATER = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(-1e30, 1e30) | st.just("x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abA"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.just("p"), st.dictionaries(st.sampled_from("abA"), LATER, max_size=3)), max_size=4))
def test_the_same_data_twice_changes_no_type(documents):
    once = resolved(*documents)

    assert resolved(*documents, before=once).tables == once.tables


@given(st.lists(st.dictionaries(st.sampled_from("pq"), LATER, max_size=2), min_size=1, max_size=6), st.integers(0, 6))
def test_any_partitioning_gives_the_same_types(documents, cut):
    positions = [(Position("f", number), document) for number, document in enumerate(documents, 1)]
    parts = merge(observe(positions[cut:]), observe(positions[:cut]))

    assert resolve_data(parts, EMPTY, "t", False).schema == resolved(*documents)


def test_types_that_sources_state_are_kept_where_all_agree():
    typed = {
        ("p", "at"): {"data_type": "timestamp", "precision": 6},
        ("p", "price"): {"data_type": "decimal", "precision": 10, "scale": 2},
        ("p", "tags", None): {"data_type": "bigint", "precision": 32},
        ("p", "map"): {"data_type": "json"},
        ("m",): {"data_type": "json"},
    }
    evidence = Evidence(files={"a.parquet": FileEvidence(1)}, declared=typed)
    columns = resolve_data(evidence, EMPTY, "t", False).schema.tables["t"].columns

    assert columns["p"].properties["x-spark-type"] == (
        "struct<at:timestamp,price:decimal(10,2),tags:array<bigint>,map:string COMMENT 'json'>"
    )
    assert columns["m"].properties["x-spark-type"] == "string"

    mixed = merge(evidence, evidence_of({"p": {"at": "2026-01-31", "tags": [1], "more": 1}}))
    assert resolve_data(mixed, EMPTY, "t", False).schema.tables["t"].columns["p"].properties["x-spark-type"] == (
        "struct<at:string COMMENT 'json',price:decimal(10,2),tags:array<bigint>,map:string COMMENT 'json',more:bigint>"
    )


# --- columns ---


def test_columns_are_those_of_the_relational_normalizer_at_its_first_level():
    documents = [{"id": 1, "p": {"a": [1]}, "at": "2026-01-31T10:00:00Z"}, {"id": "x", "p": 5}]
    shallow = {**NEW.normalizers, "json": {"module": "relational", "config": {"max_nesting": 0}}}

    ours = resolved(*documents).tables
    theirs = resolved(*documents, before=replace(NEW, normalizers=shallow)).tables

    assert [table for table in ours if not table.startswith("_dlt")] == ["t"]
    assert list(ours["t"].columns) == list(theirs["t"].columns)
    without = {key: value for key, value in ours["t"].columns["p"].properties.items() if key != "x-spark-type"}
    assert without == theirs["t"].columns["p"].properties


def test_a_schema_says_of_its_normalizer_what_it_said_before():
    config = {"module": "nested", "config": {"max_nesting": 3}}
    before = replace(NEW, normalizers={**NEW.normalizers, "json": config})

    assert resolved({"p": {}}).normalizers == EMPTY.normalizers
    assert resolved({"p": {}}, before=before).normalizers == before.normalizers


def test_levels_below_max_nesting_are_json_texts():
    by_config = replace(
        NEW, normalizers={**NEW.normalizers, "json": {"module": "nested", "config": {"max_nesting": 1}}}
    )
    by_table = stating(table={"x-normalizer": {"max_nesting": 2}})

    assert type_of({"a": 1, "b": [1]}, before=by_config) == "struct<a:bigint,b:string COMMENT 'json'>"
    assert type_of({"b": [{"c": 1}]}, before=by_config) == "struct<b:string COMMENT 'json'>"
    assert type_of({"b": {"c": 1, "d": []}}, before=by_table) == "struct<b:struct<c:bigint,d:string COMMENT 'json'>>"
    assert resolved({"p": []}, before=by_table).tables["t"].normalizer_hint("max_nesting") == 2


@pytest.mark.parametrize(
    "before",
    [
        stating(p={"data_type": "json"}),
        stating(p={"nullable": False, "primary_key": True}),
        replace(EMPTY, settings={**EMPTY.settings, "preferred_types": {"re:^p$": "json"}}),
    ],
    ids=["stated as json", "a key", "preferred as json"],
)
def test_a_column_keeps_json_texts_where_the_schema_asks_for_them(before):
    schema = resolved({"p": {"a": 1}}, before=before)

    assert "x-spark-type" not in schema.tables["t"].columns["p"].properties
    assert list(structures_in(schema)) == []


def test_texts_that_hold_json_make_a_known_column_json_text():
    assert type_of({"a": 1}, '{"a": 2}') == "string"


def test_two_keys_of_one_column_are_kept_in_one_type():
    schema = resolved({"p": {"a": 1}}, {"P": {"b": "x"}})

    assert schema.tables["t"].columns["p"].properties["x-spark-type"] == "struct<a:bigint,b:string>"


# --- plans ---


def plan_of(evidence, before, judged=None):
    resolution = resolve_data(evidence, before, "t", False)
    judgment = judged(resolution.schema) if judged else judge(before, resolution.schema)
    return make_plan(PlanRequest(evidence, resolution, judgment))


def test_a_plan_has_one_table_whose_cells_keep_structure():
    plan = plan_of(evidence_of({"id": 1, "p": {"a": [1]}, "l": [1, "a"]}, {"p": "word"}), EMPTY)

    cells = {cell.name: cell for cell in plan.rows.cells}
    structure = Struct((("a", ListOf(Leaf("bigint"))),))
    assert (plan.rows.lists, list(plan.tables)) == ((), ["t"])
    assert (cells["p"].structure, cells["id"].structure, cells["l"].structure) == (structure, None, None)
    assert [target.structure for target in cells["p"].targets["json"]] == [structure]
    assert [target.column.name for target in cells["p"].targets["text"]] == ["p__v_text"]
    assert plan.structures == {("t", "p"): structure}


def test_a_refused_type_leaves_the_old_one_to_values_that_fit_it():
    before = kept_as("struct<a:bigint>")
    violation = Violation("t", "p", Entity.DATA_TYPE, Mode.DISCARD_VALUE, "old", "new")

    plan = plan_of(
        evidence_of({"p": {"a": 1, "b": 2}}), before,
        lambda after: Judgment(replace(after, tables={**after.tables, "t": before.tables["t"]}), (violation,)),
    )  # fmt: skip

    (cell,) = plan.rows.cells
    old, new = cell.targets["json"]
    assert (old.structure, old.refusal) == (Struct((("a", Leaf("bigint")),)), None)
    assert (new.structure, new.refusal) == (cell.structure, violation)
    assert plan.structures == {("t", "p"): old.structure}


def test_other_normalizers_keep_no_structure_whatever_a_column_states():
    before = replace(kept_as("struct<a:bigint>"), normalizers=NEW.normalizers)

    plan = plan_of(evidence_of({"p": {"a": 1}}), before)

    assert plan.structures == {}
    assert [cell.structure for cell in plan.rows.cells] == [None]
    assert list(structures_in(before)) == []
