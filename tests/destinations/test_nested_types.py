"""Types of structs, lists and maps as destinations write them, and values as JSON."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.destinations import delta, iceberg, parquet
from schemactl.destinations._rows import json_texts
from schemactl.destinations._structure import Clash, grown
from schemactl.destinations.duckdb.types import duckdb_type, kind_of, spelt, stored, structure_in
from schemactl.schema.arrow_hint import NESTED_TYPE, encode
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, Struct, is_within, read_type
from schemactl.schema.types import Column
from schemactl.type_systems.arrow_types import from_exact_arrow, to_arrow

LEAVES = st.sampled_from(
    [
        "bigint",
        "double",
        "boolean",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "decimal(38,0)",
        "time(6)",
    ]
).map(Leaf)
NAMES = st.text("abAB \"'`,().é", min_size=1, max_size=4)


def structs(inner, leaves):
    fields = st.lists(st.tuples(NAMES, inner | leaves), min_size=1, max_size=3, unique_by=lambda each: each[0].lower())
    return fields.map(lambda found: Struct(tuple(found)))


def types(leaves):
    return st.recursive(
        structs(leaves, leaves),
        lambda inner: inner.map(ListOf) | inner.map(MapOf) | structs(inner, leaves),
        max_leaves=6,
    )


@given(types(LEAVES))
def test_an_arrow_type_says_what_it_was_made_of(of):
    assert from_exact_arrow(to_arrow(of)) == of


@given(types(LEAVES.filter(lambda leaf: not leaf.name.startswith("time(")) | st.just(Json())))
def test_duckdb_writes_a_type_that_is_read_as_it_was(of):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE made (a {duckdb_type(of)})")
        written = connection.execute("SELECT data_type FROM duckdb_columns() WHERE table_name = 'made'").fetchall()

    assert structure_in(written[0][0]) == of
    assert spelt(written[0][0]) == duckdb_type(of)


@pytest.mark.parametrize("written", ["UNION(a INTEGER, b VARCHAR)", "ENUM('a', 'b)')", "BIGINT[3]", "MAP(DATE, DATE)"])
def test_other_types_of_duckdb_stay_as_they_are(written):
    assert structure_in(written) is None
    assert kind_of(written) == {"x-database-type": written}


def test_a_catalogue_of_duckdb_says_what_its_schema_does():
    column = Column("a", {"data_type": "json", "x-spark-type": "array<struct<at:timestamp,j:string COMMENT 'json'>>"})

    assert kind_of("STRUCT(at TIMESTAMP WITH TIME ZONE, j JSON)[]") == stored(column)


@given(types(LEAVES), types(LEAVES))
def test_a_grown_type_holds_both(there, ours):
    found = grown(there, ours)

    if not isinstance(found, Clash):
        assert is_within(there, found)
        assert is_within(ours, found)
        assert grown(found, ours) == found


@given(types(LEAVES))
def test_a_type_grows_by_nothing_of_its_own(of):
    assert grown(of, of) == of


@pytest.mark.parametrize(
    ("there", "ours", "reported"),
    [
        ("struct<a:struct<b:bigint>>", "struct<a:struct<b:date>>", "`v.a.b` is bigint there, and date in the schema"),
        ("map<string,bigint>", "map<string,double>", "`v[]` is bigint there, and double in the schema"),
        ("struct<a:bigint>", "array<bigint>", "`v` is a struct there, and a list in the schema"),
    ],
)
def test_types_that_do_not_go_together_are_reported_with_their_path(there, ours, reported):
    found = grown(read_type(there), read_type(ours))
    assert isinstance(found, Clash)
    assert found.describe("v") == reported


def test_values_are_json_in_all_their_digits():
    of = read_type(
        "struct<a:bigint,`b\"\\`:array<array<string>>,j:string COMMENT 'json',m:map<string,struct<x:double>>,"
        "d:decimal(38,0),p:decimal(10,2),at:timestamp,naive:timestamp_ntz,t:time(6),on:date,raw:binary,yes:boolean>"
    )
    names = [name for name, _ in of.fields]
    full = [
        -3, [['x\n\x01é"\\', None], [], None], '{"k": [1]}', [('q"', {"x": 1e22}), ("r", None)], Decimal(10**37 + 1),
        Decimal("1.50"), datetime(2026, 1, 2, 3, 4, 5, 678, UTC), datetime(2026, 1, 2), time(1, 2, 3), date(2026, 1, 2),
        b"\x00\xff", True,
    ]  # fmt: skip
    rows = [None, dict(zip(names, full, strict=True)), {names[1]: [], "m": []}]
    values = pa.array(rows, to_arrow(of))

    found = [text and json.loads(text, parse_float=Decimal) for text in json_texts(values, of).to_pylist()]

    expected = [
        -3, [['x\n\x01é"\\', None], [], None], {"k": [1]}, {'q"': {"x": Decimal("1e22")}, "r": None}, 10**37 + 1,
        Decimal("1.50"), "2026-01-02T03:04:05.000678Z", "2026-01-02T00:00:00.000000", "01:02:03.000000", "2026-01-02",
        "AP8=", True,
    ]  # fmt: skip
    nothing = dict.fromkeys(names)
    assert found == [None, dict(zip(names, expected, strict=True)), {**nothing, names[1]: [], "m": {}}]
    assert json_texts(values.slice(1), of).to_pylist() == json_texts(values, of).to_pylist()[1:]


def test_numbers_that_json_has_not_are_null():
    values = pa.array([float("nan"), float("inf"), 0.1, None])

    assert json_texts(values, Leaf("double")).to_pylist() == [None, None, "0.1", None]


def test_lakes_keep_what_dlt_states_as_they_have_it():
    of = pa.struct({"a": pa.int8(), "t": pa.time64("ns"), "at": pa.timestamp("ms"), "l": pa.large_list(pa.float32())})
    column = Column("v", {"data_type": "json", NESTED_TYPE: encode(of)})
    kept = "struct<a:{},t:{},at:timestamp_ntz,l:array<float>>"
    assert iceberg.stored(column) == {"x-database-type": kept.format("int", "time(6)")}
    assert delta.stored(column) == {"x-database-type": kept.format("tinyint", "string")}
    # dlt makes no structs in databases.
    assert stored(column)["data_type"] == "json"
    of_ints = Column("v", {"data_type": "json", NESTED_TYPE: encode(pa.map_(pa.int64(), pa.string()))})
    assert parquet.stored(of_ints) == {"x-database-type": "map<int64, string>"}
