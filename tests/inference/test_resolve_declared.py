"""Types that sources state are taken as they are, beside what the schema has and beside each other."""

from __future__ import annotations

from resolved_columns import types_of

from schemactl.inference.evidence import ClassEvidence, Evidence, Position
from schemactl.inference.resolve import NullConflict, documents_of_declared, resolve
from schemactl.schema.paths import ELEMENT
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

EMPTY = new_schema("demo")


def test_one_document_stands_for_all_paths_that_agree():
    typed = {("a", "x"): {"data_type": "text"}, ("a", "y", ELEMENT): {"data_type": "bigint"}}
    (document,) = documents_of_declared(Evidence(declared=typed))
    assert document["a"]["x"].data_type is DataType.TEXT
    assert [value.data_type for value in document["a"]["y"]] == [DataType.BIGINT]


def test_the_types_that_a_column_is_widened_from_come_after_its_own():
    widened = Evidence(
        declared={("a",): {"data_type": "double"}}, conflicting_types={("a",): {DataType.BIGINT, DataType.DOUBLE}}
    )
    assert [document["a"].data_type for document in documents_of_declared(widened)] == [
        DataType.DOUBLE,
        DataType.BIGINT,
    ]


def test_stated_types_are_taken_as_they_are():
    typed = {("n",): {"data_type": "decimal", "precision": 10, "scale": 2}, ("l", ELEMENT, "t"): {"data_type": "date"}}
    resolution = resolve(Evidence(declared=typed), EMPTY, "data")
    column = resolution.schema.tables["data"].columns["n"]
    assert dict(column.properties) == {"data_type": "decimal", "nullable": True, "precision": 10, "scale": 2}
    assert types_of(resolution, "data__l") == {"t": "date"}


def test_a_stated_type_that_does_not_fit_has_a_variant():
    schema = EMPTY.with_table(Table("data", {"a": Column("a", {"data_type": "bigint"})}, {"resource": "data"}))
    resolution = resolve(Evidence(declared={("a",): {"data_type": "text"}}), schema, "data")
    assert types_of(resolution) == {"a": "bigint", "a__v_text": "text"}


def test_sources_may_state_a_scalar_where_others_state_an_object_or_a_list():
    typed = {
        ("a",): {"data_type": "text"},
        ("b", "x"): {"data_type": "text"},
        ("a", "x"): {"data_type": "bigint"},
        ("b",): {"data_type": "bool"},
        ("a", ELEMENT): {"data_type": "date"},
    }
    resolution = resolve(Evidence(declared=typed), EMPTY, "data")
    assert types_of(resolution) == {"a": "text", "b__x": "text", "b": "bool", "a__x": "bigint"}
    assert types_of(resolution, "data__a") == {"value": "date"}


def test_integers_of_64_bits_ask_for_the_bits_that_they_need_and_nulls_are_reported():
    column = Column("a", {"data_type": "bigint", "precision": 16, "nullable": False})
    schema = EMPTY.with_table(Table("data", {"a": column}, {"resource": "data"}))
    typed = {("a",): {"data_type": "bigint"}}
    null = ClassEvidence(1, Position("f", 3))

    def resolved(greatest):
        seen = ClassEvidence(2, Position("f", 1), least=-5.0, greatest=greatest)
        return resolve(Evidence(declared=typed, counted={("a",): {"bigint": seen, "null": null}}), schema, "data")

    bits = {top: resolved(top).schema.tables["data"].columns["a"].properties.get("precision") for top in (9.0, 2.0**15)}
    assert bits == {9.0: 16, 2.0**15: 32}
    assert "precision" not in resolved(2.0**40).schema.tables["data"].columns["a"].properties
    assert resolve(Evidence(declared=typed), schema, "data").schema.tables["data"].columns["a"] == column
    assert resolved(9.0).nulls == (NullConflict("data", "a", ("a",), Position("f", 3)),)
