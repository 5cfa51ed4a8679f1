"""Plans of files and ledgers, of which only properties that follow from their steps are trusted, and their progress.

The author of a file or of a row of the ledger decides on a plan's steps, which are shown and need permission as any
other. The author does not decide on statements, risks and undos, nor on a schema that the steps do not lead to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemactl.destinations import Migrator
from schemactl.errors import InputError
from schemactl.flows.migrate.state import DestinationState
from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.effects import apply_to_model, are_done
from schemactl.migration.migration_plan import MigrationPlan, render_step, with_own
from schemactl.migration.plan_documents import read_plan
from schemactl.migration.planner import PlannedStep, plan_steps, planned_as
from schemactl.migration.records import Run, StepRecord, StepState
from schemactl.migration.steps import FoldVariant, Prepare, Step
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.hash import version_hash
from schemactl.schema.nested_types import NestedType, structure_of
from schemactl.schema.types import Column, Schema, Table

_HINT = "create it again with this version of schemactl"


def check_file(state: DestinationState, plan: MigrationPlan) -> None:
    """Raise an error if the plan of a file does not follow from its steps, because someone has edited it."""
    _check_schema(plan)
    for number, planned in enumerate(plan.steps, 1):
        if _derived(planned) != _derived(planned_as(planned, state.target.destination.ABILITIES)):
            raise InputError(f"the risk or the undo of the plan's step {number} is not that of the step", hint=_HINT)
    tables = state.tables_for(plan.target)
    try:
        rendered_plan = _with_statements(state, plan, tables)
    except StepDoesNotFit as error:
        raise InputError(f"the plan's steps do not fit the tables: {error.message}", hint="create it again") from error
    if plan.has_groups:
        rendered_plan = state.target.decide_rewrites(state.session, rendered_plan, tables)
    derived, stored = (
        [(planned.statements, planned.done_with) for planned in version.steps] for version in (rendered_plan, plan)
    )
    if derived != stored:
        raise InputError("the plan's statements do not match its steps", hint=_HINT)


def derived_plan(plan: MigrationPlan, abilities: Abilities) -> MigrationPlan:
    """Return a plan of the ledger with the ways, risks and undos that its steps have."""
    return with_own(replace(plan, steps=tuple(planned_as(planned, abilities) for planned in plan.steps)), plan.own)


def _with_statements(
    state: DestinationState, plan: MigrationPlan, tables: Mapping[str, Table], finished_count: int = 0
) -> MigrationPlan:
    """Return a plan in which each remaining step has its own statements, without rewrites of several steps."""
    model, render, remaining = dict(tables), state.target.renderer(state.session), plan.steps[finished_count:]
    check_reached(tables, [planned.step for planned in remaining], plan.target, state.target.destination)
    rendered = (
        replace(planned, statements=render_step(planned.step, model, render, is_possible=planned.is_possible))
        for planned in remaining
    )
    return replace(plan, steps=(*plan.steps[:finished_count], *rendered))


def _check_schema(plan: MigrationPlan) -> None:
    if version_hash(plan.target) != plan.target_hash:
        raise InputError(f"the plan's schema does not match its hash {plan.target_hash}", hint=_HINT)


def check_reached(tables: Mapping[str, Table], steps: Sequence[Step], schema: Schema, destination: Migrator) -> None:
    """Refuse steps after which the tables would still not be a schema's.

    Raises:
        StepDoesNotFit: the steps do not fit the tables.
    """
    after = dict(tables)
    apply_to_model(after, steps)
    catalogue = Schema(name=schema.name, tables=after)
    missing = plan_steps(catalogue, schema, schema, stored=destination.stored, abilities=destination.ABILITIES)
    for step in (planned.step for planned in missing.steps):
        if step.is_structural and not is_bookkeeping(step.table_name):
            need = f"`{step.table_name}` would still need another step, {step.kind}"
            raise InputError(f"the plan's steps do not lead to its schema: {need}", hint=_HINT)


def risk_and_undo(planned: PlannedStep) -> tuple[object, ...]:
    """Return the risk and the undo of a step, without the undo's note, whose words change."""
    return planned.risk, planned.undo.steps, planned.undo.is_possible


def _derived(planned: PlannedStep) -> tuple[object, ...]:
    """Return all that follows from a step in this version."""
    return planned.way, planned.lock, *risk_and_undo(planned)


def plan_of(run: Run) -> MigrationPlan:
    """Return the plan of a run as the ledger keeps it."""
    return read_plan(run.plan, f"the ledger, run {run.run_id}")


def only_retypes_to(plan: MigrationPlan, schema: Schema) -> bool:
    """Return whether a plan only gives columns the types of a schema, as a load does that widens columns."""
    retyped = [planned.reason for planned in plan.steps if isinstance(planned.reason, ColumnRetyped)]
    pairs = [[tables.column(reason.table, reason.column) for tables in (plan.target, schema)] for reason in retyped]
    return 0 < len(retyped) == len(plan.steps) and all(
        column is not None and goal is not None and _type_of(column) == _type_of(goal) for column, goal in pairs
    )


def _type_of(column: Column) -> tuple[FullType | None, NestedType | None]:
    return full_type(column.properties), structure_of(column)


def resume_plan(state: DestinationState, run: Run) -> tuple[MigrationPlan, int]:
    """Return the plan of an unfinished run, and how many of its steps are done.

    Steps run in order, so the first ones are done. A step also counts if a killed process completed it without
    recording it. The statements of the remaining steps are derived from the steps, whatever the ledger says.
    """
    abilities = state.target.destination.ABILITIES
    plan = derived_plan(plan_of(run), abilities)
    finished_count = len(done_numbers(state, plan, state.session.steps(run.run_id)))
    _check_schema(plan)
    tables = state.tables_for(plan.target)
    try:
        remaining = _with_statements(state, plan, tables, finished_count)
    except StepDoesNotFit:
        # The run refuses it: its steps do not fit the tables.
        return replace(plan, steps=tuple(replace(planned, statements=()) for planned in plan.steps)), finished_count
    for number, (planned, rendered) in enumerate(zip(plan.steps, remaining.steps, strict=True), 1):
        if planned.done_with is None and abilities.transactional_ddl and planned.statements != rendered.statements:
            hint = "undo the completed steps with `schemactl migrate rollback`, and check who wrote to the ledger"
            raise InputError(f"the ledger's statements of step {number} do not match the step", hint=hint)
    return state.target.decide_rewrites(
        state.session, remaining, tables, finished_count
    ) if plan.has_groups else remaining, finished_count


def done_numbers(
    state: DestinationState, plan: MigrationPlan, records: Sequence[StepRecord], *, is_undoing: bool = False
) -> tuple[int, ...]:
    """Return the numbers of the steps of a run whose effect the tables show.

    A step that a killed process had started to do or undo is judged by the tables.
    """
    finished = [record.number for record in records if record.state is StepState.DONE]
    running = [record.number for record in records if record.state is StepState.RUNNING]
    if running:
        tables = state.tables_for(plan.target)
        for numbers in _runs(running):
            steps = [plan.steps[number - 1].step for number in numbers]
            # These may have begun, and can be undone also if they have not.
            is_left = is_undoing and (
                any(isinstance(step, Prepare) for step in steps) or all(isinstance(step, FoldVariant) for step in steps)
            )
            finished += numbers if is_left or are_done(steps, tables, state.target.destination.stored) else []
    return tuple(sorted(finished))


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers next to each other together: such steps were begun at once."""
    groups: list[list[int]] = []
    for number in sorted(numbers):
        if groups and groups[-1][-1] == number - 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups
