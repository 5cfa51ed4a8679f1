"""What is reported of an inference: counts, places, examples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from resolved_columns import evidence_of

from schemactl.inference.evidence import FileEvidence, Position
from schemactl.inference.findings import (
    find_collisions,
    find_files,
    find_nulls,
    find_tables,
    find_violations,
    separate,
)
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.schema.judgment import judge
from schemactl.schema.naming import load_naming
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

EMPTY = new_schema("demo")
NAMING = load_naming("snake_case")


def tables_of(documents, before=EMPTY):
    evidence = evidence_of(documents)
    resolution = resolve(evidence, before, "data")
    return {table.name: table for table in find_tables(before, resolution.schema, resolution, evidence)}


def column_of(documents, name, table="data"):
    return next(column for column in tables_of(documents)[table].columns if column.name == name)


DOCUMENTS = [{"a": 1}, {"a": 20}, {"a": "idx-nr-136"}, {"a": None}, {}]


def test_a_new_column_is_reported_with_its_evidence():
    column = column_of(DOCUMENTS, "a")
    assert (column.before, column.data_type, column.sources) == (None, "bigint", ("$.a",))
    assert (column.values, column.total, column.nulls, column.absences) == (2, 3, 1, 1)
    assert (column.kinds, column.range, column.first) == ({"bigint": 2}, (1.0, 20.0), Position("data.jsonl", 1))


def test_what_the_schema_states_of_a_type_is_reported_with_it():
    hinted = Column("at", {"precision": 6, "timezone": False})
    before = EMPTY.with_table(Table("data", {"at": hinted}))
    (column,) = (
        each for each in tables_of([{"at": "2026-01-31T10:00:00"}], before)["data"].columns if each.name == "at"
    )
    assert (column.data_type, column.precision, column.timezone) == ("timestamp", 6, False)
    assert column_of([{"at": "2026-01-31T10:00:00Z"}], "at").timezone is None


def test_columns_that_are_stated_and_never_met_are_no_columns_of_dlt():
    after = resolve(evidence_of(DOCUMENTS), EMPTY, "data").schema
    table = after.tables["data"]
    stated = replace(table, columns={**table.columns, "note": Column("note", {"data_type": "text"})})
    resolution = resolve(evidence_of(DOCUMENTS), EMPTY.with_table(stated), "data")
    (found,) = find_tables(EMPTY, resolution.schema, resolution, evidence_of(DOCUMENTS))
    assert {each.name: each.reason for each in found.columns if not each.sources} == {
        "note": "stated", "_dlt_load_id": None, "_dlt_id": None
    }  # fmt: skip


def test_a_variant_is_reported_beside_its_column():
    column = column_of(DOCUMENTS, "a__v_text")
    assert (column.variant_of, column.values, column.total) == ("a", 1, 3)
    assert (column.first, column.examples, column.lengths) == (Position("data.jsonl", 3), ("idx-nr-136",), (10, 10))


def test_columns_that_did_not_change_are_not_reported():
    once = resolve(evidence_of(DOCUMENTS), EMPTY, "data").schema
    assert tables_of(DOCUMENTS, once) == {}
    (table,) = tables_of([*DOCUMENTS, {"b": 1}], once).values()
    assert ([column.name for column in table.columns], table.is_new) == (["b"], False)


def test_nested_tables_are_reported_with_their_parent():
    tables = tables_of([{"l": [{"x": 1}]}])
    assert [(table.name, table.parent, table.is_new) for table in tables.values()] == [
        ("data", None, True),
        ("data__l", "data", True),
    ]


COLLIDING = [{"Id": 1, "id": "x"}, {"a__b": 5, "a": {"b": 6}}, {"items": [1], "Items": [2]}]


def test_collisions_are_reported_with_their_paths():
    found = find_collisions(resolve(evidence_of(COLLIDING), EMPTY, "data"))
    assert {(each.table, each.column): each.sources for each in found} == {
        ("data", "id"): ("$.Id", "$.id"),
        ("data", "a__b"): ("$.a__b", "$.a.b"),
        ("data__items", None): ("$.items[*]", "$.Items[*]"),
    }


def test_no_collision_where_one_path_stands_in_the_other():
    documents = [{"l": [1, {"value": 2}]}]
    assert find_collisions(resolve(evidence_of(documents), EMPTY, "data")) == ()


@pytest.mark.parametrize(
    "documents",
    [
        [[1], {"value": [2]}],
        [{"value": [{"a": 1}]}, [{"a": 1}], [[{"a": 1}]]],
        [{"a": [[1], {"list": [2]}]}],
    ],
)
def test_lists_and_objects_in_one_place_do_not_collide(documents):
    resolution = resolve(evidence_of(documents), EMPTY, "data")
    assert find_collisions(resolution) == ()
    assert separate(resolution, {}, NAMING) == {}


def test_colliding_paths_can_be_kept_apart():
    evidence = evidence_of(COLLIDING)
    names = {}
    for _ in range(5):
        resolution = resolve(evidence, EMPTY, "data", ResolveOptions(renamed=names))
        names = separate(resolution, names, NAMING)
    assert find_collisions(resolution) == ()
    assert names[("id",)] == "id_2"


def test_nulls_are_reported_with_their_place():
    before = resolve(evidence_of([{"a": 1}]), EMPTY, "data").schema
    table = before.tables["data"]
    column = Column("a", {"data_type": "bigint", "nullable": False})
    before = before.with_table(replace(table, columns={"a": column}))
    evidence = evidence_of([{"a": 1}, {"a": None}])
    resolution = resolve(evidence, before, "data")
    (null,) = find_nulls(resolution, evidence, resolution.schema)
    assert (null.table, null.column, null.source, null.first) == ("data", "a", "$.a", Position("data.jsonl", 2))


def test_values_of_variants_leave_a_column_null_that_allows_none():
    known = Column("a", {"data_type": "bigint", "nullable": False})
    before = EMPTY.with_table(Table("data", {"a": known}, {"write_disposition": "append"}))
    evidence = evidence_of([{"a": 1}, {"a": "x"}, {"a": "y"}])
    resolution = resolve(evidence, before, "data")
    (null,) = find_nulls(resolution, evidence, resolution.schema)
    assert (null.table, null.column, null.source, null.variant) == ("data", "a", "$.a", "a__v_text")
    assert (null.count, null.first) == (2, Position("data.jsonl", 2))
    rejected = judge(before, resolution.schema, "data_type=discard_row").schema
    assert find_nulls(resolution, evidence, rejected) == ()


@pytest.mark.parametrize("mode", ["freeze", "discard_value"])
def test_violations_are_reported_with_the_values_that_cause_them(mode):
    before = resolve(evidence_of([{"a": 1}]), EMPTY, "data").schema
    evidence = evidence_of([{"a": 1}, {"b": "x"}, {"b": "x"}])
    resolution = resolve(evidence, before, "data")
    judgment = judge(before, resolution.schema, f"columns={mode}")
    (found,) = find_violations(judgment.violations, resolution, evidence, before, f"columns={mode}")
    assert (found.column, found.values, found.first, found.example) == ("b", 2, Position("data.jsonl", 2), "x")
    assert (found.schema_name, found.table_schema) == (before.name, before.tables["data"].to_dict())
    assert found.schema_contract == {
        "tables": {"mode": "evolve", "level": "default"},
        "columns": {"mode": mode, "level": "call"},
        "data_type": {"mode": "evolve", "level": "default"},
    }


def test_files_are_reported_by_path():
    evidence = evidence_of([{"a": 1}, {"a": 2}])
    (file,) = find_files(evidence, "orders")
    assert (file.path, file.documents, file.table) == ("data.jsonl", 2, "orders")
    assert evidence.files == {"data.jsonl": FileEvidence(documents=2, records=2)}
