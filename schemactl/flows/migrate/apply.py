"""``schemactl migrate apply``: the plan is shown, agreed on, and run alone; afterwards the tables are looked at."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.flows.migrate.forward_run import ForwardRun
from schemactl.flows.migrate.plan import Wanted, check_own, read_report, refuse_moved
from schemactl.flows.migrate.runner import LockRetry, StepBlocked, who
from schemactl.flows.migrate.saved_plans import resume_plan
from schemactl.flows.migrate.state import Found, find_wanted, read_state
from schemactl.flows.target import migratable
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.records import Patience, Run
from schemactl.migration.reports import ApplyReport, Outcome, PlanReport
from schemactl.migration.saved import ENDING, plan_hash, plan_text, read_plan
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import Progress, no_progress
from schemactl.store.folder import SchemasPlace
from schemactl.store.text import read_text

R = TypeVar("R")

Agree = Callable[[R], bool]
"""Shows a report of what is to be done, and returns whether the user agrees."""
OpenProgress = Callable[[], AbstractContextManager[Progress | None]]


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A call of ``schemactl migrate apply``.

    Attributes:
        reference: a REF, or a plan's file.
        options: what the user decides; a plan's file has decided.
        is_step_by_step: whether each step is kept when it is done.
        key: that a plan's file must be signed with; None for any.
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
    """Apply a plan, or say what speaks against it.

    Raises:
        InputError: the call is wrong, the schema or the plan cannot be read, or there is nobody to ask.
        DestinationError: the destination failed, or is not as it should be afterwards.
    """
    return apply_wanted(_read_wanted(request), request, agree, open_progress)


def apply_wanted(
    wanted: Wanted, request: ApplyRequest, agree: Agree[PlanReport], open_progress: OpenProgress
) -> ApplyReport:
    """Apply what was found for a request; see ``apply_migration``."""
    report = report_to_apply(wanted)
    if report.blockers:
        return ApplyReport(report, Outcome.REFUSED)
    if not report.plan.steps and report.is_recorded and wanted.migration is None:
        return ApplyReport(report, Outcome.NOTHING)
    if not agree(report):
        return ApplyReport(report, Outcome.DECLINED)
    name = wanted.schema.name
    with wanted.target.open_for_writing(name, request.patience) as session, open_progress() as progress:
        return _apply(session, wanted, request, report, progress or no_progress)


def report_to_apply(wanted: Wanted) -> PlanReport:
    """Return what is to be done; a run that stands half done must have no SQL but that of its migration.

    Raises:
        InputError: it has other SQL.
    """
    report = read_report(wanted)
    if report.done is not None:
        check_own(report.plan, wanted.migration, wanted.target)
    return report


def _read_wanted(request: ApplyRequest) -> Wanted:
    if not request.reference.endswith(ENDING):
        if request.key is not None:
            raise InputError("a key is for plans that are signed", hint=f"name a plan, `*{ENDING}`, or no key")
        # A file that is no schema is reported first: who takes it for a plan names no destination, as the plan has one.
        schema = find_wanted(request.reference, request.schemas)
        return Wanted(migratable(request.to), schema, request.options, request.allows_destructive)
    plan = read_plan(read_text(Path(request.reference)), request.reference, request.key)
    if plan.own:
        hint = "`schemactl migrate apply --dir DIR` runs it"
        raise InputError("SQL of one's own runs from a folder of migrations, not from a plan", hint=hint)
    if not request.to:
        # Whoever wrote the file would decide which server gets the password of the environment.
        address = f"{plan.place.origin}?dataset={plan.place.dataset}"
        hint = f"`--to {address}`, if that is the one: the address in a plan is for people to read"
        raise InputError(f"the plan is for `{address}`, and no destination is named", hint=hint)
    target = migratable(request.to)
    return Wanted(target, plan.target, request.options, request.allows_destructive, plan)


def _apply(
    session: MigrationSession, wanted: Wanted, request: ApplyRequest, report: PlanReport, progress: Progress
) -> ApplyReport:
    """Run what was agreed on, if the destination is still as it was shown."""
    plan, name = report.plan, wanted.schema.name
    found = read_state(session, wanted.target, name)
    if found.unfinished is not None:
        is_same = (plan, report.done) == resume_plan(found, found.unfinished)
    else:
        is_current = report.done is None and plan.is_current(found.catalogue.schema)
        is_same = is_current and _rewrites_as_shown(found, plan)
    if not is_same:
        return ApplyReport(replace(report, blockers=(refuse_moved(is_saved=wanted.plan is not None),)), Outcome.REFUSED)
    is_recorded = found.unfinished is None and found.known_hash == plan.target_hash
    if not plan.steps and is_recorded and wanted.migration is None:
        # Another command ended between the reading of the ledger and that of the tables.
        return ApplyReport(report, Outcome.NOTHING)
    run = found.unfinished or Run(
        run_id=uuid.uuid4().hex,
        plan_hash=plan_hash(plan),
        schema_name=plan.target.name,
        from_hash=found.known_hash,
        to_hash=plan.target.version_hash,
        who=who(),
        started=datetime.now(UTC),
        plan=plan_text(plan),
    )
    retry, batch_rows = LockRetry(request.patience.lock_retries, progress), request.patience.batch_rows
    forward = ForwardRun(session, wanted.target.destination, plan, run, report.done or 0, retry, batch_rows)
    is_one_by_one = request.is_step_by_step or request.options.is_online or plan.is_online
    is_whole = wanted.target.destination.ABILITIES.transactional_ddl and not is_one_by_one
    left = plan.steps[report.done or 0 :]
    copy = session.back_up(run.run_id[:8]) if any(step.is_destructive for step in left) else None
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


def _rewrites_as_shown(found: Found, plan: MigrationPlan) -> bool:
    """Return whether tables would be rewritten as it was shown; the order of their columns may be another one."""
    if not plan.has_groups:
        return True
    try:
        return plan == found.target.decide_rewrites(found.session, plan, found.tables_for(plan.target))
    except StepDoesNotFit:
        return True  # the run refuses it
