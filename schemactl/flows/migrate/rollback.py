"""``schemactl migrate rollback``: undoes runs of the ledger, newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError, backquoted
from schemactl.flows.migrate.apply import Agree, OpenProgress
from schemactl.flows.migrate.bound_migrations import check_own
from schemactl.flows.migrate.counting import counted, find_blockers
from schemactl.flows.migrate.migration_folder import sound_folder
from schemactl.flows.migrate.runner import LockRetry, Runner
from schemactl.flows.migrate.state import DestinationState, find_goal_schema, find_name, read_state
from schemactl.flows.migrate.stored_plans import derived_plan, done_numbers, plan_of
from schemactl.flows.migrate.undo_run import UndoRun, find_cuts, with_batches, with_rewrites_back
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.custom_sql import When
from schemactl.migration.effects import place_before, traced, traced_table
from schemactl.migration.migration_files import Migration
from schemactl.migration.migration_plan import MigrationPlan, render_step
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
    UnfoldVariant,
)
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import no_progress
from schemactl.schema.changes import ABSENT
from schemactl.schema.types import Schema, Table
from schemactl.schema.wording import counted as count_of
from schemactl.store.folder import SchemasPlace


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """A call of ``schemactl migrate rollback``.

    Attributes:
        name: the name of the schema; None if the ledger has only one.
        steps: how many steps to undo; None for whole runs.
        to_hash: the beginning of the hash of the schema to go back to; None for the last run.
        allows_destructive: whether rows loaded since may be lost.
        folder: the folder of the applied migrations, with the undo of their custom SQL; None if it was not named.
        schemas: the schema files to compare with the ledger after the run.
    """

    name: str | None
    to: str | None
    steps: int | None = None
    to_hash: str | None = None
    allows_destructive: bool = False
    patience: Patience = field(default_factory=Patience)
    folder: Path | None = None
    schemas: SchemasPlace | None = None


def rollback(request: RollbackRequest, agree: Agree[RollbackReport], open_progress: OpenProgress) -> RollbackReport:
    """Undo runs of the ledger, or report why not."""
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
        undone = retry.run(lambda: _undo(session, target, request, report, retry))
    if request.schemas is not None:
        # The run is undone already: missing or unreadable files must not make it a failure.
        with suppress(InputError):
            undone = replace(undone, files_hash=find_goal_schema(name, request.schemas).version_hash)
    return undone


def _undo(
    session: MigrationSession,
    target: MigrationTarget,
    request: RollbackRequest,
    report: RollbackReport,
    retry: LockRetry,
) -> RollbackReport:
    """Undo the agreed steps if the destination has not changed since they were shown."""
    is_transactional = target.destination.ABILITIES.transactional_ddl
    # Read within the undoing transaction, so that values counted here need no guards in conversions.
    with session.transaction() if is_transactional else nullcontext():
        undoing = _plan_undo(session, target, report.name, request)
        if undoing.report.steps != report.steps:
            hint = "run `schemactl migrate rollback` again"
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
    state = read_state(session, target, name)
    runs = tuple(_choose(state, request))
    schema = runs[0].plan.target
    tables = state.tables_for(schema)
    undone = tuple(_undone(state, runs, dict(tables)))
    changed_from, cuts = find_cuts(undone)
    undone = with_rewrites_back(state, runs, undone, tables, cuts)
    steps = [step for undone_step in undone for step in undone_step.planned.undo.steps]
    # Values that custom SQL changes before an undo are counted when its turn comes.
    step_blockers = find_blockers(session, steps[:changed_from])
    barred = {index for places in step_blockers.values() for index in places}
    is_possible = all(undone_step.planned.undo.is_possible for undone_step in undone)
    written = tuple(_written(runs, undone))
    counts = tuple(_count(session, steps, written, schema, barred, changed_from)) if is_possible else ()
    blockers = (
        *_refuse(undone, steps, counts, request.allows_destructive),
        *(
            PlanBlocker(BlockerKind.IMPOSSIBLE, f"it cannot be undone: {blocker.message}", blocker.hint or "")
            for blocker in step_blockers
        ),
    )
    report = RollbackReport(
        place=state.place,
        name=name,
        before=state.ledger_hash,
        after=runs[-1].run.from_hash,
        steps=undone,
        outcome=Outcome.REFUSED if blockers else Outcome.DONE,
        counted=counts,
        blockers=blockers,
    )
    return _UndoPlan(report, with_batches(runs, undone, changed_from), tables)


def _choose(state: DestinationState, request: RollbackRequest) -> Iterator[UndoRun]:
    """Yield the runs to undo, newest first."""
    standing = [run for run in reversed(state.runs) if run.state is not RunState.UNDONE]
    if not standing or not standing[0].plan:
        raise InputError("the ledger has no run to undo", hint="`schemactl migrate status` lists the runs")
    remaining_count = request.steps
    for run in _until(standing, request):
        if not run.plan:
            raise InputError("the state before the baseline is unknown", hint="undo fewer steps")
        plan = derived_plan(plan_of(run), state.target.destination.ABILITIES)
        records = state.session.steps(run.run_id)
        check_own(plan, _migration_of(plan, request.folder), state.target)
        done = done_numbers(state, plan, records, is_undoing=True)
        numbers = tuple(sorted(done, reverse=True)[:remaining_count])
        begun = [record.number for record in records if record.state is StepState.RUNNING]
        broken_off = tuple(number for number in begun if number not in done)
        unrecorded = tuple(number for number in begun if number in done)
        yield UndoRun(state.session, run, plan, numbers, broken_off, unrecorded, len(numbers) == len(done))
        if remaining_count is not None:
            remaining_count -= len(numbers)
            if remaining_count <= 0:
                return
    if remaining_count:
        raise InputError(
            f"too many steps: the ledger has {remaining_count} fewer", hint="`schemactl migrate status` lists the runs"
        )


def _migration_of(plan: MigrationPlan, folder: Path | None) -> Migration | None:
    """Return the migration of a folder that the plan of a run was; None if it was none, or no folder is named."""
    if folder is None or plan.migration is None:
        return None
    applied = next(
        (migration for migration in sound_folder(folder).migrations if migration.mark == plan.migration), None
    )
    if applied is None:
        message = f"`{folder}` does not have `{plan.migration.name}` as it was applied"
        raise InputError(message, hint="restore its files from git")
    return applied


def _until(standing: Sequence[Run], request: RollbackRequest) -> Sequence[Run]:
    if request.steps is not None:
        return standing
    if request.to_hash is None:
        return standing[:1]
    for index, run in enumerate(standing):
        if run.from_hash is not None and run.from_hash.startswith(request.to_hash):
            return standing[: index + 1]
    hashes = backquoted(run.from_hash for run in standing if run.from_hash)
    hint = f"known: {hashes}" if hashes else "no run started from a schema"
    raise InputError(f"the ledger has no run that started from the schema `{request.to_hash}`", hint=hint)


def _undone(state: DestinationState, runs: Sequence[UndoRun], tables: dict[str, Table]) -> Iterator[UndoneStep]:
    """Yield the steps with the statements that undo them in the current tables, which may have new columns."""
    render = state.target.renderer(state.session)
    for run in runs:
        for number in run.numbers:
            planned = run.plan.steps[number - 1]
            if isinstance(planned.step, CreateTable) and is_bookkeeping(planned.step.table.name):
                continue  # the ledger stays
            try:
                rendered = [render_step(step, tables, render) for step in planned.undo.steps]
            except StepDoesNotFit as error:
                hint = "the tables have changed since: undo these changes first"
                raise InputError(f"step {number} cannot be undone: {error.message}", hint=hint) from error
            own_scripts = run.plan.own_of(number)
            is_replaced = any(own_sql.when is When.INSTEAD for own_sql in own_scripts)
            statements = () if is_replaced else tuple(chain.from_iterable(rendered))
            planned = replace(planned, undo_statements=statements)
            yield UndoneStep(run.run.run_id, number, planned, own=own_scripts)


def _written(runs: Sequence[UndoRun], undone: Sequence[UndoneStep]) -> Iterator[tuple[Step, ...]]:
    """Yield for each undo step the values that its run wrote into the column that it drops: they can be rewritten."""
    steps = {run.run.run_id: run.plan.steps for run in runs}
    for undone_step in undone:
        added = undone_step.planned.step
        later = [planned.step for planned in steps[undone_step.run_id][undone_step.number :]]
        written: tuple[Step, ...] = ()
        if isinstance(added, AddColumn):
            name = added.column.name
            filled = (FillColumn(added.table, added.column, added.value),) if added.value is not ABSENT else ()
            of_table = [step for step in later if step.table_name == added.table]
            fills = [step for step in of_table if isinstance(step, Backfill | FillColumn) and step.column_name == name]
            swaps = [step for step in of_table if isinstance(step, SwapColumns) and step.backfill.target.name == name]
            written = (*swaps, *filled, *fills)
        yield from (written for _ in undone_step.planned.undo.steps)


def _dropped(session: MigrationSession, steps: Sequence[Step], index: int, written: Sequence[Step]) -> int:
    """Return how many values a ``DropColumn`` would lose that its run has not written itself."""
    step, looked_at = steps[index], traced(steps, index)
    assert isinstance(step, DropColumn)
    assert isinstance(looked_at, DropColumn)
    before = steps[:index]
    for written_step in written:
        match written_step:
            case SwapColumns() if RestoreColumn(written_step) in before:
                return 0  # the restored column gets the values written since
            case FillColumn():
                now: Backfill | FillColumn = replace(written_step, table=looked_at.table, column=looked_at.column)
            case Backfill():
                source = traced((*before, DropColumn(step.table, written_step.source)), index)
                if not isinstance(source, DropColumn):
                    continue
                now = replace(written_step, table=looked_at.table, source=source.column, target=looked_at.column)
            case _:
                continue
        count = session.written_otherwise(now)
        if count is not None:
            return count
    nulls = session.unfit(SetNotNull(looked_at.table, looked_at.column))
    # Count null values and rows at once if possible: other sessions may write meanwhile.
    return (nulls.rows or session.row_count(looked_at.table)) - nulls.count


def _count(
    session: MigrationSession,
    steps: Sequence[Step],
    written: Sequence[Sequence[Step]],
    schema: Schema,
    barred: Collection[int],
    changed_from: int,
) -> Iterator[Counted]:
    """Yield the values that block undo steps: values that would not survive, or that would be dropped.

    Steps that their tables do not take are ``barred``: the rows may not be readable, either. From ``changed_from`` on
    custom SQL may have changed which values survive.
    """
    for index, step in enumerate(steps):
        if index in barred:
            continue
        table, looked_at = traced_table(steps, index), traced(steps, index)
        if table is not None:
            if rows := session.row_count(table):
                yield Counted(index + 1, rows)
        elif isinstance(looked_at, DropColumn):
            if values := _dropped(session, steps, index, written[index]):
                yield Counted(index + 1, values)
        elif (
            index < changed_from
            and looked_at is not None
            and step.needs_count
            and (unfit := session.unfit(looked_at, unless_filled=_unfolded(steps, index))).count
        ):
            yield counted(index + 1, unfit, schema, step)


def _unfolded(steps: Sequence[Step], index: int) -> tuple[str, ...]:
    """Return the variants, by their names before the first step, whose values are gone from the column of a step."""
    step = steps[index]
    return tuple(
        source_place[1]
        for step_index, earlier in enumerate(steps[:index])
        if isinstance(earlier, UnfoldVariant)
        and (earlier.table, earlier.target.name) == (step.table_name, step.column_name)
        for source_place in (place_before((earlier.table, earlier.source.name), steps[:step_index]),)
        if source_place is not None
    )


def _refuse(
    undone: Sequence[UndoneStep], steps: Sequence[Step], counts: Sequence[Counted], allows_destructive: bool
) -> Iterator[PlanBlocker]:
    for undone_step in undone:
        if not undone_step.planned.undo.is_possible:
            hint = "run `apply` with the older schema instead: it recreates dropped objects, empty"
            message = f"step {undone_step.number} cannot be undone: {undone_step.planned.undo.note}"
            yield PlanBlocker(BlockerKind.IMPOSSIBLE, message, hint, (undone_step.number,))
    for each_count in counts:
        index = each_count.number - 1
        step = steps[index]
        # By the current names, because undo steps may rename.
        now = traced(steps, index) or step
        table = traced_table(steps, index) or now.table_name
        column = now.swap.backfill.source.name if isinstance(now, RestoreColumn) else now.column_name
        name = ".".join(name for name in (table, column) if name)
        if isinstance(step, DropTable | DropColumn):
            if not allows_destructive:
                lost = count_of(each_count.count, "row" if isinstance(step, DropTable) else "value")
                message = f"{lost} of `{name}` would be dropped"
                yield PlanBlocker(BlockerKind.DESTRUCTIVE, message, "`--allow-destructive` allows it")
        else:
            message = f"{count_of(each_count.count, 'value')} of `{name}` would not survive"
            yield PlanBlocker(
                BlockerKind.UNFIT,
                message,
                "it was loaded since: fix it first"
                if each_count.count == 1
                else "they were loaded since: fix them first",
            )
