from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest
from migration_samples import SQL, catalogue_of, propose, schema_with
from schema_parts import column, table

from schemactl.destinations import duckdb
from schemactl.errors import InputError
from schemactl.migration.migration_plan import Place, fingerprint_of, make_plan
from schemactl.migration.plan_documents import mistaken_for_schema, plan_document, plan_hash, read_plan, write_plan
from schemactl.migration.ways import Way
from schemactl.schema.hash import stored_hash, version_hash

PLACE = Place("duckdb", "duckdb:///shop.duckdb", "shop")
THERE = [table("orders", column("id", "bigint"), column("gone"))]
WANTED = [table("orders", column("id", "text"), column("größe", "double"))]


def render(step, found):
    """Write a statement that reports the step, and what the step finds."""
    return (f"{type(step).__name__} {step.table_name} {sorted(found.columns) if found else None}",)


def plan_for(there, wanted, known=(), **options):
    catalogue, schema = catalogue_of(schema_with(*there), duckdb.stored), schema_with(*wanted)
    proposal = propose(catalogue, schema, schema_with(*known) if known else None, **options)
    return make_plan(proposal, catalogue, schema, PLACE, render)


def test_each_statement_is_rendered_for_the_table_as_its_step_finds_it():
    plan = plan_for(THERE, WANTED, THERE)
    assert [step.statements for step in plan.steps] == [
        ("AddColumn orders ['gone', 'id']",),
        ("ChangeType orders ['gone', 'größe', 'id']",),
        ("DropColumn orders ['gone', 'größe', 'id']",),
    ]
    assert [step.undo_statements for step in plan.steps] == [
        ("DropColumn orders ['gone', 'größe', 'id']",),
        ("ChangeType orders ['gone', 'größe', 'id']",),
        (),
    ]
    assert (plan.is_applicable, plan.is_destructive) == (True, True)


def test_what_the_destination_cannot_do_has_no_statement():
    stuck = replace(SQL, drop_column=Way.NONE, names=duckdb.NAMES)
    plan = plan_for(THERE, WANTED, THERE, abilities=stuck)
    assert not plan.is_applicable
    assert [step.statements == () for step in plan.steps] == [False, False, True]


def _with_groups(*ends):
    plan = plan_for(THERE, WANTED, THERE)
    assert len(plan.steps) == len(ends)
    return replace(plan, steps=tuple(replace(each, done_with=end) for each, end in zip(plan.steps, ends, strict=True)))


@pytest.mark.parametrize(
    ("ends", "sizes"),
    [((None, None, None), [1, 1, 1]), ((2, 2, None), [2, 1]), ((None, 3, 3), [1, 2]), ((3, 3, 3), [3])],
)
def test_a_plan_reports_which_steps_are_done_at_once(ends, sizes):
    plan = _with_groups(*ends)
    again = read_plan(write_plan(plan), "a.plan.json")
    assert again == plan
    assert [len(places) for places in again.groups] == sizes
    assert (plan_hash(plan) == plan_hash(plan_for(THERE, WANTED, THERE))) == (not plan.has_groups)


def test_steps_that_are_done_alone_are_written_as_before_others_were_reported():
    document = plan_document(plan_for(THERE, WANTED, THERE))
    assert all("done_with" not in each for each in document["steps"])


@pytest.mark.parametrize(
    "ends", [(1, None, None), (2, None, None), (3, 2, 3), (4, 4, 4), (0, None, None), (3, 3, None), (True, True, None)]
)
def test_steps_that_are_not_next_to_those_they_are_done_with_are_no_plan(ends):
    with pytest.raises(InputError, match="damaged"):
        read_plan(write_plan(_with_groups(*ends)), "a.plan.json")


def test_a_plan_holds_the_whole_schema_with_its_hash():
    dated = table("orders", column("id", "bigint", **{"x-since": date(2026, 1, 31)}))
    plan = read_plan(write_plan(plan_for([], [dated])), "a.plan.json")
    assert stored_hash(plan.schema) == version_hash(schema_with(dated)) == plan.target.version_hash


def test_a_destination_that_moved_makes_a_plan_out_of_date():
    plan = plan_for(THERE, WANTED)
    catalogue = catalogue_of(schema_with(*THERE), duckdb.stored)
    elsewhere = catalogue.with_table(table("of_others", column("x")))
    moved = catalogue.with_table(table("orders", column("id", "bigint")))
    assert plan.is_current(catalogue)
    assert plan.is_current(elsewhere)
    assert not plan.is_current(moved)


