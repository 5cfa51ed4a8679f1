"""``schemactl migrate apply``: the plan is shown, agreed on, and run alone; afterwards the tables are looked at."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import ChangedMeanwhile, InputError
from schemactl.flows.migrate.binding import check_own, report_bound
from schemactl.flows.migrate.ledger import with_lost
from schemactl.flows.migrate.plan import check_plan, plan_for
from schemactl.flows.migrate.running import LockRetry, Runner, UnfitValues, who
from schemactl.flows.migrate.saved_plans import check_file, standing
from schemactl.flows.migrate.tables import tables_now
from schemactl.flows.migrate.target import Target, decide_rewrites, find_target, find_wanted, read_state
from schemactl.migration.directory import Migration
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.records import Patience, Run
from schemactl.migration.reports import ApplyReport, BlockerKind, Outcome, PlanBlocker, PlanReport
from schemactl.migration.saved import ENDING, mark_in, plan_hash, plan_text, read_plan
from schemactl.migration.steps import Step, table_of
from schemactl.progress import Progress
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema
from schemactl.store.text import read_text

_READINGS: Final = 3
"""How often a destination is read that changes meanwhile."""

Agree = Callable[[PlanReport], bool]
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
    schemas: Path
    options: PlanOptions
    allows_destructive: bool = False
    patience: Patience = field(default_factory=Patience)
    is_step_by_step: bool = False
    key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The schema, saved plan or migration of a folder that is to be applied."""

    target: Target
    schema: Schema
    plan: MigrationPlan | None = None
    migration: Migration | None = None


def apply_migration(request: ApplyRequest, agree: Agree, open_progress: OpenProgress) -> ApplyReport:
    """Apply a plan, or say what speaks against it.

    Raises:
        InputError: the call is wrong, the schema or the plan cannot be read, or there is nobody to ask.
        DestinationError: the destination failed, or is not as it should be afterwards.
    """
    return apply_wanted(_find(request), request, agree, open_progress)


def apply_wanted(wanted: Wanted, request: ApplyRequest, agree: Agree, open_progress: OpenProgress) -> ApplyReport:
    """Apply what was found for a request; see ``apply_migration``."""
    target, name = wanted.target, wanted.schema.name
    report = read_report(wanted, request)
    if report.blockers:
        return ApplyReport(report, Outcome.REFUSED)
    if not report.plan.steps and report.is_recorded and wanted.migration is None:
        return ApplyReport(report, Outcome.NOTHING)
    if not agree(report):
        return ApplyReport(report, Outcome.DECLINED)
    with target.open_for_writing(name, request.patience) as session, open_progress() as progress:
        return _apply(session, wanted, request, report, progress or (lambda *_: None))


def _find(request: ApplyRequest) -> Wanted:
    if not request.reference.endswith(ENDING):
        if request.key is not None:
            raise InputError("a key is for plans that are signed", hint=f"name a plan, `*{ENDING}`, or no key")
        # A file that is no schema is reported first: who takes it for a plan names no destination, as the plan has one.
        schema = find_wanted(request.reference, request.schemas)
        target = find_target(request.to)
        return Wanted(target, bump(with_lost(schema, target.url)))
    plan = read_plan(read_text(Path(request.reference)), request.reference, request.key)
    if plan.own:
        hint = "`schemactl migrate apply --dir DIR` runs it"
        raise InputError("SQL of one's own runs from a folder of migrations, not from a plan", hint=hint)
    if not request.to:
        # Whoever wrote the file would decide which server gets the password of the environment.
        address = f"{plan.place.origin}?dataset={plan.place.dataset}"
        hint = f"`--to {address}`, if that is the one: the address in a plan is for people to read"
        raise InputError(f"the plan is for `{address}`, and no destination is named", hint=hint)
    return Wanted(find_target(request.to), plan.target, plan)


def read_report(wanted: Wanted, request: ApplyRequest) -> PlanReport:
    """Return what is to be done; a destination that others migrate meanwhile is read again."""
    for _ in range(_READINGS - 1):
        with suppress(ChangedMeanwhile), wanted.target.open_for_reading(wanted.schema.name, may_be_new=True) as session:
            return _report(session, wanted, request)
    with wanted.target.open_for_reading(wanted.schema.name, may_be_new=True) as session:
        return _report(session, wanted, request)


