"""What inference decides beyond dlt's answers, and its reasons; tests/parity holds the rest to dlt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from resolved_columns import evidence_of, types_of

from schemactl.inference.classes import kind_of
from schemactl.inference.evidence import Evidence, Position, merge
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.schema.paths import ELEMENT
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

EMPTY = new_schema("demo")


def with_columns(**columns):
    table = Table("data", {name: Column(name, stated) for name, stated in columns.items()}, {"resource": "data"})
    return EMPTY.with_table(table)


def test_nothing_seen_is_a_table_without_columns():
    resolution = resolve(Evidence(), EMPTY, "My Data")
    table = resolution.schema.tables["my_data"]
    assert (dict(table.columns), table.properties["resource"]) == ({}, "My Data")
    assert table.normalizer_hint("seen-data") is None


def test_the_schema_as_it_was_is_not_changed():
    before = with_columns(a={"data_type": "bigint"})
    stored = before.to_dict()
    resolve(evidence_of([{"a": "x", "l": [1]}]), before, "data")
    assert before.to_dict() == stored


def test_a_second_time_nothing_changes():
    evidence = evidence_of([{"a": 1, "l": [{"x": 1}]}, {"a": "x"}, {"a": "2024-01-02T03:04:05Z"}])
    once = resolve(evidence, EMPTY, "data").schema
    assert resolve(evidence, once, "data").schema == once


def test_files_are_read_in_the_order_of_their_paths():
    late, early = evidence_of([{"v": "x"}], "b"), evidence_of([{"v": 1}], "a")
    assert types_of(resolve(merge(late, early), EMPTY, "data")) == {"v": "bigint", "v__v_text": "text"}


def test_what_a_column_takes_is_reported_by_path_and_class():
    resolution = resolve(evidence_of([{"v": 1, "l": [{"V": 2}]}, {"v": "x"}]), EMPTY, "data")
    assert resolution.sources(("data", "v")) == resolution.sources(("data", "v__v_text")) == (("v",),)
    assert resolution.sources(("data__l", "v")) == (("l", ELEMENT, "V"),)
    assert resolution.sources(("data", "_dlt_id")) == ()
    ((_, seen),) = resolution.taken["data", "v__v_text"]
    assert kind_of(seen) == "text"


@pytest.mark.parametrize(
    ("documents", "types"),
    [
        pytest.param(
            [{"a": 1}, {"a": "2024-01-01T00:00:00Z"}, {"a": "x"}, {"a": True}],
            {"a": "bigint", "a__v_text": "timestamp", "a__v_text__v_text": "text", "a__v_bool": "bool"},
            id="values of four kinds",
        ),
        pytest.param(
            [{"a": 2**64, "b": 10**400, "c": 1}, {"c": -(2**70)}, {"a": 10**38, "c": 10**400}],
            {"a": "wei", "a__v_text": "text", "b": "text", "c": "bigint", "c__v_wei": "wei", "c__v_text": "text"},
            id="integers past 64 bits",
        ),
        pytest.param(
            [{"a": 1.5, "b": 1.5}, {"a": 10**400, "b": 10**300}, {"a": -(10**400)}],
            {"a": "double", "b": "double", "a__v_text": "text"},
            id="integers past all doubles, beside doubles",
        ),
        pytest.param(
            [{"a": 1, "b": 1}, {"a": 1e300, "b": 3.0}, {"a": -1e300, "b": -(2.0**63)}],
            {"a": "bigint", "b": "bigint", "a__v_double": "double"},
            id="floats past 64 bits, beside integers",
        ),
    ],
)
def test_no_value_is_without_a_column(documents, types):
    assert types_of(resolve(evidence_of(documents), EMPTY, "data")) == types


def test_nulls_that_no_column_takes_are_reported_once_with_the_first():
    schema = with_columns(a={"data_type": "text", "nullable": False}, b={"nullable": False})
    resolution = resolve(evidence_of([{"a": "x"}, {"a": None, "b": None}, {"a": None}]), schema, "data")
    (null,) = resolution.nulls
    assert (null.table, null.column, null.path, null.first) == ("data", "a", ("a",), Position("data.jsonl", 2))


def test_identifiers_fit_the_destination():
    options = ResolveOptions(max_identifier_length=20)
    resolution = resolve(evidence_of([{"a" * 40: 1}, {"a" * 40: "x"}]), EMPTY, "data", options)
    assert all(len(name) <= 20 for name in resolution.schema.tables["data"].columns)
    assert len(types_of(resolution)) == 2


# patterns of paths


def test_hints_and_types_of_new_columns_go_by_their_paths():
    settings = {
        **EMPTY.settings,
        "default_hints": {"unique": ["path:$.orders[*].id"], "not_null": ["path:$.id"]},
        "preferred_types": {"path:$.orders[*].id": "text", "path:$.orders[*].raw": "json"},
    }
    documents = [{"id": 1, "orders": [{"id": 2, "raw": {"a": 1}}], "raw": {"a": 1}}]
    schema = resolve(evidence_of(documents), replace(EMPTY, settings=settings), "data").schema
    assert schema.tables["data"].columns["id"].properties == {"data_type": "bigint", "nullable": False}
    orders = schema.tables["data__orders"].columns
    assert orders["id"].properties == {"data_type": "text", "nullable": True, "unique": True}
    assert str(orders["raw"].data_type) == "json"
    assert "raw__a" in schema.tables["data"].columns


def test_a_null_is_refused_where_a_path_says_so():
    before = replace(EMPTY, settings={"default_hints": {"not_null": ["path:$.o.id"]}})
    (found,) = resolve(evidence_of([{"o": {"id": None}, "id": None}]), before, "data").nulls
    assert found.column == "o__id"
