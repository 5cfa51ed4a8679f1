"""``schemactl migrate plan``: plan the steps to a schema, a saved plan or a migration, and find blockers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from schemactl.errors import ChangedMeanwhile, InputError
from schemactl.flows.migrate.bound_migrations import bind, unbound_plan
from schemactl.flows.migrate.counting import (
    count_surviving,
    count_unfit,
    find_blockers,
    refuse_unfit,
)
from schemactl.flows.migrate.ledger_schemas import find_lost, warn_of_restored
from schemactl.flows.migrate.schema_plans import plan_to_schema
from schemactl.flows.migrate.state import DestinationState, find_goal_schema, read_state
from schemactl.flows.migrate.stored_plans import check_file, only_retypes_to, plan_of, resume_plan
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.garbage_collection import paused_collector
from schemactl.migration.migration_files import Migration
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import ENDING, mark_in, plan_hash, write_plan
from schemactl.migration.records import Run
from schemactl.migration.reports import BlockerKind, PlanBlocker, PlanReport
from schemactl.progress import Progress, no_progress
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasPlace
from schemactl.store.text import replace_file


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A call of ``schemactl migrate plan``.

    Attributes:
        reference: a REF, or a schema itself.
        out: a file that keeps the plan; None without one.
        key: that the file is signed with; None for no signature.
    """

    reference: str | Schema
    to: str | None
    schemas: SchemasPlace
    options: PlanOptions
    allows_destructive: bool = False
    out: Path | None = None
    key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Goal:
    """The schema, saved plan or migration of a folder that a destination should have.

    Attributes:
        options: the user's choices for planning; a saved plan or a migration already contains them.
    """

    target: MigrationTarget
    schema: Schema
    options: PlanOptions = field(default_factory=PlanOptions)
    allows_destructive: bool = False
    plan: MigrationPlan | None = None
    migration: Migration | None = None

    def is_begun_by(self, run: Run) -> bool:
        """Return whether an unfinished run was begun for this goal, or by a load that widened columns to its types."""
        if self.migration is not None:
            return mark_in(run.plan) == self.migration.mark
        if self.plan is not None:
            return run.plan_hash == plan_hash(self.plan)
        is_same_schema = run.to_hash == self.schema.version_hash
        return is_same_schema or (bool(run.plan) and only_retypes_to(plan_of(run), self.schema))


def plan_migration(request: PlanRequest, progress: Progress | None = None) -> PlanReport:
    """Return the plan without running it; only the plan's file is written."""
    if request.out is not None and not request.out.name.endswith(ENDING):
        raise InputError(f"`{request.out}` is not the name of a plan", hint=f"let it end in `{ENDING}`")
    target = migratable(request.to)
    with paused_collector():  # of 1,000 tables: 0.4 of 2.2 s
        schema = find_goal_schema(request.reference, request.schemas)
        goal = Goal(target, schema, request.options, request.allows_destructive)
        report, _ = read_and_plan(goal, progress or no_progress)
    if request.out is not None:
        replace_file(request.out, write_plan(report.plan, request.key))
    return report


def read_and_plan(
    goal: Goal, notify: Progress = no_progress, *, readings: int = 3
) -> tuple[PlanReport, DestinationState]:
    """Read a destination and plan how to reach a goal; the returned state has a closed session.

    ``readings``: how often to read a destination that changes meanwhile.
    """
    lost_names = ""
    try:
        with goal.target.open_for_reading(goal.schema.name, may_be_new=True) as session:
            notify("reading the catalog", None)
            state = read_state(session, goal.target, goal.schema.name)
            restored = goal
            if goal.plan is None and goal.migration is None:
                schema, lost_names = find_lost(goal.schema, state)
                restored = replace(goal, schema=bump(schema))
            report = plan_from_state(restored, state, notify)
    except ChangedMeanwhile:
        if readings == 1:
            raise
        return read_and_plan(goal, notify, readings=readings - 1)
    warn_of_restored(goal.schema, lost_names)  # once, however often the destination is read
    return report, state


def plan_from_state(
    goal: Goal, state: DestinationState, notify: Progress = no_progress, *, resumes_any: bool = False
) -> PlanReport:
    """Return the plan from a destination's state to a goal, and its blockers; an unfinished run is resumed.

    ``resumes_any``: whether to resume an unfinished run with any goal.
    """
    unfinished = state.unfinished
    done: int | None = None
    if unfinished is not None and (resumes_any or goal.is_begun_by(unfinished)):
        plan, done = resume_plan(state, unfinished)
    elif goal.migration is not None:
        bound = bind(state, goal.migration)
        if isinstance(bound, PlanBlocker):
            return PlanReport(unbound_plan(goal.migration, state.target, state.place), blockers=(bound,))
        plan = bound
    elif goal.plan is not None:
        plan = goal.plan
        if blocker := _find_move(plan, state):
            return PlanReport(plan, blockers=(blocker,))
        check_file(state, plan)
    else:
        plan = plan_to_schema(state, goal.schema, goal.options, goal.allows_destructive)
    return check_plan(state, plan, goal.allows_destructive, done, notify)


