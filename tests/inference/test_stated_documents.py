"""Types that sources state are taken as they are, beside what the schema has and beside each other."""

from __future__ import annotations

from schemactl.inference.evidence import Evidence
from schemactl.inference.paths import ELEMENT
from schemactl.inference.resolve import resolve
from schemactl.inference.stated_documents import stated_documents
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

EMPTY = new_schema("demo")


def types_of(resolution, table="data"):
    columns = resolution.schema.tables[table].columns.values()
    return {column.name: str(column.data_type) for column in columns if not column.name.startswith("_dlt")}


def test_one_document_stands_for_all_paths_that_agree():
    typed = {("a", "x"): {"data_type": "text"}, ("a", "y", ELEMENT): {"data_type": "bigint"}}
    (document,) = stated_documents(Evidence(typed=typed))
    assert document["a"]["x"].data_type is DataType.TEXT
    assert [value.data_type for value in document["a"]["y"]] == [DataType.BIGINT]


def test_the_types_that_a_column_is_widened_from_come_after_its_own():
    widened = Evidence(typed={("a",): {"data_type": "double"}}, stated={("a",): {DataType.BIGINT, DataType.DOUBLE}})
    assert [document["a"].data_type for document in stated_documents(widened)] == [DataType.DOUBLE, DataType.BIGINT]


def test_stated_types_are_taken_as_they_are():
    typed = {("n",): {"data_type": "decimal", "precision": 10, "scale": 2}, ("l", ELEMENT, "t"): {"data_type": "date"}}
    resolution = resolve(Evidence(typed=typed), EMPTY, "data")
    column = resolution.schema.tables["data"].columns["n"]
    assert dict(column.properties) == {"data_type": "decimal", "nullable": True, "precision": 10, "scale": 2}
    assert types_of(resolution, "data__l") == {"t": "date"}


def test_a_stated_type_that_does_not_fit_has_a_variant():
    schema = EMPTY.with_table(Table("data", {"a": Column("a", {"data_type": "bigint"})}, {"resource": "data"}))
    resolution = resolve(Evidence(typed={("a",): {"data_type": "text"}}), schema, "data")
    assert types_of(resolution) == {"a": "bigint", "a__v_text": "text"}


def test_sources_may_state_a_scalar_where_others_state_an_object_or_a_list():
    typed = {
        ("a",): {"data_type": "text"},
        ("b", "x"): {"data_type": "text"},
        ("a", "x"): {"data_type": "bigint"},
        ("b",): {"data_type": "bool"},
        ("a", ELEMENT): {"data_type": "date"},
    }
    resolution = resolve(Evidence(typed=typed), EMPTY, "data")
    assert types_of(resolution) == {"a": "text", "b__x": "text", "b": "bool", "a__x": "bigint"}
    assert types_of(resolution, "data__a") == {"value": "date"}
