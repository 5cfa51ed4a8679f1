"""Plans the undo of runs: the steps that undo theirs, in batches that ``runner`` runs, and their ledger lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError
from schemactl.flows.migrate.runner import Batch, RunDirection, halfway, list_steps
from schemactl.flows.migrate.state import DestinationState
from schemactl.migration.custom_sql import When
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.records import Run, RunState, StepRecord, StepState
from schemactl.migration.reports import UndoneStep
from schemactl.migration.rewrites import find_rewrites, find_rewrites_back, rewrite_of, undo_steps
from schemactl.migration.steps import Step
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class UndoRun(RunDirection):
    """A run of the ledger that is undone, or some of its last steps.

    Until all of its steps are undone, the run is unfinished: ``rollback`` goes on with it, or ``apply`` forward again.

    Attributes:
        numbers: the numbers of the steps to undo, last step first.
        broken_off: numbers of steps that were begun, forward or backward, and had no effect.
        unrecorded: numbers of steps that a killed process has done and could not record.
        is_whole: whether no step of the run is left afterwards.
    """

    session: MigrationSession
    run: Run
    plan: MigrationPlan
    numbers: tuple[int, ...]
    broken_off: tuple[int, ...]
    unrecorded: tuple[int, ...]
    is_whole: bool
    batches: tuple[Batch, ...] = ()
    kept_note = "undone steps stay undone"

    @property
    def finished_state(self) -> StepState:
        # `apply` runs the undone steps of an unfinished run again.
        return StepState.UNDONE if self.is_whole else StepState.PENDING

    def begin(self) -> Sequence[StepRecord]:
        self.session.write_run(replace(self.run, state=RunState.RUNNING, finished=None))
        # First: a pipeline that finds its schema's hash creates no columns.
        self.session.forget_version(self.run.to_hash)
        # Steps that ran in one batch may be undone in other batches: then the tables would not show which are done.
        records = self.records(self.broken_off, self.finished_state)
        return [*records, *self.records(self.unrecorded, StepState.DONE)]

    def end(self) -> None:
        base = self.session.schema_of(self.run.from_hash) if self.run.from_hash else None
        if base is not None:
            self.session.write_version(base)
        state = RunState.UNDONE if self.is_whole else RunState.RUNNING
        finished = datetime.now(UTC) if self.is_whole else None
        self.session.write_run(replace(self.run, state=state, finished=finished))

    def record_at_once(self) -> None:
        self.session.write_steps(self.records((*self.numbers, *self.broken_off), self.finished_state))
        self.session.forget_version(self.run.to_hash)
        self.end()

    def check_values(self, batch: Batch) -> None:
        step = batch.steps[0]
        if step.needs_count and (unfit := self.session.unfit(step)).count:
            values = "value" if unfit.count == 1 else "values"
            message = f"{unfit.count:,} {values} of `{step.full_name}` would not survive the undo"
            hint = "custom undo SQL left these values: fix the SQL or the values"
            raise DestinationError(f"{message}; nothing changed", hint=hint)

    def halfway(self, error: DestinationError, batch: Batch) -> DestinationError:
        undone = self.numbers.index(batch.numbers[0])
        earlier = "1 step was" if undone == 1 else f"{undone} steps were"
        failed, before = ("was", "it") if len(batch.numbers) == 1 else ("were", "them")
        steps = list_steps(batch.numbers[0], batch.numbers[-1])
        message = f"{steps} {failed} not undone; {earlier} undone before {before}"
        return halfway(error, message, "resume with `schemactl migrate rollback`, or migrate again with `apply`")

    def instead_failed(self, number: int) -> str:
        return f"custom SQL did not undo step {number}; nothing changed"


def with_batches(runs: Sequence[UndoRun], undone: Sequence[UndoneStep], changed_from: int) -> tuple[UndoRun, ...]:
    """Return the runs with the batches that undo their steps; a batch of several runs belongs to the first run.

    ``runs`` are newest first; ``undone`` includes steps that one rewrite undoes. Custom SQL may have changed the values
    of the undo steps from ``changed_from`` on.
    """
    batches: dict[str, list[Batch]] = {run.run.run_id: [] for run in runs}
    index = step_index = 0
    while index < len(undone):
        end = undone[index].done_with or index + 1
        group = undone[index:end]
        run_id = group[0].run_id
        steps = tuple(step for undone_step in group for step in undone_step.planned.undo.steps)
        numbers = tuple(undone_step.number for undone_step in group if undone_step.run_id == run_id)
        own_scripts = [own_sql for undone_step in group for own_sql in undone_step.own]
        batch = Batch(
            numbers=numbers,
            steps=steps,
            title=f"undoing {list_steps(numbers[0], numbers[-1])}",
            share=index / len(undone),
            statements=group[0].planned.undo_statements if len(group) == 1 else (),
            own=tuple(own_sql.as_undo for own_sql in own_scripts if own_sql.undo or own_sql.when is When.INSTEAD),
            checks_values=step_index >= changed_from,
        )
        batches[run_id].append(batch)
        index, step_index = end, step_index + len(steps)
    return tuple(_with_recorded(run, batches[run.run.run_id]) for run in runs)


def _with_recorded(run: UndoRun, batches: Sequence[Batch]) -> UndoRun:
    """Return a run with its batches, plus batches for steps that are only recorded, as the ledger's own tables stay."""
    numbers = {number for batch in batches for number in batch.numbers}
    recorded = [Batch((number,), (), "", 0.0) for number in run.numbers if number not in numbers]
    return replace(run, batches=tuple(sorted((*batches, *recorded), key=lambda batch: -batch.numbers[0])))