def _find_move(plan: MigrationPlan, state: DestinationState) -> PlanBlocker | None:
    """Return why the plan of a file is out of date; None if the tables are still as it found them."""
    if (current_place := state.place) != plan.place:
        planned_place = f"`{plan.place.origin}`, dataset `{plan.place.dataset}`"
        message = (
            f"the plan is for {planned_place}, not for `{current_place.origin}`, dataset `{current_place.dataset}`"
        )
        raise InputError(message, hint="create a plan for each destination")
    if plan.is_current(state.catalogue.schema):
        return None
    if state.runs and state.runs[-1].plan_hash == plan_hash(plan):
        hint = "`schemactl migrate status` shows the state of the destination"
        return PlanBlocker(BlockerKind.MOVED, "this plan is already applied", hint)
    return refuse_moved(is_saved=True)


def check_plan(
    state: DestinationState, plan: MigrationPlan, allows_destructive: bool, done: int | None, notify: Progress
) -> PlanReport:
    """Count in the data, and return the plan with all that blocks it."""
    session = state.session
    notify("looking at the data", None)
    first = done or 0
    steps = [planned.step for planned in plan.steps[first:]]
    # Values that custom SQL changes before a step are counted when the step's turn comes.
    changed = range(plan.changed_from(first) - first if plan.is_applicable else 0, len(steps))
    step_blockers = find_blockers(session, steps[: changed.start])
    barred = {*changed, *(index for places in step_blockers.values() for index in places)}
    counts = count_unfit(session, plan, first, barred, is_resumed=done is not None)
    not_undone, *surviving = count_surviving(session, plan, first, barred)
    blocked = {counted_values.number for counted_values in counts}
    folded, widened = (tuple(count for count in moved if count.number not in blocked) for moved in surviving)
    blockers: list[PlanBlocker] = []
    if plan.impossible:
        message = f"{_not_possible(plan.impossible)} at this destination"
        blockers.append(PlanBlocker(BlockerKind.IMPOSSIBLE, message, "change the schema", plan.impossible))
    losing = tuple(number for number, step in enumerate(plan.steps, 1) if step.is_destructive)
    if losing and not allows_destructive:
        message = f"{_listed(losing)} {'loses' if len(losing) == 1 else 'lose'} data"
        blockers.append(PlanBlocker(BlockerKind.DESTRUCTIVE, message, "`--allow-destructive` allows it", losing))
    for blocker, places in step_blockers.items():
        numbers = tuple(index + first + 1 for index in places)
        message = f"{_not_possible(numbers)}: {blocker.message}"
        blockers.append(PlanBlocker(BlockerKind.IMPOSSIBLE, message, blocker.hint or "", numbers))
    blockers += refuse_unfit(plan, counts, is_begun=done is not None)
    if done is None and state.unfinished is not None:
        blockers.append(refuse_unfinished(state.unfinished))
    is_recorded = state.ledger_hash == plan.target_hash
    return PlanReport(plan, counts, tuple(blockers), done, is_recorded, tuple(not_undone), folded, widened)


def refuse_moved(*, is_saved: bool) -> PlanBlocker:
    """Return the blocker for a destination that has changed; ``is_saved`` if an earlier command made the plan."""
    file_hint = "create a new plan: `schemactl migrate plan REF --to DEST --out FILE`"
    hint = file_hint if is_saved else "another session changed it: run the command again"
    return PlanBlocker(BlockerKind.MOVED, "the destination has changed since the plan was created", hint)


def refuse_unfinished(run: Run) -> PlanBlocker:
    """Return that another run has to be ended or undone first."""
    hint = "undo it with `schemactl migrate rollback`, or resume it with `apply` and its schema"
    return PlanBlocker(BlockerKind.UNFINISHED, f"a run to the schema {run.to_hash} is unfinished", hint)


def _listed(numbers: tuple[int, ...]) -> str:
    return f"step {numbers[0]}" if len(numbers) == 1 else f"steps {', '.join(map(str, numbers))}"


def _not_possible(numbers: tuple[int, ...]) -> str:
    return f"{_listed(numbers)} {'is' if len(numbers) == 1 else 'are'} not possible"
