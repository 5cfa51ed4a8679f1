"""Types of maps that sources state come together in one that keeps them all, in any order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.evidence import Evidence, FileEvidence, Position, merge, observe
from schemactl.inference.nested_schema import map_of_declared, merge_structures
from schemactl.inference.source_names import resolve_data
from schemactl.inference.widening import MAPS, widen
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, Struct, read_type, write_type
from schemactl.schema.templates import new_schema

NEW = new_schema("demo")
NESTED = replace(NEW, normalizers={**NEW.normalizers, "json": {"module": "nested"}})

LEAVES = st.sampled_from(
    ["bigint", "double", "string", "date", "timestamp", "decimal(10,2)", "decimal(38,0)", "time(3)"]
).map(Leaf)
TYPES = st.recursive(
    LEAVES,
    lambda inner: (
        inner.map(ListOf)
        | inner.map(MapOf)
        | st.dictionaries(st.sampled_from("abc"), inner | st.just(Json()), min_size=1).map(
            lambda found: Struct(tuple(found.items()))
        )
    ),
    max_leaves=5,
)
MAP_TYPES = TYPES.map(lambda value: write_type(MapOf(value)))


def column(*types):
    return {"data_type": "json", MAPS: sorted(set(types))}


def kept(*types, levels=50):
    return write_type(map_of_declared(column(*types), levels))


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["map<string,bigint>"], "map<string,bigint>"),
        (["map<string,bigint>", "map<string,double>"], "map<string,double>"),
        (["map<string,bigint>", "map<string,string>"], "string"),
        (["map<string,date>", "map<string,timestamp_ntz>"], "map<string,timestamp>"),
        (["map<string,time(3)>", "map<string,time(6)>"], "map<string,time(6)>"),
        (["map<string,decimal(10,2)>", "map<string,decimal(12,6)>"], "map<string,decimal(14,6)>"),
        (["map<string,decimal(38,2)>", "map<string,decimal(38,6)>"], "string"),
        (["map<string,decimal(10,2)>", "map<string,bigint>"], "string"),
        (["map<string,bigint>", "map<string,array<bigint>>"], "string"),
        (["map<string,struct<a:bigint>>", "map<string,struct<b:map<string,date>>>"],
         "map<string,struct<a:bigint,b:map<string,date>>>"),
        (["map<string,struct<a:bigint>>", "map<string,struct<a:string,b:date>>"],
         "map<string,struct<a:string COMMENT 'json',b:date>>"),
        (["map<string,struct<a:bigint>>", "map<string,struct<A:bigint>>"], "string"),
        (["map<string,array<map<string,bigint>>>", "map<string,array<map<string,double>>>"],
         "map<string,array<map<string,double>>>"),
    ],
)  # fmt: skip
def test_one_type_keeps_the_maps_of_all_sources(types, expected):
    assert kept(*types) == expected


@pytest.mark.parametrize(("levels", "expected"), [
    (0, "string"), (1, "string"), (2, "map<string,struct<a:bigint,b:string COMMENT 'json'>>"),
    (3, "map<string,struct<a:bigint,b:array<bigint>>>"),
])  # fmt: skip
def test_what_is_below_the_last_level_is_json_text(levels, expected):
    assert kept("map<string,struct<a:bigint,b:array<bigint>>>", levels=levels) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("map<string,bigint>", "map<string,bigint>", "map<string,bigint>"),
        ("map<string,double>", "map<string,bigint>", "string"),
        ("map<string,struct<a:bigint>>", "map<string,struct<b:date,a:bigint>>", "map<string,struct<a:bigint,b:date>>"),
        ("struct<a:bigint>", "map<string,bigint>", "string"),
    ],
)
def test_a_type_grows_at_its_end_and_changes_in_no_place(old, new, expected):
    assert write_type(merge_structures(read_type(old), read_type(new))) == expected


@given(st.lists(MAP_TYPES, min_size=1, max_size=3), st.lists(MAP_TYPES, min_size=1, max_size=3))
def test_the_same_maps_again_change_nothing(types, others):
    before = map_of_declared(column(*types), 50)
    assert merge_structures(before, map_of_declared(column(*types), 50)) == before
    after = merge_structures(before, map_of_declared(column(*others), 50))
    assert merge_structures(after, map_of_declared(column(*others), 50)) == after


@given(MAP_TYPES, MAP_TYPES, MAP_TYPES)
def test_evidence_of_maps_merges_in_any_order(first, second, third):
    columns = [column(each) for each in (first, second, third)]
    assert widen(columns[0], columns[1]) == widen(columns[1], columns[0])
    left, right = widen(widen(*columns[:2]), columns[2]), widen(columns[0], widen(*columns[1:]))
    assert left == right == column(first, second, third)


@pytest.mark.parametrize("other", [{"data_type": "json"}, {"data_type": "text"}])
def test_maps_beside_another_type_are_json_text(other):
    assert MAPS not in widen(column("map<string,bigint>"), other)
    assert MAPS not in widen(other, column("map<string,bigint>"))


def evidence(**types):
    typed = {tuple(path.split("__")): found for path, found in types.items()}
    typed = {tuple(None if step == "each" else step for step in path): found for path, found in typed.items()}
    return Evidence(files={f"{'-'.join(types)}.parquet": FileEvidence(1)}, declared=typed)


def types_of(seen, before=NESTED):
    columns = resolve_data(seen, before, "t", False).schema.tables["t"].columns
    return {name: each.properties.get("x-spark-type") for name, each in columns.items() if not name.startswith("_dlt")}


def test_maps_are_kept_at_the_top_and_inside_of_structs_and_lists():
    prices = column("map<string,double>")
    found = types_of(evidence(m=prices, s__m=prices, s__l__each=prices, l__each__m=prices, l__each__n=prices))

    assert found == {
        "m": "map<string,double>",
        "s": "struct<m:map<string,double>,l:array<map<string,double>>>",
        "l": "array<struct<m:map<string,double>,n:map<string,double>>>",
    }


def test_documents_and_structs_add_their_fields_to_maps():
    maps = evidence(m=column("map<string,struct<a:bigint>>"))
    structs = evidence(m__k__a={"data_type": "bigint"}, m__k__b={"data_type": "date"})
    documents = observe([(Position("a.jsonl", 1), {"m": {"k": {"c": "x"}}})])

    for parts in ((maps, structs, documents), (documents, structs, maps)):
        names = types_of(merge(*parts))["m"].removeprefix("map<string,struct<").removesuffix(">>").split(",")
        assert sorted(names) == ["a:bigint", "b:date", "c:string"]
    assert types_of(merge(maps, observe([(Position("a.jsonl", 1), {"m": {"k": 1}})]))) == {"m": "string"}
    lists = merge(maps, observe([(Position("a.jsonl", 1), {"m": [1]})]))
    assert types_of(lists) == {"m": "string"}


def test_a_column_of_json_texts_stays_one():
    texts = types_of(evidence(m={"data_type": "json"}))
    before = resolve_data(evidence(m={"data_type": "json"}), NESTED, "t", False).schema

    assert texts == types_of(evidence(m=column("map<string,double>")), before) == {"m": "string"}


def test_a_relational_schema_is_reported_of_json_alone():
    reported = resolve_data(evidence(m=column("map<string,double>")), NEW, "t", False)
    plain = resolve_data(evidence(m={"data_type": "json"}), NEW, "t", False)

    assert reported == plain
    assert reported.schema.tables["t"].columns["m"].properties == {"data_type": "json", "nullable": True}
