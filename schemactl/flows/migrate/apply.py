"""``schemactl migrate apply``: shows the plan, asks, runs exactly this plan, and then checks the tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from schemactl.errors import InputError
from schemactl.flows.migrate.bound_migrations import check_own
from schemactl.flows.migrate.forward_run import ForwardRun
from schemactl.flows.migrate.plan import Goal, read_and_plan, refuse_moved
from schemactl.flows.migrate.runner import LockRetry, StepBlocked, new_run
from schemactl.flows.migrate.state import DestinationState, find_goal_schema, read_state
from schemactl.flows.migrate.stored_plans import resume_plan
from schemactl.flows.target import migratable
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import ENDING, read_plan
from schemactl.migration.records import Patience
from schemactl.migration.reports import ApplyReport, Outcome, PlanReport
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import Progress, no_progress
from schemactl.store.folder import SchemasPlace
from schemactl.store.text import read_text

R = TypeVar("R")

Agree = Callable[[R], bool]
"""Shows a report of the planned steps, and returns whether the user agrees."""
OpenProgress = Callable[[], AbstractContextManager[Progress | None]]


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A call of ``schemactl migrate apply``.

    Attributes:
        reference: a REF, or a plan file.
        options: the user's choices for planning; a plan file already contains them.
        is_step_by_step: whether each step is committed when it is done.
        key: the key that must have signed a plan file; None to accept any plan.
    """

    reference: str
    to: str | None
    schemas: SchemasPlace
    options: PlanOptions
    allows_destructive: bool = False
    patience: Patience = field(default_factory=Patience)
    is_step_by_step: bool = False
    key: bytes | None = field(default=None, repr=False)


def apply_migration(request: ApplyRequest, agree: Agree[PlanReport], open_progress: OpenProgress) -> ApplyReport:
    """Apply a plan, or report why not."""
    if not request.reference.endswith(ENDING):
        if request.key is not None:
            raise InputError("a key is for plans that are signed", hint=f"name a plan, `*{ENDING}`, or no key")
        # A file that is not a schema is reported first: a user who means a plan file does not name a destination, which
        # the plan contains.
        schema = find_goal_schema(request.reference, request.schemas)
        goal = Goal(migratable(request.to), schema, request.options, request.allows_destructive)
        return apply_goal(goal, request, agree, open_progress)
    plan = read_plan(read_text(Path(request.reference)), request.reference, request.key)
    if plan.own:
        hint = "`schemactl migrate apply --dir DIR` runs it"
        raise InputError("custom SQL runs from a migrations folder, not from a plan", hint=hint)
    if not request.to:
        # The author of the file would decide which server gets the password of the environment.
        address = f"{plan.place.origin}?dataset={plan.place.dataset}"
        hint = f"add `--to {address}` if that is the destination; `apply` does not connect to an address from a plan"
        raise InputError(f"the plan is for `{address}`, and no destination is named", hint=hint)
    goal = Goal(migratable(request.to), plan.target, request.options, request.allows_destructive, plan)
    return apply_goal(goal, request, agree, open_progress)


def apply_goal(goal: Goal, request: ApplyRequest, agree: Agree[PlanReport], open_progress: OpenProgress) -> ApplyReport:
    """Apply the plan to a goal; see ``apply_migration``."""
    report, state = read_and_plan(goal)
    check_resumed(report, goal)
    if report.blockers:
        return ApplyReport(report, Outcome.REFUSED)
    if not report.plan.steps and report.is_recorded and goal.migration is None:
        return ApplyReport(report, Outcome.NOTHING)
    if not agree(report):
        return ApplyReport(report, Outcome.DECLINED)
    with (
        goal.target.open_for_writing(goal.schema.name, request.patience) as session,
        open_progress() as progress,
    ):
        # A run is resumed by all of its tables.
        tables = None if state.unfinished else report.plan.tables_in(state.catalogue.schema)
        state = read_state(session, goal.target, goal.schema.name, state, tables)
        return _apply(state, goal, request, report, progress or no_progress)


def check_resumed(report: PlanReport, goal: Goal) -> None:
    """Refuse an unfinished run that is resumed with SQL other than that of its migration."""
    if report.done is not None:
        check_own(report.plan, goal.migration, goal.target)


def _apply(
    state: DestinationState, goal: Goal, request: ApplyRequest, report: PlanReport, progress: Progress
) -> ApplyReport:
    """Run the agreed plan, if the destination has not changed since it was shown."""
    plan, session = report.plan, state.session
    if report.done is None:
        is_same = state.unfinished is None and plan.is_current(state.catalogue.schema)
        if is_same and plan.has_groups:
            # The same tables must be rewritten as shown; the order of their columns may differ.
            with suppress(StepDoesNotFit):  # the run refuses such steps
                is_same = plan == state.target.decide_rewrites(session, plan, state.tables_for(plan.target))
    else:
        is_same = state.unfinished is not None and (plan, report.done) == resume_plan(state, state.unfinished)
    if not is_same:
        return ApplyReport(replace(report, blockers=(refuse_moved(is_saved=goal.plan is not None),)), Outcome.REFUSED)
    is_recorded = state.unfinished is None and state.ledger_hash == plan.target_hash
    if not plan.steps and is_recorded and goal.migration is None:
        # Another command ended between the reading of the ledger and that of the tables.
        return ApplyReport(report, Outcome.NOTHING)
    run = state.unfinished or new_run(plan, state.ledger_hash)
    retry, batch_rows = LockRetry(request.patience.lock_retries, progress), request.patience.batch_rows
    forward = ForwardRun(
        session,
        goal.target.destination,
        plan,
        run,
        report.done or 0,
        retry,
        batch_rows,
        tables=state.tables_for(plan.target),
        known_versions=state.versions,
    )
    is_one_by_one = request.is_step_by_step or request.options.is_online or plan.is_online
    is_whole = goal.target.destination.ABILITIES.transactional_ddl and not is_one_by_one
    remaining_steps = plan.steps[report.done or 0 :]
    copy = session.back_up(run.run_id[:8]) if any(step.is_destructive for step in remaining_steps) else None
    started = time.monotonic()
    try:
        if is_whole:
            forward.run_at_once()
        else:
            forward.run_one_by_one()
    except StepBlocked as stopped:
        refused = replace(report, counted=stopped.counts, blockers=stopped.blockers)
        return ApplyReport(refused, Outcome.REFUSED)
    return ApplyReport(report, Outcome.DONE, time.monotonic() - started, copy)
