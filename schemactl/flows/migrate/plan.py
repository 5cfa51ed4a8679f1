"""``schemactl migrate plan``: plan the steps to a schema, a saved plan or a migration, and what blocks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from schemactl.destinations import MigrationSession
from schemactl.errors import ChangedMeanwhile, InputError
from schemactl.flows.migrate.counting import count_not_undone, count_unfit, find_blockers, refuse_unfit
from schemactl.flows.migrate.drift import find_drift
from schemactl.flows.migrate.ledger_schemas import find_lost, warn_of_restored
from schemactl.flows.migrate.state import DestinationState, earlier_names, find_goal_schema, read_state
from schemactl.flows.migrate.stored_plans import check_file, check_reached, resume_plan
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.garbage_collection import paused_collector
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.conflicting_renames import kept_origin
from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.effects import in_first_names
from schemactl.migration.migration_files import DialectPlan, Migration
from schemactl.migration.migration_plan import MigrationPlan, Place, make_plan, with_own
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import ENDING, mark_in, plan_hash, write_plan
from schemactl.migration.planner import Proposal, plan_steps, planned_as
from schemactl.migration.records import Run
from schemactl.migration.reports import BlockerKind, PlanBlocker, PlanReport
from schemactl.migration.steps import CreateTable, RenameColumn, Step
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import Progress, no_progress
from schemactl.review.rule import place_of
from schemactl.schema.changes import (
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRetyped,
    NullabilityChanged,
    TableRemoved,
)
from schemactl.schema.hash import bump
from schemactl.schema.structure import typed_columns
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
    """The schema, saved plan or migration of a folder that a destination is to have.

    Attributes:
        options: what the user decides; a saved plan and a migration have decided.
    """

    target: MigrationTarget
    schema: Schema
    options: PlanOptions = field(default_factory=PlanOptions)
    allows_destructive: bool = False
    plan: MigrationPlan | None = None
    migration: Migration | None = None

    def is_begun_by(self, run: Run) -> bool:
        """Return whether an unfinished run was begun for this goal."""
        if self.migration is not None:
            return mark_in(run.plan) == self.migration.mark
        if self.plan is not None:
            return run.plan_hash == plan_hash(self.plan)
        return run.to_hash == self.schema.version_hash


def plan_migration(request: PlanRequest, progress: Progress | None = None) -> PlanReport:
    """Return what would be done; nothing is written but the plan's file."""
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


_READINGS: Final = 3
"""How often a destination is read that others change meanwhile."""


def read_and_plan(goal: Goal, notify: Progress = no_progress) -> tuple[PlanReport, DestinationState]:
    """Read a destination and plan how it gets to a goal; the state that is returned has a closed session."""
    for remaining in reversed(range(_READINGS)):
        lost_names = ""
        try:
            with goal.target.open_for_reading(goal.schema.name, may_be_new=True) as session:
                restored = goal
                if goal.plan is None and goal.migration is None:
                    schema, lost_names = find_lost(goal.schema, goal.target, session)
                    restored = replace(goal, schema=bump(schema))
                notify("reading the catalog", None)
                state = read_state(session, goal.target, restored.schema.name)
                report = plan_from_state(restored, state, notify)
        except ChangedMeanwhile:
            if not remaining:
                raise
        else:
            warn_of_restored(goal.schema, lost_names)  # once, however often the destination is read
            return report, state
    raise AssertionError


