"""Nested tables folded back into documents."""

from __future__ import annotations

from typing import Any

from fixture_documents import inferred

from schemactl.formats._folding import fold
from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.schema.templates import new_schema


def folded(*documents: Any) -> dict[str, dict[str, Any]]:
    evidence = observe((Position("a.jsonl", number), each) for number, each in enumerate(documents, 1))
    schema = fold(resolve(evidence, new_schema("shop"), "orders").schema)
    own = [name for name in schema.tables if not name.startswith("_dlt")]
    assert own == ["orders"]
    return {name: dict(column.properties) for name, column in schema.tables["orders"].columns.items()}


def test_lists_and_objects_are_where_they_were():
    found = folded(
        {"id": 1, "at": {"city": "x", "geo": {"lat": 1.5}}, "tags": ["a"], "lines": [{"sku": "a", "opts": [{"n": 1}]}]}
    )
    assert {name: each.get("x-spark-type") for name, each in found.items()} == {
        "id": None,
        "at": "struct<city:string,geo:struct<lat:double>>",
        "tags": "array<string>",
        "lines": "array<struct<sku:string,opts:array<struct<n:bigint>>>>",
    }


def test_lists_of_lists_stay_lists_of_lists():
    assert folded({"grid": [[1, 2], [3]]})["grid"]["x-spark-type"] == "array<array<bigint>>"


def test_a_place_with_values_of_several_kinds_is_any_json():
    found = folded({"a": 1, "b": {"c": 1}, "d": [1]}, {"a": "x", "b": 2, "d": 3})
    assert {name: (each["data_type"], each.get("x-spark-type")) for name, each in found.items()} == dict.fromkeys(
        ("a", "b", "d"), ("json", None)
    )


def test_columns_of_dlt_are_no_part_of_documents():
    assert [name for name in fold(inferred("orders.jsonl")).tables["orders"].columns if name.startswith("_dlt")] == []