def test_a_table_that_came_meanwhile_makes_a_plan_out_of_date():
    plan = plan_for([], WANTED)
    assert not plan.is_current(catalogue_of(schema_with(*THERE), duckdb.stored))


def test_the_order_of_columns_and_the_case_of_tables_do_not_count():
    one = schema_with(table("Orders", column("a"), column("b")))
    two = schema_with(table("Orders", column("b"), column("a")))
    assert fingerprint_of(one, ["orders"]) == fingerprint_of(two, ["ORDERS"])


def _edited(**changes):
    document = plan_document(plan_for(THERE, WANTED))
    return json.dumps({**document, **changes})


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("{", "this is not JSON"),
        ("[]", "this is not a plan"),
        ('{"steps": []}', "this is not a plan"),
        (_edited(schemactl_plan=2), "format 2"),
        (_edited(schemactl_plan=True), "format True"),
        (_edited(steps=[]), "changed after it was created"),
        (_edited(hash="0"), "changed after it was created"),
        (_edited(more=1), "changed after it was created"),
    ],
)
def test_what_is_no_plan_or_was_changed_is_refused(text, reported):
    with pytest.raises(InputError, match=reported) as caught:
        read_plan(text, "shop.plan.json")
    assert str(caught.value.at) == "shop.plan.json"


@pytest.mark.parametrize("nested", ["[" * 200_000, '{"schemactl_plan": 1, "schema": ' + '{"a": ' * 200_000])
def test_json_that_is_nested_too_deeply_is_no_plan(nested):
    with pytest.raises(InputError, match="nested too deeply"):
        read_plan(nested, "a.plan.json")


REPORTS = [
    {"plan": plan_document(plan_for(THERE, WANTED)), "done": 0, "counted": [], "refusals": []},
    {"outcome": "done", "seconds": 0.1, "plan": plan_document(plan_for(THERE, WANTED)), "refusals": []},
    {"outcome": "done", "place": {"kind": "duckdb", "origin": "duckdb:///shop.duckdb", "dataset": "shop"}},
]


@pytest.mark.parametrize("report", REPORTS, ids=("plan", "apply", "rollback"))
def test_a_printed_report_is_reported_from_a_plan_and_from_a_schema_with_the_way_to_save_one(report):
    with pytest.raises(InputError, match=r"this is a report that .* has printed, neither a plan nor") as caught:
        read_plan(json.dumps(report), "shop.plan.json")
    assert "schemactl migrate plan REF --to DEST --out FILE.plan.json" in str(caught.value.hint)
    reported = mistaken_for_schema(json.dumps(report), "report.json")
    assert (reported.message, reported.hint) == (caught.value.message, caught.value.hint)
    assert str(reported.at) == "report.json"


def test_a_plan_where_a_schema_is_wanted_is_reported_how_to_be_run():
    reported = mistaken_for_schema(write_plan(plan_for(THERE, WANTED)), "saved.json")
    assert (reported.message, str(reported.at)) == ("this is a plan, not a schema", "saved.json")
    assert reported.hint == "name the file `NAME.plan.json`, so `schemactl migrate apply` can run it"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "name: shop", '{"name": "shop"}', '{"plan": 1, "place": "x"}', "[" * 100_000]
)
def test_what_migrate_has_not_written_is_not_mistaken(text):
    assert mistaken_for_schema(text, "shop.json") is None


def _forged(change):
    """Return a plan that was changed, and its hash with it."""
    from schemactl.migration import plan_documents

    document = plan_document(plan_for(THERE, WANTED))
    change(document)
    content = {key: value for key, value in document.items() if key not in (plan_documents.MARK, "hash")}
    return json.dumps({**document, "hash": plan_documents.content_hash(content)})


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(more=1),
        lambda plan: plan.pop("notes"),
        lambda plan: plan["steps"][0]["step"].update(kind="RunAnything"),
        lambda plan: plan["steps"][0]["step"].update(kind="TableAdded"),
        lambda plan: plan["steps"][0]["step"].update(kind=["AddColumn"]),
        lambda plan: plan["steps"][0]["step"].update(table=1),
        lambda plan: plan["steps"][0]["step"].update(also=1),
        lambda plan: plan["steps"][0]["step"].pop("table"),
        lambda plan: plan["steps"][0].update(statements="drop table orders"),
        lambda plan: plan["steps"][0].update(risk="none"),
        lambda plan: plan["steps"].append(None),
        lambda plan: plan.update(tables=[1]),
    ],
)
def test_a_damaged_plan_is_refused(change):
    with pytest.raises(InputError, match="this plan is damaged"):
        read_plan(_forged(change), "shop.plan.json")
