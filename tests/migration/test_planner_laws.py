from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from migration_samples import Dataset, cases, catalogue_of, engines, options, schemas

from schemactl.migration.abilities import Way
from schemactl.migration.effects import run
from schemactl.migration.notes import NoteKind
from schemactl.migration.planner import plan_steps
from schemactl.migration.risk import Risk
from schemactl.migration.steps import CreateTable, DropColumn, DropTable, SetNotNull

LAW = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def plan_of(case):
    engine, abilities, catalogue, schema, known, chosen = case
    return plan_steps(catalogue, schema, known, stored=engine.stored, abilities=abilities, options=chosen)


def ran(case, steps):
    engine, _, catalogue, *_ = case
    dataset = Dataset(catalogue, engine.stored)
    for each in steps:
        dataset.run(each.step)
    return dataset


@LAW
@given(cases())
def test_the_steps_lead_to_the_schema(case):
    engine, _, _, schema, _, _ = case
    proposal = plan_of(case)
    dataset = ran(case, proposal.steps)
    waiting = {note.table for note in proposal.notes if note.kind is NoteKind.WAITS}
    lenient = {(note.table, note.column) for note in proposal.notes if note.kind is NoteKind.NULLABLE}
    for table in schema.tables.values():
        complete = {name: each for name, each in table.columns.items() if each.is_complete}
        if table.name.startswith("_dlt") or not complete or table.name in waiting:
            continue
        for name, column in complete.items():
            kind = {key: value for key, value in engine.stored(column).items() if key != "nullable"}
            held = dataset.tables[table.name][name]
            assert held[0] == kind
            assert held[1] == (column.nullable or (table.name, name) in lenient)


@LAW
@given(cases())
def test_once_the_steps_ran_nothing_is_left_but_what_was_told(case):
    engine, abilities, _, schema, known, chosen = case
    proposal = plan_of(case)
    catalogue = ran(case, proposal.steps).catalogue()
    lenient = {(note.table, note.column) for note in proposal.notes if note.kind is NoteKind.NULLABLE}
    event(f"{len(proposal.steps)} steps")

    again = plan_steps(catalogue, schema, known, stored=engine.stored, abilities=abilities, options=chosen)

    left = [each.step for each in again.steps if not (chosen.drops_kept and isinstance(each.step, DropColumn))]
    assert all(isinstance(step, SetNotNull) and (step.table, step.column.name) in lenient for step in left)


@LAW
@given(cases())
def test_undone_in_reverse_the_steps_leave_the_destination_as_it_was(case):
    engine, _, catalogue, *_ = case
    steps = plan_of(case).steps
    if not all(each.undo.is_possible for each in steps):
        return
    dataset = ran(case, steps)
    for each in reversed(steps):
        for step in each.undo.steps:
            dataset.run(step)
    assert dataset.tables == Dataset(catalogue, engine.stored).tables


@LAW
@given(cases())
def test_only_what_the_last_schema_had_is_dropped(case):
    _, _, _, schema, known, chosen = case
    steps = plan_of(case).steps
    for each in steps:
        if isinstance(each.step, DropTable):
            assert known is not None
            assert each.step.table.name in known.tables
            assert each.step.table.name not in schema.tables
        if isinstance(each.step, DropColumn) and not chosen.drops_kept:
            assert known is not None
            assert each.step.column.name not in schema.tables[each.step.table].columns
        assert each.is_destructive == isinstance(each.step, DropTable | DropColumn) == (each.risk is Risk.LOSES_DATA)


@LAW
@given(cases())
def test_the_package_s_own_model_agrees_with_the_steps(case):
    engine, *_ = case
    proposal = plan_of(case)
    tables = dict(proposal.catalogue.tables)
    run(tables, [each.step for each in proposal.steps])
    dataset = ran(case, proposal.steps)
    own = {name: each for name, each in dataset.tables.items() if not name.startswith("_dlt") or name in tables}
    found = {
        name: {
            key: [
                {kind: value for kind, value in engine.stored(each).items() if kind != "nullable"},
                each.nullable,
                bool(each.properties.get("unique")),
            ]
            for key, each in table.columns.items()
        }
        for name, table in tables.items()
    }
    assert found == own


@LAW
@given(cases())
def test_parents_are_created_before_what_is_nested_in_them_and_dropped_after_it(case):
    steps = [each.step for each in plan_of(case).steps]
    created = [step.table.name for step in steps if isinstance(step, CreateTable)]
    dropped = [step.table.name for step in steps if isinstance(step, DropTable)]
    for name in created:
        assert not any(name.startswith(f"{later}__") for later in created[created.index(name) :])
    for name in dropped:
        assert not any(later.startswith(f"{name}__") for later in dropped[dropped.index(name) :])


@LAW
@given(schemas, engines, options)
def test_nothing_is_planned_for_a_destination_that_has_all(schema, engine, chosen):
    kind, abilities = engine
    unique = {
        (table.name, name)
        for table in schema.tables.values()
        for name, each in table.columns.items()
        if each.properties.get("unique")
    }
    catalogue = catalogue_of(schema, kind.stored, unique)
    assert plan_steps(catalogue, schema, schema, stored=kind.stored, abilities=abilities, options=chosen).steps == ()


@LAW
@given(cases())
def test_a_step_that_the_destination_cannot_take_is_marked(case):
    for each in plan_of(case).steps:
        assert each.is_possible == (each.way is not Way.NONE)
