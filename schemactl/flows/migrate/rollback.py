"""``schemactl migrate rollback``: runs of the ledger are undone, the last one first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.flows.migrate.apply import Agree, OpenProgress
from schemactl.flows.migrate.counting import counted, find_blockers
from schemactl.flows.migrate.directory import sound_folder
from schemactl.flows.migrate.plan import check_own
from schemactl.flows.migrate.runner import LockRetry, Runner
from schemactl.flows.migrate.saved_plans import derived_plan, done_numbers, plan_of
from schemactl.flows.migrate.state import DestinationState, find_name, read_state
from schemactl.flows.migrate.undo_run import UndoRun, find_cuts, with_batches, with_rewrites_back
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.directory import Migration
from schemactl.migration.effects import traced, traced_table
from schemactl.migration.own import When
from schemactl.migration.plan import MigrationPlan, render_step
from schemactl.migration.records import Patience, Run, RunState, StepState
from schemactl.migration.reports import BlockerKind, Counted, Outcome, PlanBlocker, RollbackReport, UndoneStep
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    CreateTable,
    DropColumn,
    DropTable,
    FillColumn,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
)
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import no_progress
from schemactl.schema.changes import ABSENT
from schemactl.schema.types import Schema, Table
from schemactl.schema.wording import counted as count_of


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """A call of ``schemactl migrate rollback``.

    Attributes:
        name: of the schema; None where the ledger has one.
        steps: how many steps are undone; None for runs as a whole.
        to_hash: the beginning of the hash of the schema to go back to; None for the last run.
        allows_destructive: whether what was loaded since may be lost.
        folder: of the migrations that were applied: what undoes their own SQL stands there; None where none was named.
    """

    name: str | None
    to: str | None
    steps: int | None = None
    to_hash: str | None = None
    allows_destructive: bool = False
    patience: Patience = field(default_factory=Patience)
    folder: Path | None = None


def rollback(request: RollbackRequest, agree: Agree[RollbackReport], open_progress: OpenProgress) -> RollbackReport:
    """Undo what the ledger says was done, or say what speaks against it.

    Raises:
        InputError: the call is wrong, there is nothing to undo, or there is nobody to ask.
        DestinationError: the destination failed, or is not as it should be afterwards; it is as it was, or, where it
            has no transactions, part of the way is undone, and the ledger says which.
    """
    target = migratable(request.to)
    name = request.name or find_name(target)
    with target.open_for_reading(name) as session:
        report = _plan_undo(session, target, name, request).report
    if report.outcome is not Outcome.DONE:
        return report
    if not agree(report):
        return replace(report, outcome=Outcome.DECLINED)
    with target.open_for_writing(name, request.patience) as session, open_progress() as progress:
        retry = LockRetry(request.patience.lock_retries, progress or no_progress)
        return retry.run(lambda: _undo(session, target, request, report, retry))


def _undo(
    session: MigrationSession,
    target: MigrationTarget,
    request: RollbackRequest,
    report: RollbackReport,
    retry: LockRetry,
) -> RollbackReport:
    """Undo what was agreed on, if the destination is still as it was shown."""
    is_transactional = target.destination.ABILITIES.transactional_ddl
    # Read within the transaction that undoes: what is found out about values saves their conversions a guard.
    with session.transaction() if is_transactional else nullcontext():
        undoing = _plan_undo(session, target, report.name, request)
        if undoing.report.steps != report.steps:
            hint = "look again: `schemactl migrate rollback`"
            moved = PlanBlocker(BlockerKind.MOVED, "the destination is another than it was when this was shown", hint)
            return replace(report, outcome=Outcome.REFUSED, blockers=(moved,))
        if undoing.report.outcome is Outcome.DONE:
            schema = undoing.runs[0].plan.target
            runner = Runner(session, target.destination, undoing.runs, schema, undoing.tables, retry)
            if is_transactional:
                runner.run_at_once()
            else:
                runner.run_one_by_one()
        return undoing.report


@dataclass(frozen=True, slots=True)
class _UndoPlan:
    """The runs to undo with their batches, and the tables before the first batch."""

    report: RollbackReport
    runs: tuple[UndoRun, ...]
    tables: Mapping[str, Table]


def _plan_undo(session: MigrationSession, target: MigrationTarget, name: str, request: RollbackRequest) -> _UndoPlan:
    """Return the plan that undoes runs, as the tables are now."""
    found = read_state(session, target, name)
    runs = tuple(_choose(found, request))
    schema = runs[0].plan.target
    tables = found.tables_for(schema)
    undone = tuple(_undone(found, runs, dict(tables)))
    changed_from, cuts = find_cuts(undone)
    undone = with_rewrites_back(found, runs, undone, tables, cuts)
    steps = [step for each in undone for step in each.planned.undo.steps]
    # What own SQL will have changed by then is looked at when its turn comes.
    step_blockers = find_blockers(session, steps[:changed_from])
    barred = {place for places in step_blockers.values() for place in places}
    is_possible = all(each.planned.undo.is_possible for each in undone)
    written = tuple(_written(runs, undone))
    counts = tuple(_count(session, steps, written, schema, barred, changed_from)) if is_possible else ()
    blockers = (
        *_refuse(undone, steps, counts, request.allows_destructive),
        *(
            PlanBlocker(BlockerKind.IMPOSSIBLE, f"it cannot be undone: {each.message}", each.hint or "")
            for each in step_blockers
        ),
    )
    report = RollbackReport(
        place=found.place,
        name=name,
        before=found.known_hash,
        after=runs[-1].run.from_hash,
        steps=undone,
        outcome=Outcome.REFUSED if blockers else Outcome.DONE,
        counted=counts,
        blockers=blockers,
    )
    return _UndoPlan(report, with_batches(runs, undone, changed_from), tables)


def _choose(found: DestinationState, request: RollbackRequest) -> Iterator[UndoRun]:
    """Yield the runs to undo, the last one first.

    Raises:
        InputError: there is nothing to undo, or the ledger knows no such schema.
    """
    standing = [run for run in reversed(found.runs) if run.state is not RunState.UNDONE]
    if not standing or not standing[0].plan:
        raise InputError("the ledger has no run that could be undone", hint="`schemactl migrate status` lists them")
    left = request.steps
    for run in _until(standing, request):
        if not run.plan:
            raise InputError("what was there before the baseline is not known", hint="undo fewer steps")
        plan = derived_plan(plan_of(run), found.target.destination.ABILITIES)
        records = found.session.steps(run.run_id)
        check_own(plan, _migration_of(plan, request.folder), found.target)
        done = done_numbers(found, plan, records, is_undoing=True)
        numbers = tuple(sorted(done, reverse=True)[:left])
        begun = [record.number for record in records if record.state is StepState.RUNNING]
        broken_off = tuple(number for number in begun if number not in done)
        unrecorded = tuple(number for number in begun if number in done)
        yield UndoRun(found.session, run, plan, numbers, broken_off, unrecorded, len(numbers) == len(done))
        if left is not None:
            left -= len(numbers)
            if left <= 0:
                return
    if left:
        raise InputError(f"the ledger has {left} steps fewer to undo", hint="`schemactl migrate status` lists the runs")


def _migration_of(plan: MigrationPlan, folder: Path | None) -> Migration | None:
    """Return the migration of a folder that the plan of a run was; None where it was none, or no folder is named.

    Raises:
        InputError: the folder does not have it, or has another one of its name.
    """
    if folder is None or plan.migration is None:
        return None
    found = next((each for each in sound_folder(folder).migrations if each.mark == plan.migration), None)
    if found is None:
        message = f"`{folder}` does not have `{plan.migration.name}` as it was applied"
        raise InputError(message, hint="take its files from git as they were")
    return found


def _until(standing: Sequence[Run], request: RollbackRequest) -> Sequence[Run]:
    if request.steps is not None:
        return standing
    if request.to_hash is None:
        return standing[:1]
    for place, run in enumerate(standing):
        if run.from_hash is not None and run.from_hash.startswith(request.to_hash):
            return standing[: place + 1]
    known = ", ".join(f"`{run.from_hash}`" for run in standing if run.from_hash)
    hint = f"known: {known}" if known else "no run began at a schema"
    raise InputError(f"the ledger has no run that began at the schema `{request.to_hash}`", hint=hint)


def _undone(found: DestinationState, runs: Sequence[UndoRun], tables: dict[str, Table]) -> Iterator[UndoneStep]:
    """Yield the steps with the statements that undo each as the tables are now: others may have added columns."""
    render = found.target.renderer(found.session)
    for each_run in runs:
        for number in each_run.numbers:
            planned = each_run.plan.steps[number - 1]
            if isinstance(planned.step, CreateTable) and is_bookkeeping(planned.step.table.name):
                continue  # the ledger stays
            try:
                made = [render_step(step, tables, render) for step in planned.undo.steps]
            except StepDoesNotFit as error:
                hint = "the tables were changed since, by hand or by others: undo that first"
                raise InputError(f"step {number} cannot be undone: {error.message}", hint=hint) from error
            own = each_run.plan.own_of(number)
            is_own = any(each.when is When.INSTEAD for each in own)
            statements = () if is_own else tuple(each for texts in made for each in texts)
            yield UndoneStep(each_run.run.run_id, number, replace(planned, undo_statements=statements), own=own)


def _written(runs: Sequence[UndoRun], undone: Sequence[UndoneStep]) -> Iterator[tuple[Step, ...]]:
    """Yield for each undo step what its run wrote into the column that it drops: that can be written anew."""
    steps = {each.run.run_id: each.plan.steps for each in runs}
    for each in undone:
        added = each.planned.step
        later = [planned.step for planned in steps[each.run_id][each.number :]]
        found: tuple[Step, ...] = ()
        if isinstance(added, AddColumn):
            name = added.column.name
            filled = (FillColumn(added.table, added.column, added.value),) if added.value is not ABSENT else ()
            of_table = [step for step in later if step.table_name == added.table]
            fills = [step for step in of_table if isinstance(step, Backfill | FillColumn) and step.column_name == name]
            swaps = [step for step in of_table if isinstance(step, SwapColumns) and step.backfill.target.name == name]
            found = (*swaps, *filled, *fills)
        yield from (found for _ in each.planned.undo.steps)


def _dropped(session: MigrationSession, steps: Sequence[Step], place: int, written: Sequence[Step]) -> int:
    """Return how many values a ``DropColumn`` would lose that its run has not written itself."""
    step, looked_at = steps[place], traced(steps, place)
    assert isinstance(step, DropColumn)
    assert isinstance(looked_at, DropColumn)
    before = steps[:place]
    for each in written:
        match each:
            case SwapColumns() if RestoreColumn(each) in before:
                return 0  # that takes over what was written since
            case FillColumn():
                now: Backfill | FillColumn = replace(each, table=looked_at.table, column=looked_at.column)
            case Backfill():
                source = traced((*before, DropColumn(step.table, each.source)), place)
                if not isinstance(source, DropColumn):
                    continue
                now = replace(each, table=looked_at.table, source=source.column, target=looked_at.column)
            case _:
                continue
        found = session.written_otherwise(now)
        if found is not None:
            return found
    nulls = session.unfit(SetNotNull(looked_at.table, looked_at.column))
    # Counted at once where that can be: others may write meanwhile.
    return (nulls.rows or session.row_count(looked_at.table)) - nulls.count


def _count(
    session: MigrationSession,
    steps: Sequence[Step],
    written: Sequence[Sequence[Step]],
    schema: Schema,
    barred: Collection[int],
    changed_from: int,
) -> Iterator[Counted]:
    """Yield what stands against undo steps: values that would not survive, or that would be dropped.

    Steps that their tables do not take are ``barred``: the rows may not be readable, either. From ``changed_from`` on
    own SQL may have changed which values survive.
    """
    for place, step in enumerate(steps):
        if place in barred:
            continue
        table, looked_at = traced_table(steps, place), traced(steps, place)
        if table is not None:
            if rows := session.row_count(table):
                yield Counted(place + 1, rows)
        elif isinstance(looked_at, DropColumn):
            if values := _dropped(session, steps, place, written[place]):
                yield Counted(place + 1, values)
        elif (
            place < changed_from
            and looked_at is not None
            and step.needs_count
            and (unfit := session.unfit(looked_at)).count
        ):
            yield counted(place + 1, unfit, schema, step)


def _refuse(
    undone: Sequence[UndoneStep], steps: Sequence[Step], counts: Sequence[Counted], allows_destructive: bool
) -> Iterator[PlanBlocker]:
    for each in undone:
        if not each.planned.undo.is_possible:
            hint = "go forward instead: `apply` with the older schema makes again what is gone, without its data"
            message = f"step {each.number} cannot be undone: {each.planned.undo.note}"
            yield PlanBlocker(BlockerKind.IMPOSSIBLE, message, hint, (each.number,))
    for each_count in counts:
        place = each_count.number - 1
        step = steps[place]
        # By the names that are there now: undo steps may give others.
        now = traced(steps, place) or step
        table = traced_table(steps, place) or now.table_name
        column = now.swap.backfill.source.name if isinstance(now, RestoreColumn) else now.column_name
        name = ".".join(part for part in (table, column) if part)
        if isinstance(step, DropTable | DropColumn):
            if not allows_destructive:
                what = count_of(each_count.count, "row" if isinstance(step, DropTable) else "value")
                message = f"{what} of `{name}` would be dropped"
                yield PlanBlocker(BlockerKind.DESTRUCTIVE, message, "`--allow-destructive` allows it")
        else:
            message = f"{count_of(each_count.count, 'value')} of `{name}` would not survive"
            yield PlanBlocker(BlockerKind.UNFIT, message, "they were loaded since: fix them first")