def plan_from_state(
    goal: Goal, state: DestinationState, notify: Progress = no_progress, *, resumes_any: bool = False
) -> PlanReport:
    """Return the plan from a destination's state to a goal, and what blocks it; an unfinished run is resumed.

    ``resumes_any``: whether an unfinished run is resumed whatever its goal was.
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
        raise InputError(message, hint="make a plan for each destination")
    if plan.is_current(state.catalogue.schema):
        return None
    if state.runs and state.runs[-1].plan_hash == plan_hash(plan):
        hint = "`schemactl migrate status` shows the state of the destination"
        return PlanBlocker(BlockerKind.MOVED, "this plan was applied before", hint)
    return refuse_moved(is_saved=True)


def check_plan(
    state: DestinationState, plan: MigrationPlan, allows_destructive: bool, done: int | None, notify: Progress
) -> PlanReport:
    """Count in the data, and return the plan with all that blocks it."""
    session = state.session
    notify("looking at the data", None)
    first = done or 0
    steps = [planned.step for planned in plan.steps[first:]]
    # What own SQL will have changed by then is looked at when the step's turn comes.
    changed = range(plan.changed_from(first) - first if plan.is_applicable else 0, len(steps))
    step_blockers = find_blockers(session, steps[: changed.start])
    barred = {*changed, *(index for places in step_blockers.values() for index in places)}
    counts = count_unfit(session, plan, first, barred)
    not_undone = count_not_undone(session, plan, first, barred)
    blockers = list(_refuse_steps(plan, allows_destructive))
    for blocker, places in step_blockers.items():
        numbers = tuple(index + first + 1 for index in places)
        message = f"{_not_possible(numbers)}: {blocker.message}"
        blockers.append(PlanBlocker(BlockerKind.IMPOSSIBLE, message, blocker.hint or "", numbers))
    blockers += refuse_unfit(plan, counts, is_begun=done is not None)
    if done is None and state.unfinished is not None:
        blockers.append(refuse_unfinished(state.unfinished))
    is_recorded = state.ledger_hash == plan.target_hash
    return PlanReport(plan, counts, tuple(blockers), done, is_recorded, not_undone)


def refuse_moved(*, is_saved: bool) -> PlanBlocker:
    """Return that the destination is not as it was when the plan was made; ``is_saved``: by an earlier command."""
    again = "make the plan anew: `schemactl migrate plan REF --to DEST --out FILE`"
    hint = again if is_saved else "somebody else changed it meanwhile: look again"
    return PlanBlocker(BlockerKind.MOVED, "the destination is another than it was when the plan was made", hint)


def refuse_unfinished(run: Run) -> PlanBlocker:
    """Return that another run has to be ended or undone first."""
    hint = "`schemactl migrate rollback` undoes it; `apply` with its schema ends it"
    return PlanBlocker(BlockerKind.UNFINISHED, f"a run to the schema {run.to_hash} stands half done", hint)


def _refuse_steps(plan: MigrationPlan, allows_destructive: bool) -> Iterator[PlanBlocker]:
    if plan.impossible:
        message = f"{_not_possible(plan.impossible)} at this destination"
        yield PlanBlocker(BlockerKind.IMPOSSIBLE, message, "change the schema, or go another way", plan.impossible)
    losing = tuple(number for number, step in enumerate(plan.steps, 1) if step.is_destructive)
    if losing and not allows_destructive:
        message = f"{_listed(losing)} {'loses' if len(losing) == 1 else 'lose'} data"
        yield PlanBlocker(BlockerKind.DESTRUCTIVE, message, "`--allow-destructive` allows it", losing)


def _listed(numbers: tuple[int, ...]) -> str:
    return f"step {numbers[0]}" if len(numbers) == 1 else f"steps {', '.join(map(str, numbers))}"


def _not_possible(numbers: tuple[int, ...]) -> str:
    return f"{_listed(numbers)} {'is' if len(numbers) == 1 else 'are'} not possible"


# --- migrations of a folder ---
#
# What is reviewed in git are the steps. Their statements are those of the destination's own dataset, and the values are
# counted at the destination. A destination that does not have the schema that the migration begins with is refused.


_IN_THE_WAY: Final = TableRemoved | ColumnRemoved | ColumnRetyped | NullabilityChanged | ColumnPropertyChanged
"""Changes by hand that are in a step's way; a table or column more is not."""


