"""Plan the steps from the state of a destination to a schema, with their statements and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.flows.migrate.state import DestinationState, earlier_names
from schemactl.migration.conflicting_renames import kept_origin
from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.effects import in_first_names
from schemactl.migration.migration_plan import MigrationPlan, make_plan, with_own
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import Proposal, plan_steps
from schemactl.migration.steps import RenameColumn, Step
from schemactl.schema.structure import typed_columns
from schemactl.schema.types import Schema


def plan_to_schema(
    state: DestinationState, schema: Schema, options: PlanOptions, allows_destructive: bool
) -> MigrationPlan:
    """Return the plan from a state to a schema; unless losses are allowed, steps that lose data are left out."""
    target = state.target
    if options.is_online and not target.destination.ABILITIES.is_online:
        raise InputError(f"`{target.kind}` does not support `--online`", hint="remove `--online`")
    options = replace(options, keeps_removed=not allows_destructive, removed_before=earlier_names(state))
    return render_plan(state, schema, propose(state, schema, options))


def propose(state: DestinationState, schema: Schema, options: PlanOptions) -> Proposal:
    """Return the steps from a destination's state to a schema."""
    fold = state.target.destination.NAMES.fold
    required_columns = {
        fold(name): {fold(column.name) for column in typed_columns(table) if not column.nullable}
        for name, table in schema.tables.items()
    }
    # Rows are counted in tables that may get a required column, and in dropped tables.
    counted_tables = [
        name
        for name, table in state.catalogue.schema.tables.items()
        if fold(name) not in required_columns or required_columns[fold(name)] - set(map(fold, table.columns))
    ]
    return plan_steps(
        state.catalogue.schema,
        schema,
        state.ledger_schema,
        stored=state.target.destination.stored,
        abilities=state.target.destination.ABILITIES,
        options=replace(options, empty_tables=state.session.empty_tables(counted_tables)),
    )


def render_plan(
    state: DestinationState,
    schema: Schema,
    proposal: Proposal,
    find_own: Callable[[Sequence[Step]], Sequence[OwnSql]] | None = None,
) -> MigrationPlan:
    """Return the plan of a proposal, with the destination's statements and notes, rewrites, and custom SQL.

    Raises:
        StepDoesNotFit: the steps do not fit the tables, or custom SQL does not fit the steps.
    """
    steps = [planned.step for planned in proposal.steps]
    proposal = replace(proposal, notes=(*proposal.notes, *_side_effects(state.session, steps)))
    plan = make_plan(proposal, state.catalogue.schema, schema, state.place, state.target.renderer(state.session))
    if find_own is not None:
        plan = with_own(plan, find_own(steps))
    return state.target.decide_rewrites(state.session, plan, proposal.catalogue.tables)


def _side_effects(session: MigrationSession, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the staging tables of dlt that the steps drop, and the dependents that stay with renamed columns."""
    for name in session.outdated_copies(steps):
        message = (
            "its copy in dlt's staging dataset is dropped; the next dlt load creates it again, and no rows are lost"
        )
        yield Note(NoteKind.WAITS, name, None, message)
    renames = {(step.table, step.after) for step in steps if isinstance(step, RenameColumn)}
    for step, traced_step in zip(steps, in_first_names(steps), strict=True):
        if not isinstance(step, RenameColumn) or not isinstance(traced_step, RenameColumn):
            continue
        is_followed = kept_origin(step.after) is not None and (step.table, step.before) in renames
        if is_followed and (dependents := session.left_behind(traced_step.table, traced_step.before)):
            message = f"is renamed to `{step.after}` and keeps its dependents: {', '.join(dependents)}"
            hint = f"recreate them for the new column `{step.before}`"
            yield Note(NoteKind.STAYS, step.table, step.before, message, hint)
