"""Says in a plan which of its steps are done at once: what is shown is what is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemactl.destinations import MergingSession, MigrationSession
from schemactl.flows.migrate.check import tables_now
from schemactl.flows.migrate.copying import CopyingSession, by_copies, is_copying, shared_statements
from schemactl.flows.migrate.merging import StatementSession, is_merging, merged, shows_statements
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.effects import run
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import table_of
from schemactl.schema.types import Table


def grouped(
    session: MigrationSession, module: MigratingDestination, plan: MigrationPlan, tables: Mapping[str, Table]
) -> MigrationPlan:
    """Return a plan that says which of its steps are done at once.

    Args:
        session: where.
        module: of the destination.
        plan: of which each step has its own statements.
        tables: as they are before the first step.
    """
    if not plan.is_applicable:
        return plan
    steps = [each.step for each in plan.steps]
    found = list(plan.steps)
    if module.ABILITIES.transactional_ddl:
        for places, table in by_copies(session, steps, tables, plan.cuts):
            if len(places) > 1 and table is not None and is_copying(session):
                found[places.start : places.stop] = _shared(session, module, plan.steps, places, table)
    elif is_merging(session):
        model = dict(tables)
        for places in merged(steps, tables, module):
            if len(places) > 1:
                found[places.start : places.stop] = _rewritten(session, plan.steps, places, model)
            run(model, steps[places.start : places.stop])
    return replace(plan, steps=tuple(found))


def left_of(session: MigrationSession, module: MigratingDestination, plan: MigrationPlan, done: int) -> MigrationPlan:
    """Return a plan with the copies that are left to make, as the tables are now.

    Of steps that share a copy some may have been undone by themselves: those that are left share
    one, if they still can.

    Args:
        session: where.
        module: of the destination.
        plan: as it was made.
        done: how many of its steps are done.
    """
    if not plan.has_groups:
        return plan
    model, found = tables_now(session, module, plan.target), list(plan.steps)
    if not module.ABILITIES.transactional_ddl:
        return _left_to_rewrite(session, module, plan, done, model) if shows_statements(session) else plan
    if not is_copying(session):
        return plan
    for places in plan.groups:
        left = range(max(places.start, done), places.stop)
        try:
            table = model.get(table_of(plan.steps[left.start].step)) if left else None
            if len(places) > 1 and table is not None:
                found[left.start : left.stop] = _shared(session, module, plan.steps, left, table)
                cut = [replace(each, done_with=None) for each in found[places.start : left.start]]
                found[places.start : left.start] = cut
            run(model, [plan.steps[place].step for place in left])
        except KeyError:
            return plan  # the run refuses it: its steps do not fit the tables
    return replace(plan, steps=tuple(found))


def _left_to_rewrite(
    session: StatementSession, module: MigratingDestination, plan: MigrationPlan, done: int, model: dict[str, Table]
) -> MigrationPlan:
    """Return a plan with the rewrites that are left: who goes on does at once what can be, whatever was planned."""
    # Of steps that were done at once the last has the statements of all: what is left of them gets its own.
    found = [replace(each, done_with=None) if (each.done_with or 0) > done else each for each in plan.steps[:done]]
    left = [each.step for each in plan.steps[done:]]
    try:
        for here in merged(left, model, module):
            places = range(here.start + done, here.stop + done)
            planned = plan.steps[places.start]
            if len(places) > 1:
                found += _rewritten(session, plan.steps, places, model)
            elif planned.done_with is not None:
                alone = tuple(module.render(planned.step, model.get(table_of(planned.step)), session.dataset))
                found.append(replace(planned, statements=alone, done_with=None))
            else:
                found.append(planned)
            run(model, left[here.start : here.stop])
    except KeyError:
        return plan  # the run refuses it: its steps do not fit the tables
    return replace(plan, steps=tuple(found))


def _rewritten(
    session: MergingSession, steps: Sequence[PlannedStep], places: range, tables: Mapping[str, Table]
) -> list[PlannedStep]:
    """Return the steps at some places, which write their table's rows anew once; the last one has the statements."""
    described = [replace(steps[place], done_with=places.stop) for place in places]
    if not shows_statements(session):
        return described  # each has its own
    together = [each.step for each in described]
    statements = session.statements_together(together, tables[table_of(together[0])])
    return [*(replace(each, statements=()) for each in described[:-1]), replace(described[-1], statements=statements)]


def _shared(
    session: CopyingSession, module: MigratingDestination, steps: Sequence[PlannedStep], places: range, table: Table
) -> list[PlannedStep]:
    """Return the steps at some places, which one copy of their table does; the last one has the statements."""
    planned = [steps[place] for place in places]
    if len(planned) == 1:
        alone = tuple(module.render(planned[0].step, table, session.dataset))
        return [replace(planned[0], statements=alone, done_with=None)]
    statements = shared_statements(session, module, [each.step for each in planned], table)
    described = [replace(each, statements=(), done_with=places.stop) for each in planned]
    return [*described[:-1], replace(described[-1], statements=statements)]