def plan_in(migration: Migration, target: MigrationTarget) -> DialectPlan:
    """Return the steps of a migration for a kind of destination, with the risks and undos that they have there."""
    dialect_plan = migration.plans.get(target.kind)
    if dialect_plan is None:
        hint = "a folder of its own for each dialect, or one for several: `plan --dir DIR --dialect duckdb,postgresql`"
        raise InputError(f"`{migration.name}` is for {', '.join(migration.plans)}, not for {target.kind}", hint=hint)
    abilities = target.destination.ABILITIES
    return replace(dialect_plan, steps=tuple(planned_as(planned, abilities) for planned in dialect_plan.steps))


def unbound_plan(migration: Migration, target: MigrationTarget, plan_place: Place) -> MigrationPlan:
    """Return a migration as it is in the folder, for a destination that it cannot be bound to yet."""
    plan = plan_in(migration, target)
    unbound = MigrationPlan(plan_place, migration.schema, (), "", plan.steps, plan.notes, migration.mark)
    return with_own(unbound, plan.own)


def find_start_blocker(state: DestinationState, migration: Migration) -> PlanBlocker | None:
    """Return why a destination is not where a migration begins; None if it is."""
    if state.ledger_hash != migration.base:
        has = f"the schema {state.ledger_hash}" if state.ledger_hash else "no schema"
        expected = f"the schema {migration.base}" if migration.base else "no schema"
        return _refuse(migration, f"it begins with {expected}, and the ledger names {has}")
    if state.ledger_schema is None:
        return None
    touched = {planned.step.table_name for planned in plan_in(migration, state.target).steps}
    if names := ", ".join(
        f"`{name}`" for table, name in differing_places(state, state.ledger_schema) if table in touched
    ):
        return _refuse(migration, f"its steps are about tables that were changed by hand: {names}")
    return None


def differing_places(state: DestinationState, schema: Schema) -> list[tuple[str, str]]:
    """Return the tables and columns that are not there as a schema has them, each behind the name of its table."""
    drift = (place_of(change) for change in find_drift(state, schema).changes if isinstance(change, _IN_THE_WAY))
    return sorted({(change_place[0] or "", ".".join(name for name in change_place if name)) for change_place in drift})


def _refuse(migration: Migration, message: str) -> PlanBlocker:
    hint = "`schemactl migrate status --dir DIR` shows where the destination stands, `status` what was changed by hand"
    return PlanBlocker(BlockerKind.ELSEWHERE, f"`{migration.name}` does not fit the destination: {message}", hint)


def bind(state: DestinationState, migration: Migration) -> MigrationPlan | PlanBlocker:
    """Return the plan of a migration for a destination, or why it cannot run there."""
    if state.unfinished is None and (blocker := find_start_blocker(state, migration)):
        return blocker
    schema, dialect_plan = migration.target, plan_in(migration, state.target)
    proposal = propose(state, schema, PlanOptions())
    tables = proposal.catalogue.tables
    bare = tuple(
        replace(planned, statements=(), undo_statements=(), done_with=None)
        for planned in dialect_plan.steps
        # Another schema of the dataset may have brought dlt's own tables.
        if not (
            isinstance(planned.step, CreateTable)
            and is_bookkeeping(planned.step.table.name)
            and planned.step.table.name in state.catalogue.schema.tables
        )
    )
    try:
        check_reached(tables, [planned.step for planned in bare], schema, state.target.destination)
        proposal = replace(proposal, steps=bare, notes=dialect_plan.notes)
        plan = render_plan(state, schema, proposal, partial(own_of_steps, dialect_plan))
    except StepDoesNotFit as error:
        return _refuse(migration, f"its steps do not fit the tables: {error.message}")
    return replace(plan, migration=migration.mark)


def own_of_steps(dialect_plan: DialectPlan, steps: Sequence[Step]) -> tuple[OwnSql, ...]:
    """Return the own SQL of a migration with the numbers that its steps have at a destination.

    Raises:
        StepDoesNotFit: a step that own SQL is for is none of them.
    """
    numbers: dict[int, int] = {}
    for number, planned in enumerate(dialect_plan.steps, 1):
        if len(numbers) < len(steps) and planned.step == steps[len(numbers)]:
            numbers[number] = len(numbers) + 1
    own_scripts = [own_sql for own_sql in dialect_plan.own if not own_sql.is_empty]
    if missing := [own_sql.file for own_sql in own_scripts if own_sql.number not in numbers]:
        raise StepDoesNotFit(f"there is no step for `{missing[0]}`")
    return tuple(replace(own_sql, number=numbers[own_sql.number]) for own_sql in own_scripts)


