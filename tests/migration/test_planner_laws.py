from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

from hypothesis import HealthCheck, event, given, note, settings
from migration_samples import Dataset, cases, catalogue_of, engines, options, schemas, text_of
from test_plan_documents import PLACE, render

from schemactl.flows.migrate.stored_plans import check_reached
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_plan import make_plan
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import OnUnfit
from schemactl.migration.plan_documents import plan_hash, read_plan, write_plan
from schemactl.migration.planner import plan_steps, planned_as
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropPrimaryKey,
    DropTable,
    RenameColumn,
    RenameTable,
    SetNotNull,
)
from schemactl.migration.ways import Risk, Way
from schemactl.schema.types import Column


def reported_columns(proposal, kind):
    return {(note.table, note.column) for note in proposal.notes if note.kind is kind}


def named_in(proposal):
    """Return the tables that got a name, or have a column that did."""
    steps = [each.step for each in proposal.steps]
    tables = {step.after for step in steps if isinstance(step, RenameTable)}
    tables |= {step.table.name for step in steps if isinstance(step, CreateTable)}
    return tables | {step.table for step in steps if isinstance(step, AddColumn | RenameColumn)}


def with_former(table, known):
    """Return a table with the columns that it had: those that were to be dropped are noticed where they still are."""
    former = known.tables[table.name].columns if table.name in known.tables else {}
    return replace(table, columns={**former, **table.columns})


def ran(case, steps):
    engine, _, catalogue, *_ = case
    dataset = Dataset(catalogue, engine.stored)
    for each in steps:
        dataset.run(each.step)
    return dataset


def the_steps_lead_to_the_schema(case, proposal):
    engine, abilities, _, schema, _, _ = case
    dataset = ran(case, proposal.steps)
    is_described = abilities.describe_table is not Way.NONE
    waiting = {note.table for note in proposal.notes if note.kind is NoteKind.WAITS}
    lenient = reported_columns(proposal, NoteKind.NULLABLE)
    kept = reported_columns(proposal, NoteKind.PRIMARY_KEY)
    for table in schema.tables.values():
        complete = {name: each for name, each in table.columns.items() if each.is_complete}
        if table.name.startswith("_dlt") or not complete or table.name in waiting:
            continue
        texts = dataset.texts[table.name] if is_described else {}
        if is_described and (text := text_of(table, abilities)):
            assert texts[""] == text
        for name, column in complete.items():
            if is_described and not name.startswith("_dlt") and (text := text_of(column, abilities)):
                assert texts[name] == text
            kind = {key: value for key, value in engine.stored(column).items() if key != "nullable"}
            held = dataset.tables[table.name][name]
            assert held[0] == kind
            may_be_null = (column.nullable or (table.name, name) in lenient) and (table.name, name) not in kept
            assert held[1] == may_be_null


def once_the_steps_ran_nothing_is_left_but_what_was_reported(case, proposal):
    engine, abilities, _, schema, known, chosen = case
    catalogue = ran(case, proposal.steps).catalogue()
    lenient = reported_columns(proposal, NoteKind.NULLABLE)
    keyless = {note.table for note in proposal.notes if note.kind is NoteKind.PRIMARY_KEY and note.column is None}
    event(f"{len(proposal.steps)} steps")

    # Tables and columns that took each other's names do so once: from then on the ledger has the schema that says so.
    if known is not None:
        named = named_in(proposal)
        told = {name: table if name in named else with_former(table, known) for name, table in schema.tables.items()}
        known = replace(known, tables={**known.tables, **told})
    again = plan_steps(catalogue, schema, known, stored=engine.stored, abilities=abilities, options=chosen)

    left = [each.step for each in again.steps if not (chosen.drops_kept and isinstance(each.step, DropColumn))]
    for step in left:
        if isinstance(step, AddPrimaryKey | DropPrimaryKey):  # now that the new column is there, it can be filled
            assert step.table in keyless
        else:
            assert isinstance(step, SetNotNull)
            assert (step.table, step.column.name) in lenient


def a_check_for_forged_plans_takes_every_plan_that_was_made(case, proposal):
    engine, abilities, _, schema, _, _ = case
    module = SimpleNamespace(stored=engine.stored, ABILITIES=abilities)
    check_reached(dict(proposal.catalogue.tables), [each.step for each in proposal.steps], schema, module)
    assert [planned_as(each, abilities) for each in proposal.steps] == list(proposal.steps)


def undone_in_reverse_the_steps_leave_the_destination_as_it_was(case, proposal):
    engine, _, catalogue, *_ = case
    steps = proposal.steps
    if not all(each.undo.is_possible for each in steps):
        return
    dataset = ran(case, steps)
    for each in reversed(steps):
        for step in each.undo.steps:
            dataset.run(step)
    before = Dataset(catalogue, engine.stored)
    assert (dataset.tables, dataset.texts) == (before.tables, before.texts)


def descriptions_that_no_schema_has_stated_stay(case, proposal):
    _, abilities, _, schema, known, _ = case
    for each in proposal.steps:
        if not isinstance(each.step, DescribeTable):
            continue
        assert abilities.describe_table is not Way.NONE
        assert each.risk is Risk.SAFE
        stated = schema.tables[each.step.table]
        for name, text in each.step.after.items():
            assert text == text_of(stated.columns[name] if name else stated, abilities)
            if text is None:
                former = [of for table in known.tables.values() for of in (table, *table.columns.values())]
                assert each.step.before[name] in [text_of(of, abilities) for of in former]