def find_cuts(undone: Sequence[UndoneStep]) -> tuple[int, frozenset[int]]:
    """Return the indexes at which custom SQL divides the undo steps.

    Returns:
        The index of the first undo step whose values custom SQL may have changed (or the number of undo steps), and the
            indexes before which custom SQL runs or values are recounted.
    """
    own_places: set[int] = set()
    ends: set[int] = set()
    steps: list[Step] = []
    for undone_step in undone:
        start = len(steps)
        steps += undone_step.planned.undo.steps
        for own_sql in undone_step.own:
            if own_sql.undo or own_sql.when is When.INSTEAD:
                own_places.add(len(steps) if own_sql.when is When.BEFORE else start)
            if own_sql.when is When.INSTEAD:
                ends.add(len(steps))
    first = min(own_places, default=len(steps))
    recounted = {index for index in range(first, len(steps)) if steps[index].needs_count}
    return first, frozenset(own_places | ends | recounted)


def with_rewrites_back(
    state: DestinationState,
    runs: Sequence[UndoRun],
    undone: Sequence[UndoneStep],
    tables: Mapping[str, Table],
    cuts: Collection[int],
) -> tuple[UndoneStep, ...]:
    """Return the steps to undo, marking the groups that one rewrite of their table undoes.

    The last step of a group has all its statements. A rewrite never crosses one of the ``cuts``.

    Raises:
        StepDoesNotFit: a step does not fit the tables.
    """
    destination = state.target.destination
    if destination.ABILITIES.transactional_ddl:
        groups = _by_one_transaction(destination, undone, tables, cuts)
    else:
        groups = _one_by_one(destination, runs, undone, tables)
    rewritten = list(undone)
    for indexes, table in groups:
        group = undone[indexes.start : indexes.stop]
        steps = [step for undone_step in group for step in undone_step.planned.undo.steps]
        *earlier, last = (replace(undone_step.planned, undo_statements=()) for undone_step in group)
        last = replace(last, undo_statements=state.session.render_rewrite(rewrite_of(table, steps)))
        rewritten[indexes.start : indexes.stop] = [
            replace(undone_step, planned=planned, done_with=indexes.stop)
            for undone_step, planned in zip(group, (*earlier, last), strict=True)
        ]
    return tuple(rewritten)


def _by_one_transaction(
    destination: Migrator, undone: Sequence[UndoneStep], tables: Mapping[str, Table], cuts: Collection[int]
) -> Iterator[tuple[range, Table]]:
    """Yield the indexes of steps that one rewrite undoes, and their table before; one transaction undoes all steps."""
    owners = [index for index, undone_step in enumerate(undone) for _ in undone_step.planned.undo.steps]
    steps = [step for undone_step in undone for step in undone_step.planned.undo.steps]
    for step_indexes, table in find_rewrites(steps, tables, destination.ABILITIES, destination.stored, cuts):
        members = range(owners[step_indexes.start], owners[step_indexes[-1]] + 1)
        if len(members) > 1 and table is not None:
            yield members, table


def _one_by_one(
    destination: Migrator, runs: Sequence[UndoRun], undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> Iterator[tuple[range, Table]]:
    """Yield the indexes of steps that one rewrite undoes if each step is committed by itself, with the table before."""
    abilities, stored = destination.ABILITIES, destination.stored
    indexes = {(undone_step.run_id, undone_step.number): index for index, undone_step in enumerate(undone)}
    model = dict(tables)
    for run in runs:
        for numbers in find_rewrites_back(run.plan.steps, run.numbers, dict(model), abilities, stored):
            steps = undo_steps(run.plan.steps, numbers)
            if len(numbers) > 1:
                first, last = (indexes[run.run.run_id, number] for number in (numbers[0], numbers[-1]))
                yield range(first, last + 1), model[steps[0].table_name]
            apply_to_model(model, steps)
