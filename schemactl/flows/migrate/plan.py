"""``schemactl migrate plan``: what would be done, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.flows.migrate.counting import count_not_undone, count_unfit, refuse_unfit
from schemactl.flows.migrate.ledger import find_wanted_there
from schemactl.flows.migrate.saved_plans import standing
from schemactl.flows.migrate.tables import find_blockers
from schemactl.flows.migrate.target import (
    Found,
    Target,
    decide_rewrites,
    earlier_names,
    find_target,
    propose,
    read_state,
    rendering,
)
from schemactl.memory import paused_collector
from schemactl.migration.moves import kept_origin
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import MigrationPlan, make_plan
from schemactl.migration.planner import Proposal
from schemactl.migration.records import Run
from schemactl.migration.reports import BlockerKind, PlanBlocker, PlanReport
from schemactl.migration.saved import ENDING, write_plan
from schemactl.migration.steps import RenameColumn, Step
from schemactl.migration.tracing import in_first_names
from schemactl.progress import Progress
from schemactl.schema.types import Schema
from schemactl.store.text import replace_file


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A call of ``schemactl migrate plan``.

    Attributes:
        reference: a REF, or a schema itself.
        out: a file that keeps the plan; None for none.
        key: that the file is signed with; None for no signature.
    """

    reference: str | Schema
    to: str | None
    schemas: Path
    options: PlanOptions
    allows_destructive: bool = False
    out: Path | None = None
    key: bytes | None = field(default=None, repr=False)


def plan_migration(request: PlanRequest, progress: Progress | None = None) -> PlanReport:
    """Return what would be done; nothing is written but the plan's file.

    Raises:
        InputError: the call is wrong, or the schema cannot be read.
        DestinationError: the destination cannot be reached or read.
    """
    if request.out is not None and not request.out.name.endswith(ENDING):
        raise InputError(f"`{request.out}` is no name of a plan", hint=f"let it end in `{ENDING}`")
    target = find_target(request.to)
    with paused_collector():  # of 1,000 tables: 0.4 of 2.2 s
        schema = find_wanted_there(request.reference, request.schemas, target)
        with target.open_for_reading(schema.name, may_be_new=True) as session:
            notify = progress or (lambda *_: None)
            report = report_plan(session, target, schema, request.options, request.allows_destructive, notify)
    if request.out is not None:
        replace_file(request.out, write_plan(report.plan, request.key))
    return report


def report_plan(
    session: MigrationSession,
    target: Target,
    schema: Schema,
    options: PlanOptions,
    allows_destructive: bool,
    notify: Progress = lambda *_: None,
) -> PlanReport:
    """Plan the way to a schema, or what is left of a run that was on it; look at the data."""
    notify("reading the catalog", None)
    found = read_state(session, schema.name)
    unfinished = found.unfinished
    if unfinished is not None and unfinished.to_hash == schema.version_hash:
        plan, done = standing(session, target.module, unfinished)
        return check_plan(session, plan, found, allows_destructive, done, notify)
    plan = plan_for(session, target, found, schema, options, allows_destructive)
    return check_plan(session, plan, found, allows_destructive, notify=notify)


def plan_for(
    session: MigrationSession,
    target: Target,
    found: Found,
    schema: Schema,
    options: PlanOptions,
    allows_destructive: bool,
) -> MigrationPlan:
    """Return the plan from what was found to a schema; where nothing may be lost, what loses data is left out."""
    if options.is_online and not target.module.ABILITIES.is_online:
        raise InputError(f"`{target.kind}` has no steps that others write through", hint="leave out `--online`")
    chosen = replace(options, keeps_removed=not allows_destructive, removed_before=earlier_names(session, found))
    proposal = propose(session, target.module, found, schema, chosen)
    plan = plan_there(session, target, found, schema, proposal)
    return decide_rewrites(session, target.module, plan, proposal.catalogue.tables)


def plan_there(
    session: MigrationSession, target: Target, found: Found, schema: Schema, proposal: Proposal
) -> MigrationPlan:
    """Return the plan of a proposal, with its statements and notes for the destination."""
    notes = (*proposal.notes, *_side_effects(session, [planned.step for planned in proposal.steps]))
    render, proposal = rendering(target.module, session.dataset), replace(proposal, notes=notes)
    return make_plan(proposal, found.catalogue.schema, schema, target.place(session), render)


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


def check_plan(
    session: MigrationSession,
    plan: MigrationPlan,
    found: Found,
    allows_destructive: bool,
    done: int | None = None,
    notify: Progress = lambda *_: None,
) -> PlanReport:
    """Count in the data, and return the plan with all that stands against it."""
    notify("looking at the data", None)
    first = done or 0
    steps = [planned.step for planned in plan.steps[first:]]
    # What own SQL will have changed by then is looked at when the step's turn comes.
    changed = range(plan.changed_from(first) - first if plan.is_applicable else 0, len(steps))
    step_blockers = find_blockers(session, steps[: changed.start])
    barred = {*changed, *(place for places in step_blockers.values() for place in places)}
    counts = count_unfit(session, plan, first, barred)
    not_undone = count_not_undone(session, plan, first, barred)
    blockers = list(_refuse_steps(plan, allows_destructive))
    for blocker, places in step_blockers.items():
        numbers = tuple(place + first + 1 for place in places)
        message = f"{_listed(numbers)} not possible: {blocker.message}"
        blockers.append(PlanBlocker(BlockerKind.IMPOSSIBLE, message, blocker.hint or "", numbers))
    blockers += refuse_unfit(plan.steps, counts, is_begun=done is not None)
    if done is None and found.unfinished is not None:
        blockers.append(refuse_unfinished(found.unfinished))
    is_recorded = found.known_hash == plan.target_hash
    return PlanReport(plan, counts, tuple(blockers), done, is_recorded, not_undone)


def refuse_unfinished(run: Run) -> PlanBlocker:
    """Return that another run has to be ended or undone first."""
    hint = "`schemactl migrate rollback` undoes it; `apply` with its schema ends it"
    return PlanBlocker(BlockerKind.UNFINISHED, f"a run to the schema {run.to_hash} stands half done", hint)


def _refuse_steps(plan: MigrationPlan, allows_destructive: bool) -> Iterator[PlanBlocker]:
    impossible = tuple(number for number, step in enumerate(plan.steps, 1) if not step.is_possible)
    if impossible:
        message = f"{_listed(impossible)} not possible at this destination"
        yield PlanBlocker(BlockerKind.IMPOSSIBLE, message, "change the schema, or go another way", impossible)
    losing = tuple(number for number, step in enumerate(plan.steps, 1) if step.is_destructive)
    if losing and not allows_destructive:
        verb = "loses" if len(losing) == 1 else "lose"
        message = f"{_listed(losing, '')} {verb} data"
        yield PlanBlocker(BlockerKind.DESTRUCTIVE, message, "`--allow-destructive` allows it", losing)


def _listed(numbers: tuple[int, ...], verb: str | None = None) -> str:
    one = len(numbers) == 1
    text = f"step {numbers[0]}" if one else f"steps {', '.join(map(str, numbers))}"
    return f"{text} {'is' if one else 'are'}" if verb is None else text
