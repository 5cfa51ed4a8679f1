"""Where tables and columns come from."""

from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.inference.evidence import Position, observe
from schemactl.inference.lineage import Lineage, TableLineage, from_json, lineage_of, merge, to_json
from schemactl.inference.resolve import resolve
from schemactl.schema.judgment import judge
from schemactl.schema.templates import new_schema

EMPTY = new_schema("demo")


def lineage(documents, contract=None, before=EMPTY):
    evidence = observe((Position("a", number), document) for number, document in enumerate(documents, 1))
    resolution = resolve(evidence, before, "data")
    return lineage_of(evidence, resolution, judge(before, resolution.schema, contract).schema)


def test_columns_are_fed_by_paths_with_kinds():
    found = lineage([{"v": 1, "l": [{"A b": 2.5}]}, {"v": "x", "_dlt_id": "own"}])
    assert found.tables["data"] == TableLineage(
        ("$",),
        {"v": {"$.v": ("bigint",)}, "v__v_text": {"$.v": ("text",)}, "_dlt_id": {"$._dlt_id": ("text",)}},
    )
    assert found.tables["data__l"] == TableLineage(("$.l[*]",), {"a_b": {"$.l[*]['A b']": ("double",)}})


def test_names_that_collide_have_two_sources():
    assert lineage([{"Id": 1}, {"id": 2}]).tables["data"].columns["id"] == {"$.Id": ("bigint",), "$.id": ("bigint",)}


def test_what_is_refused_is_not_fed():
    before = resolve(observe([(Position("a", 1), {"a": 1})]), EMPTY, "data").schema
    found = lineage([{"a": 1, "b": 2, "l": [1]}], "columns=discard_value,tables=discard_row", before)
    assert found == Lineage({"data": TableLineage(("$",), {"a": {"$.a": ("bigint",)}})})


def test_earlier_lineage_is_kept():
    earlier, later = lineage([{"a": 1, "b": 1}]), lineage([{"a": "x", "l": [1]}, {"A": 1}])
    both = merge(earlier, later)
    assert list(both.tables) == ["data", "data__l"]
    assert both.tables["data"].columns["a"] == {"$.a": ("bigint", "text"), "$.A": ("bigint",)}
    assert merge(both, later) == merge(Lineage(), both) == both


def test_it_is_read_as_it_was_written():
    found = lineage([{"v": 1, "l": [{"Ż": [1, "x"]}]}])
    assert from_json(to_json(found), "x") == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not lineage"),
        ('{"schemactl_lineage": 2}', "format 2"),
        ('{"schemactl_lineage": 1}', "damaged"),
        ('{"schemactl_lineage": 1, "tables": {"a": {"rows": [], "columns": {"b": [1]}}}}', "damaged"),
    ],
)
def test_what_is_no_lineage_is_reported(text, message):
    with pytest.raises(InputError, match=message) as reported:
        from_json(text, "demo.lineage.json")
    assert reported.value.at.path == "demo.lineage.json"