def check_own(plan: MigrationPlan, migration: Migration | None, target: MigrationTarget) -> None:
    """Refuse a plan of the ledger whose own SQL is not that of its migration: who writes there would run it."""
    if migration is None:
        if plan.own:
            name = plan.migration.name if plan.migration is not None else "a run"
            hint = "`apply --dir DIR` goes on with it, `rollback --dir DIR` undoes it"
            message = f"`{name}` has SQL of its own, which runs from its folder only: `{plan.own[0].file}`"
            raise InputError(message, hint=hint)
        return
    folder_sql: tuple[OwnSql, ...] | None = None
    with suppress(StepDoesNotFit):
        folder_sql = own_of_steps(plan_in(migration, target), [planned.step for planned in plan.steps])
    if folder_sql != plan.own:
        message = f"the ledger has other SQL of `{migration.name}`'s own than the folder"
        raise InputError(message, hint="take its files from git as they were; see who has written into the ledger")


# --- from a state to a schema ---


def plan_to_schema(
    state: DestinationState, schema: Schema, options: PlanOptions, allows_destructive: bool
) -> MigrationPlan:
    """Return the plan from a state to a schema; unless losses are allowed, steps that lose data are left out."""
    target = state.target
    if options.is_online and not target.destination.ABILITIES.is_online:
        raise InputError(f"`{target.kind}` has no steps that others write through", hint="leave out `--online`")
    options = replace(options, keeps_removed=not allows_destructive, removed_before=earlier_names(state))
    return render_plan(state, schema, propose(state, schema, options))


def propose(state: DestinationState, schema: Schema, options: PlanOptions) -> Proposal:
    """Return the steps from a destination's state to a schema."""
    fold = state.target.destination.NAMES.fold
    required_columns = {
        fold(name): {fold(column.name) for column in typed_columns(table) if not column.nullable}
        for name, table in schema.tables.items()
    }
    # Rows are counted in tables that may get a required column, and in those that are dropped.
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
    """Return the plan of a proposal: with statements and notes for the destination, rewrites, and own SQL of its steps.

    Raises:
        StepDoesNotFit: the steps do not fit the tables, or own SQL does not fit the steps.
    """
    steps = [planned.step for planned in proposal.steps]
    proposal = replace(proposal, notes=(*proposal.notes, *_side_effects(state.session, steps)))
    plan = make_plan(proposal, state.catalogue.schema, schema, state.place, state.target.renderer(state.session))
    if find_own is not None:
        plan = with_own(plan, find_own(steps))
    return state.target.decide_rewrites(state.session, plan, proposal.catalogue.tables)


def _side_effects(session: MigrationSession, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the staging tables of dlt that go with the steps, and what stays with columns whose names others take."""
    for name in session.outdated_copies(steps):
        message = "has a copy in dlt's staging dataset, which is dropped: the next load makes it again"
        yield Note(NoteKind.WAITS, name, None, message)
    renames = {(step.table, step.after) for step in steps if isinstance(step, RenameColumn)}
    for step, traced_step in zip(steps, in_first_names(steps), strict=True):
        if not isinstance(step, RenameColumn) or not isinstance(traced_step, RenameColumn):
            continue
        is_followed = kept_origin(step.after) is not None and (step.table, step.before) in renames
        if is_followed and (dependents := session.left_behind(traced_step.table, traced_step.before)):
            message = f"becomes `{step.after}`, and with that stays what hangs on it: {', '.join(dependents)}"
            hint = f"make it anew for the column that is `{step.before}` afterwards"
            yield Note(NoteKind.STAYS, step.table, step.before, message, hint)