def only_what_the_last_schema_had_is_dropped(case, proposal):
    _, _, _, schema, known, chosen = case
    steps = proposal.steps
    for each in steps:
        if isinstance(each.step, DropTable):
            assert known is not None
            assert each.step.table.name in known.tables
            assert each.step.table.name not in schema.tables
        if isinstance(each.step, DropColumn) and not chosen.drops_kept:
            assert known is not None
            assert each.step.column.name not in schema.tables[each.step.table].columns
        assert each.is_destructive == isinstance(each.step, DropTable | DropColumn) == (each.risk is Risk.LOSES_DATA)


def the_package_s_own_model_agrees_with_the_steps(case, proposal):
    engine, *_ = case
    tables = dict(proposal.catalogue.tables)
    apply_to_model(tables, [each.step for each in proposal.steps])
    dataset = ran(case, proposal.steps)
    own = {name: each for name, each in dataset.tables.items() if not name.startswith("_dlt") or name in tables}
    found = {
        name: {
            key: [
                {kind: value for kind, value in engine.stored(each).items() if kind != "nullable"},
                each.nullable,
                bool(each.properties.get("unique")),
                bool(each.properties.get("primary_key")),
            ]
            for key, each in table.columns.items()
        }
        for name, table in tables.items()
    }
    assert found == own


def parents_are_created_before_what_is_nested_in_them_and_dropped_after_it(case, proposal):
    steps = [each.step for each in proposal.steps]
    created = [step.table.name for step in steps if isinstance(step, CreateTable)]
    dropped = [step.table.name for step in steps if isinstance(step, DropTable)]
    for name in created:
        assert not any(name.startswith(f"{later}__") for later in created[created.index(name) :])
    for name in dropped:
        assert not any(later.startswith(f"{name}__") for later in dropped[dropped.index(name) :])


@settings(suppress_health_check=list(HealthCheck))
@given(schemas, engines, options)
def test_nothing_is_planned_for_a_destination_that_has_all(schema, engine, chosen):
    kind, abilities = engine
    unique = {
        (table.name, name)
        for table in schema.tables.values()
        for name, each in table.columns.items()
        if each.properties.get("unique")
    }
    keys = {
        (table.name, name)
        for table in schema.tables.values()
        for name, each in table.columns.items()
        if each.is_complete and each.properties.get("primary_key")
    }
    catalogue = catalogue_of(schema, kind.stored, unique, keys, lambda of: text_of(of, abilities))
    assert plan_steps(catalogue, schema, schema, stored=kind.stored, abilities=abilities, options=chosen).steps == ()


def a_primary_key_is_planned_or_it_is_reported_why_not(case, proposal):
    _, abilities, _, schema, _, chosen = case
    keyless = {note.table for note in proposal.notes if note.kind is NoteKind.PRIMARY_KEY and note.column is None}
    tables = ran(case, proposal.steps).tables
    for name, columns in tables.items():
        found = {key for key, each in columns.items() if each[3]}
        if name not in schema.tables or name.startswith("_dlt"):
            continue
        if not chosen.compares_primary_keys:
            steps = [each.step for each in proposal.steps if isinstance(each.step, AddPrimaryKey | DropPrimaryKey)]
            # A column that is replaced passes its key on, unless another one of it is dropped; no other key changes.
            moved = [step for step in steps if step.table == name]
            gone = {each.step.column.name for each in proposal.steps if isinstance(each.step, DropColumn)}
            if len(moved) == 1 and gone.intersection(moved[0].columns):
                continue
            assert [type(step) for step in moved] in ([], [DropPrimaryKey, AddPrimaryKey])
            # Where no type can be changed in its place, a new column takes it whatever was chosen.
            is_stuck = abilities.retype(Column("a"), Column("a")) is Way.NONE
            is_swapping = is_stuck or chosen.on_unfit in (OnUnfit.EXPAND, OnUnfit.VARIANT)
            assert not moved or (is_swapping and len(moved[0].columns) == len(moved[1].columns))
        elif name not in keyless:
            stated = schema.tables[name].columns.items()
            assert found == {key for key, each in stated if each.is_complete and each.properties.get("primary_key")}


def a_step_that_the_destination_cannot_take_is_marked(case, proposal):
    for each in proposal.steps:
        assert each.is_possible == (each.way is not Way.NONE)


def a_plan_is_read_as_it_was_written(case, proposal):
    _, _, catalogue, schema, _, _ = case
    plan = make_plan(proposal, catalogue, schema, PLACE, render)
    text = write_plan(plan)
    again = read_plan(text, "a.plan.json")
    assert again == plan
    assert write_plan(again) == text
    assert plan_hash(again) == plan_hash(plan) == json.loads(text)["hash"]
    assert plan.is_current(catalogue)


LAWS = (
    the_steps_lead_to_the_schema,
    once_the_steps_ran_nothing_is_left_but_what_was_reported,
    a_check_for_forged_plans_takes_every_plan_that_was_made,
    undone_in_reverse_the_steps_leave_the_destination_as_it_was,
    descriptions_that_no_schema_has_stated_stay,
    only_what_the_last_schema_had_is_dropped,
    the_package_s_own_model_agrees_with_the_steps,
    parents_are_created_before_what_is_nested_in_them_and_dropped_after_it,
    a_primary_key_is_planned_or_it_is_reported_why_not,
    a_step_that_the_destination_cannot_take_is_marked,
    a_plan_is_read_as_it_was_written,
)


@settings(suppress_health_check=list(HealthCheck))
@given(cases())
def test_every_plan_keeps_the_laws(case):
    engine, abilities, catalogue, schema, known, chosen = case
    proposal = plan_steps(catalogue, schema, known, stored=engine.stored, abilities=abilities, options=chosen)
    for law in LAWS:
        note(law.__name__)
        law(case, proposal)