def _report(session: MigrationSession, wanted: Wanted, request: ApplyRequest) -> PlanReport:
    """Return what is to be done, as the destination is now; a run that stands half done goes on with its own plan."""
    found = read_state(session, wanted.schema.name)
    unfinished = found.unfinished
    allowed = request.allows_destructive
    if unfinished is not None and _is_same(wanted, unfinished):
        plan, done = standing(session, wanted.target.module, unfinished)
        check_own(plan, wanted.migration, wanted.target)
        return check_plan(session, plan, found, allowed, done)
    if wanted.migration is not None:
        return report_bound(session, wanted.target, found, wanted.migration, allowed)
    if wanted.plan is None:
        plan = plan_for(session, wanted.target, found, wanted.schema, request.options, allowed)
        return check_plan(session, plan, found, allowed)
    there = wanted.target.place(session)
    if there != wanted.plan.place:
        meant = f"`{wanted.plan.place.origin}`, dataset `{wanted.plan.place.dataset}`"
        message = f"the plan is for {meant}, not for `{there.origin}`, dataset `{there.dataset}`"
        raise InputError(message, hint="make a plan for each destination")
    if not wanted.plan.is_current(found.catalogue.schema):
        is_last = bool(found.runs) and found.runs[-1].plan_hash == plan_hash(wanted.plan)
        hint = "`schemactl migrate status` shows the state of the destination"
        before = PlanBlocker(BlockerKind.MOVED, "this plan was applied before", hint)
        return PlanReport(wanted.plan, blockers=(before if is_last else _moved(),))
    check_file(session, wanted.target, found, wanted.plan)
    return check_plan(session, wanted.plan, found, allowed)


def _is_same(wanted: Wanted, unfinished: Run) -> bool:
    if wanted.migration is not None:
        return mark_in(unfinished.plan) == wanted.migration.mark
    if wanted.plan is not None:
        return unfinished.plan_hash == plan_hash(wanted.plan)
    return unfinished.to_hash == wanted.schema.version_hash


def _moved() -> PlanBlocker:
    hint = "make the plan anew: `schemactl migrate plan REF --to DEST --out FILE`"
    return PlanBlocker(BlockerKind.MOVED, "the destination is another than it was when the plan was made", hint)


def _apply(
    session: MigrationSession, wanted: Wanted, request: ApplyRequest, report: PlanReport, progress: Progress
) -> ApplyReport:
    """Run what was agreed on, if the destination is still as it was shown."""
    plan, name = report.plan, wanted.schema.name
    found = read_state(session, name)
    if found.unfinished is not None:
        is_same = (plan, report.done) == standing(session, wanted.target.module, found.unfinished)
    else:
        is_current = report.done is None and plan.is_current(found.catalogue.schema)
        is_same = is_current and _rewrites_as_shown(session, wanted.target.module, plan)
    if not is_same:
        return ApplyReport(replace(report, blockers=(_moved(),)), Outcome.REFUSED)
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
    retry = LockRetry(request.patience.lock_retries, progress)

    def notify(number: int, step: Step) -> None:
        message = f"step {number} of {len(plan.steps)}: {type(step).__name__} on {table_of(step)}"
        progress(message, (number - 1) / len(plan.steps))

    batch_rows = request.patience.batch_rows
    runner = Runner(session, wanted.target.module, plan, run, report.done or 0, notify, retry, batch_rows)
    is_one_by_one = request.is_step_by_step or request.options.is_online or plan.is_online
    is_whole = wanted.target.module.ABILITIES.transactional_ddl and not is_one_by_one
    left = plan.steps[report.done or 0 :]
    copy = session.back_up(run.run_id[:8]) if any(step.is_destructive for step in left) else None
    started = time.monotonic()
    try:
        if is_whole:
            runner.run_at_once()
        else:
            runner.run_one_by_one()
    except UnfitValues as stopped:
        refused = replace(report, counted=stopped.counts, blockers=stopped.blockers)
        return ApplyReport(refused, Outcome.REFUSED)
    return ApplyReport(report, Outcome.DONE, time.monotonic() - started, copy)


def _rewrites_as_shown(session: MigrationSession, module: Migrator, plan: MigrationPlan) -> bool:
    """Return whether tables would be rewritten as it was shown; the order of their columns may be another one."""
    if not plan.has_groups:
        return True
    try:
        return plan == decide_rewrites(session, module, plan, tables_now(session, module, plan.target))
    except KeyError:
        return True  # the run refuses it: its steps do not fit the tables
