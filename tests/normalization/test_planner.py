"""Plans: what stands in them, and that they lose nothing; tests/parity/test_plan_parity.py holds their rows to dlt."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from interpret import run
from resolved_columns import evidence_of

from schemactl.errors import InputError
from schemactl.inference.evidence import Evidence, Position, observe
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import RowKey
from schemactl.normalization.request import PlanRequest
from schemactl.schema.contract import Mode
from schemactl.schema.judgment import judge
from schemactl.schema.paths import ELEMENT
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

EMPTY = new_schema("demo")


def plan_of(documents, before=EMPTY, contract=None, table="data", evidence=None, **how):
    evidence = evidence or evidence_of(documents)
    resolution = resolve(evidence, before, table, ResolveOptions(**how))
    return make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema, contract)))


def outcome_of(documents, before=EMPTY, contract=None, **how):
    keys = (f"key{number}" for number in itertools.count())
    return run(plan_of(documents, before, contract, **how), documents, lambda: next(keys))


def values(rows):
    return [{name: value for name, value in row.items() if not name.startswith("_dlt")} for row in rows]


def with_columns(before=EMPTY, table="data", properties=None, **columns):
    stated = {name: Column(name, properties) for name, properties in columns.items()}
    return before.with_table(Table(table, stated, properties or {"resource": "data", "write_disposition": "append"}))


def targets(plan, name, rows=None):
    (cell,) = (each for each in (rows or plan.rows).cells if each.name == name)
    return {kind: [target.column.name for target in found] for kind, found in cell.targets.items()}


def test_one_place_of_a_list_holds_elements_of_all_kinds():
    plan = plan_of([{"l": [1, {"a": 2, "m": [3]}, [4], None]}])
    (elements,) = plan.rows.lists
    assert (elements.table, elements.path, elements.parent) == ("data__l", ("l", ELEMENT), "data")
    assert [(cell.name, cell.path) for cell in elements.cells] == [
        ("a", ("l", ELEMENT, "a")),
        ("value", ("l", ELEMENT)),
    ]
    assert [(rows.table, rows.path) for rows in elements.lists] == [
        ("data__l__m", ("l", ELEMENT, "m", ELEMENT)),
        ("data__l__list", ("l", ELEMENT, ELEMENT)),
    ]


def test_lists_without_elements_make_no_rows():
    assert plan_of([{"l": [], "d": {"m": []}}]).rows.lists == ()


def test_a_value_is_tried_in_its_column_then_in_its_variants():
    plan = plan_of([{"v": 1}, {"v": "2024-01-01T00:00:00Z"}, {"v": "x"}, {"v": True}, {"v": 2**70}, {"v": 10**50}])
    assert targets(plan, "v") == {
        "bigint": ["v"],
        "bool": ["v__v_bool"],
        "text": ["v", "v__v_text", "v__v_text__v_text"],
        "wei": ["v", "v__v_wei"],
    }


def test_no_column_is_tried_after_one_that_takes_all():
    assert targets(plan_of([{"v": "x"}, {"v": 1}, {"v": True}]), "v") == {"bigint": ["v"], "bool": ["v"], "text": ["v"]}


def test_every_value_lands_in_a_column():
    documents = [{"v": 1}, {"v": "2024-01-01T00:00:00Z"}, {"v": "x"}, {"v": 2**70}, {"v": 10**50}, {"v": -(10**50)}]
    outcome = outcome_of(documents)
    assert not outcome.unfit
    assert [len(row) for row in values(outcome.rows["data"])] == [1] * len(documents)


def test_columns_that_wait_for_data_are_not_written():
    plan = plan_of([{"a": 1}], with_columns(later={"description": "some day"}))
    assert list(plan.tables["data"].columns) == ["a", "_dlt_load_id", "_dlt_id"]


def test_tables_that_the_data_does_not_reach_are_not_written():
    assert list(plan_of([{"a": 1}], with_columns(table="other", b={"data_type": "text"})).tables) == ["data"]


def test_stated_types_are_kinds_of_their_own():
    typed = {("n",): {"data_type": "decimal", "precision": 10, "scale": 2}, ("l", ELEMENT, "t"): {"data_type": "date"}}
    plan = plan_of([], evidence=Evidence(declared=typed))
    assert targets(plan, "n") == {"decimal": ["n"]}
    assert targets(plan, "t", plan.rows.lists[0]) == {"date": ["t"]}


def test_renamed_keys_go_to_columns_of_their_own():
    documents = [{"Id": 1, "id": 2, "L": [3], "l": [4]}]
    outcome = outcome_of(documents, renamed={("id",): "id_2", ("l",): "l_2"})
    assert values(outcome.rows["data"]) == [{"id": 1, "id_2": 2}]
    assert values(outcome.rows["data__l_2"]) == [{"value": 4}]


def test_names_fit_the_destination():
    plan = plan_of([{"a" * 40: 1, "b" * 40: [{"c" * 40: "x"}]}], max_identifier_length=20)
    names = {name for table in plan.tables.values() for name in (table.name, *table.columns)}
    assert max(map(len, names)) <= 20
    assert {cell.name for rows in plan.rows.walk() for cell in rows.cells} <= names


def test_the_plan_does_not_depend_on_the_order_of_evidence():
    documents = [{"a": 1, "l": [{"x": 1}]}, {"b": {"c": [1, "x"]}, "A": 2}]
    evidence = evidence_of(documents)
    mixed = replace(evidence, paths=dict(reversed(evidence.paths.items())))
    assert plan_of([], evidence=mixed).rows == plan_of(documents).rows


# contracts


KNOWN = with_columns(a={"data_type": "bigint"})


def test_values_of_new_columns_are_rejected():
    outcome = outcome_of([{"a": 1, "b": 2}, {"a": 3, "b": None}, {"a": 4}], KNOWN, "columns=discard_value")
    assert values(outcome.rows["data"]) == [{"a": 1}, {"a": 3}, {"a": 4}]
    assert [(violation.column, value) for _, violation, value in outcome.rejected] == [("b", 2)]


def test_rows_with_new_columns_are_rejected_unless_null():
    outcome = outcome_of([{"a": 1, "b": 2, "l": [1]}, {"a": 3, "b": None}], KNOWN, "columns=discard_row")
    assert values(outcome.rows["data"]) == [{"a": 3}]
    assert not outcome.rows["data__l"]


def test_values_that_need_a_variant_are_rejected_others_are_not():
    outcome = outcome_of([{"a": "7"}, {"a": "x"}, {"a": 1}], KNOWN, "data_type=discard_value")
    assert values(outcome.rows["data"]) == [{"a": 7}, {}, {"a": 1}]
    assert [value for _, _, value in outcome.rejected] == ["x"]


def test_new_tables_are_rejected_with_all_below():
    plan = plan_of([{"a": 1, "l": [{"x": 1, "m": [2]}]}], KNOWN, "tables=discard_row")
    assert list(plan.tables) == ["data"]
    (elements,) = plan.rows.lists
    assert elements.refusal.mode is Mode.DISCARD_ROW


def test_a_copied_key_that_is_refused_refuses_its_rows():
    before = with_columns(with_columns(), "data__l", {"parent": "data"}, x={"data_type": "bigint"})
    section = {**before.normalizers["json"], "config": {"propagation": {"root": {"_dlt_id": "above"}}}}
    before = replace(before, normalizers={**before.normalizers, "json": section})
    assert plan_of([{"l": [{"x": 1}]}], before, "columns=discard_row").rows.lists[0].refusal.column == "above"
    kept = plan_of([{"l": [{"x": 1}]}], before, "columns=discard_value").rows.lists[0]
    assert (kept.refusal, kept.passed) == (None, ())


# keys


def test_keys_of_root_and_nested_tables():
    plan = plan_of([{"l": [1]}])
    assert (plan.rows.key, plan.rows.lists[0].key) == (RowKey.RANDOM, RowKey.PARENT)
    assert (plan.rows.has_load_id, plan.rows.lists[0].has_load_id) == (True, False)


def test_a_merge_by_primary_key_wants_one():
    properties = {"resource": "data", "write_disposition": "merge", "x-merge-strategy": "upsert"}
    with pytest.raises(InputError, match="no primary key"):
        plan_of([{"a": 1}], with_columns(properties=properties))


def test_own_keys_stand_apart_from_cells():
    plan = plan_of([{"l": [{"_dlt_id": "x", "_dlt_parent_id": "y"}, {"a": 1}, 5]}])
    (elements,) = plan.rows.lists
    assert [cell.path for cell in elements.own_key] == [("l", ELEMENT, "_dlt_id")]
    assert {cell.name for cell in elements.cells} == {"a", "value", "_dlt_parent_id"}


def test_what_dlt_always_fills_is_no_cell():
    plan = plan_of([{"_dlt_load_id": 1, "l": [{"_dlt_list_idx": 5, "_dlt_parent_id": 6, "x": 1}]}])
    assert plan.rows.cells == ()
    assert [cell.name for cell in plan.rows.lists[0].cells] == ["x"]


def test_keys_are_not_copied_over_keys():
    section = {**EMPTY.normalizers["json"], "config": {"propagation": {"root": {"_dlt_id": "_dlt_id"}}}}
    before = replace(EMPTY, normalizers={**EMPTY.normalizers, "json": section})
    with pytest.raises(InputError, match="copies keys"):
        plan_of([{"l": [{"x": 1}]}], before)


# filters


def filtered(**filters):
    return with_columns(properties={"resource": "data", "write_disposition": "append", "filters": filters})


def test_rows_of_which_filters_leave_nothing_are_not_planned():
    plan = plan_of([{"a": 1, "l": [{"x": 1, "m": [1]}]}], filtered(excludes=["re:^l__"]))
    assert (plan.rows.lists, list(plan.tables)) == ((), ["data"])


def test_rows_that_may_be_left_empty_are_marked():
    before = filtered(excludes=["re:^l__"], includes=["re:^l__a$"])
    outcome = outcome_of([{"l": [{"a": 1, "b": 2}, {"b": 3}]}], before)
    assert plan_of([{"l": [{"a": 1}]}], before).rows.lists[0].skips_empty
    assert outcome.rows["data__l"] == [{"a": 1}]


def test_documents_may_be_filtered_away():
    outcome = outcome_of([{"a": 1}], filtered(excludes=["re:."]))
    assert dict(outcome.rows) == {}


def test_what_may_be_below_rows_left_out_is_refused_rather_than_lost():
    before = filtered(excludes=["re:^l__"], includes=["re:^l__a$", "re:^l__s__value$"])
    with pytest.raises(InputError, match="data__l__s"):
        plan_of([{"l": [{"s": [1]}]}, {"l": [{"a": 1}]}, {"l": [{"a": 2, "s": [2]}]}], before)


def columns_by_table(outcome):
    rows = {table: {name for row in found for name in row} for table, found in outcome.rows.items()}
    return {table: {name for name in names if not name.startswith("_dlt")} for table, names in rows.items()}


@pytest.mark.parametrize(("filters", "left"), [
    ({"excludes": ["path:$.a.b"]}, {"data": {"a__c"}, "data__l": {"a", "s__k"}, "data__l__m": {"value"}}),
    ({"excludes": ["path:$.a"]}, {"data": set(), "data__l": {"a", "s__k"}, "data__l__m": {"value"}}),
    ({"excludes": ["path:$.l"]}, {"data": {"a__b", "a__c"}}),
    ({"excludes": ["path:$.l[*].m"]}, {"data": {"a__b", "a__c"}, "data__l": {"a", "s__k"}}),
    ({"excludes": ["path:$.l"], "includes": ["path:$.l[*].a"]}, {"data": {"a__b", "a__c"}, "data__l": {"a"}}),
    ({"excludes": ["path:$.*.b", "re:^l__s__"]}, {"data": {"a__c"}, "data__l": {"a"}, "data__l__m": {"value"}}),
])  # fmt: skip
def test_filters_by_path_leave_out_values_and_what_is_below_them(filters, left):
    documents = [{"a": {"b": 1, "c": 2}, "l": [{"a": 3, "s": {"k": 4}, "m": [5]}]}]
    outcome = outcome_of(documents, filtered(**filters))
    assert columns_by_table(outcome) == left
    assert all("_dlt_id" in row for rows in outcome.rows.values() for row in rows)
    resolved = resolve(observe([(Position("data.jsonl", 1), documents[0])]), filtered(**filters), "data").schema
    assert {
        name: {column for column in table.columns if not column.startswith("_dlt")}
        for name, table in resolved.tables.items()
        if not name.startswith("_dlt")
    } == left


def test_of_two_keys_of_one_column_a_path_leaves_one_out():
    outcome = outcome_of([{"Id": 1}, {"id": 2}], filtered(excludes=["path:$.Id"]))
    assert [row.get("id") for row in outcome.rows["data"]] == [None, 2]
