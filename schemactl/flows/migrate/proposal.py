"""Make the plan from what is found at a destination to a schema; what stands against it is for ``plan``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.flows.migrate.state import Found, earlier_names
from schemactl.migration.moves import kept_origin
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import MigrationPlan, make_plan
from schemactl.migration.planner import Proposal, plan_steps
from schemactl.migration.steps import RenameColumn, Step
from schemactl.migration.tracing import in_first_names
from schemactl.schema.types import Schema


def plan_for(found: Found, schema: Schema, options: PlanOptions, allows_destructive: bool) -> MigrationPlan:
    """Return the plan from what was found to a schema; where nothing may be lost, what loses data is left out."""
    target = found.target
    if options.is_online and not target.destination.ABILITIES.is_online:
        raise InputError(f"`{target.kind}` has no steps that others write through", hint="leave out `--online`")
    chosen = replace(options, keeps_removed=not allows_destructive, removed_before=earlier_names(found))
    proposal = propose(found, schema, chosen)
    plan = plan_proposal(found, schema, proposal)
    return target.decide_rewrites(found.session, plan, proposal.catalogue.tables)


def propose(found: Found, schema: Schema, options: PlanOptions) -> Proposal:
    """Return the steps from what was found to a schema."""
    fold = found.target.destination.NAMES.fold
    required = {
        fold(name): {fold(each.name) for each in table.columns.values() if each.is_complete and not each.nullable}
        for name, table in schema.tables.items()
    }
    # Whether there are rows is counted for tables that may get a required column, and for those that go.
    in_question = [
        name
        for name, table in found.catalogue.schema.tables.items()
        if fold(name) not in required or required[fold(name)] - set(map(fold, table.columns))
    ]
    empty = found.session.empty_tables(in_question)
    return plan_steps(
        found.catalogue.schema,
        schema,
        found.known,
        stored=found.target.destination.stored,
        abilities=found.target.destination.ABILITIES,
        options=replace(options, empty_tables=empty),
    )


def plan_proposal(found: Found, schema: Schema, proposal: Proposal) -> MigrationPlan:
    """Return the plan of a proposal, with its statements and notes for the destination."""
    notes = (*proposal.notes, *_side_effects(found.session, [planned.step for planned in proposal.steps]))
    proposal = replace(proposal, notes=notes)
    render = found.target.renderer(found.session)
    return make_plan(proposal, found.catalogue.schema, schema, found.place, render)


def _side_effects(session: MigrationSession, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the staging tables of dlt that go with the steps, and what stays with columns whose names others take."""
    for name in session.outdated_copies(steps):
        message = "has a copy in dlt's staging dataset, which is dropped: the next load makes it again"
        yield Note(NoteKind.WAITS, name, None, message)
    renames = {(step.table, step.after) for step in steps if isinstance(step, RenameColumn)}
    for step, seen in zip(steps, in_first_names(steps), strict=True):
        if not isinstance(step, RenameColumn) or not isinstance(seen, RenameColumn):
            continue
        is_followed = kept_origin(step.after) is not None and (step.table, step.before) in renames
        if is_followed and (dependents := session.left_behind(seen.table, seen.before)):
            message = f"becomes `{step.after}`, and with that stays what hangs on it: {', '.join(dependents)}"
            hint = f"make it anew for the column that is `{step.before}` afterwards"
            yield Note(NoteKind.STAYS, step.table, step.before, message, hint)
