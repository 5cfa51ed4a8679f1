"""Undoes steps: all of them in one transaction, or one after the other with a ledger that records how far it came."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError
from schemactl.flows.migrate.running import halfway, list_steps, step_record
from schemactl.flows.migrate.state import Found, check_end, check_left
from schemactl.migration.effects import apply_to_model
from schemactl.migration.own import OwnSql, When
from schemactl.migration.plan import MigrationPlan, render_step
from schemactl.migration.records import Run, RunState, StepRecord, StepState
from schemactl.migration.reports import RollbackReport, UndoneStep
from schemactl.migration.rewrites import find_rewrites, find_rewrites_back, rewrite_of, undo_steps
from schemactl.migration.steps import Step
from schemactl.progress import Progress
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class UndoneRun:
    """A run, and which of its steps are undone.

    Attributes:
        numbers: of the steps, the last one first.
        broken_off: of steps that were begun, forth or back, and of which nothing is there.
        unsaid: of steps that are done, and of which a killed process could not say so.
        is_whole: whether none of its steps is left.
    """

    run: Run
    numbers: tuple[int, ...]
    broken_off: tuple[int, ...]
    unsaid: tuple[int, ...]
    is_whole: bool
    plan: MigrationPlan

    @property
    def left(self) -> StepState:
        """Return the state that undone steps are left in: of a run that stands half done, `apply` takes them again."""
        return StepState.UNDONE if self.is_whole else StepState.PENDING

    def records(self, numbers: Sequence[int], state: StepState) -> list[StepRecord]:
        """Return the lines of the ledger for some of its steps."""
        return [step_record(self.run, number, self.plan, state) for number in numbers]


@dataclass(frozen=True, slots=True)
class OwnUndos:
    """The undo statements of own SQL, among the steps that undo those that it belongs to.

    Attributes:
        at: what runs before the undo step at a place; at their number what runs behind the last one.
        replaced: the places of undo steps that do not run: own SQL does instead what they would.
        first: the place of the first undo step that finds other values than now; their number where none does.
        cuts: the places before which own SQL runs, or values are looked at anew.
    """

    at: Mapping[int, tuple[OwnSql, ...]]
    replaced: tuple[range, ...]
    first: int
    cuts: frozenset[int]


def own_undos(undone: Sequence[UndoneStep]) -> OwnUndos:
    """Return what undoes the own SQL of steps: of each step what ran last is undone first."""
    at: dict[int, tuple[OwnSql, ...]] = {}
    replaced: list[range] = []
    steps: list[Step] = []
    for each in undone:
        start = len(steps)
        steps += each.planned.undo.steps
        for own in reversed(each.own):
            if not own.undo and own.when is not When.INSTEAD:
                continue
            place = len(steps) if own.when is When.BEFORE else start
            at[place] = (*at.get(place, ()), own)
            if own.when is When.INSTEAD and start < len(steps):
                replaced.append(range(start, len(steps)))
    first = min(at, default=len(steps))
    anew = {place for place in range(first, len(steps)) if steps[place].needs_count}
    behind = {each.stop for each in replaced}
    return OwnUndos(at, tuple(replaced), first, frozenset({*at, *anew, *behind}))


def _refuse_late(session: MigrationSession, step: Step) -> None:
    """Refuse an undo step whose values own SQL has changed so that they do not survive it.

    Raises:
        DestinationError: there are such values.
    """
    if step.needs_count and (unfit := session.unfit(step)).count:
        values = "value" if unfit.count == 1 else "values"
        message = f"{unfit.count:,} {values} of `{step.full_name}` would not survive the undo, and nothing was changed"
        raise DestinationError(message, hint="what undoes own SQL has left them: mend it, or them")


def with_rewrites_back(
    found: Found,
    runs: Sequence[UndoneRun],
    undone: Sequence[UndoneStep],
    tables: Mapping[str, Table],
    cuts: Collection[int],
) -> tuple[UndoneStep, ...]:
    """Return steps that are to be undone, which say what of them one rewrite of their table undoes.

    The last of such steps has the statements of all. No rewrite undoes steps on both sides of one of the ``cuts``.

    Raises:
        StepDoesNotFit: a step does not fit the tables.
    """
    destination = found.target.destination
    if destination.ABILITIES.transactional_ddl:
        groups = _by_one_transaction(destination, undone, tables, cuts)
    else:
        groups = _one_by_one(destination, runs, undone, tables)
    made = list(undone)
    for places, table in groups:
        group = undone[places.start : places.stop]
        steps = [step for each in group for step in each.planned.undo.steps]
        statements = found.session.render_rewrite(rewrite_of(table, steps))
        bare = [replace(each.planned, undo_statements=()) for each in group]
        bare[-1] = replace(bare[-1], undo_statements=statements)
        made[places.start : places.stop] = [
            replace(each, planned=planned, done_with=places.stop) for each, planned in zip(group, bare, strict=True)
        ]
    return tuple(made)


def _by_one_transaction(
    destination: Migrator, undone: Sequence[UndoneStep], tables: Mapping[str, Table], cuts: Collection[int]
) -> Iterator[tuple[range, Table]]:
    """Yield the places of steps that one rewrite undoes in a transaction with all others, with the table before."""
    at = [place for place, each in enumerate(undone) for _ in each.planned.undo.steps]
    steps = [step for each in undone for step in each.planned.undo.steps]
    for places, table in find_rewrites(steps, tables, destination.ABILITIES, destination.stored, cuts):
        members = range(at[places.start], at[places[-1]] + 1)
        if len(members) > 1 and table is not None:
            yield members, table


def _one_by_one(
    destination: Migrator, runs: Sequence[UndoneRun], undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> Iterator[tuple[range, Table]]:
    """Yield the places of steps that one rewrite undoes where each step is kept by itself, with the table before."""
    abilities, stored = destination.ABILITIES, destination.stored
    at = {(each.run_id, each.number): place for place, each in enumerate(undone)}
    model = dict(tables)
    for each in runs:
        for numbers in find_rewrites_back(each.plan.steps, each.numbers, dict(model), abilities, stored):
            steps = undo_steps(each.plan.steps, numbers)
            if len(numbers) > 1:
                places = range(at[each.run.run_id, numbers[0]], at[each.run.run_id, numbers[-1]] + 1)
                yield places, model[steps[0].table_name]
            apply_to_model(model, steps)


def _places(undone: Sequence[UndoneStep]) -> Iterator[range]:
    """Yield the places of undo steps among those of all steps, those together that one rewrite does."""
    place = start = 0
    while place < len(undone):
        end = undone[place].done_with or place + 1
        stop = start + sum(len(each.planned.undo.steps) for each in undone[place:end])
        yield from (range(start, stop),) if end - place > 1 else (range(at, at + 1) for at in range(start, stop))
        place, start = end, stop


@dataclass(frozen=True, slots=True)
class Undoing:
    """Steps that are about to be undone."""

    found: Found
    report: RollbackReport
    runs: tuple[UndoneRun, ...]
    own: OwnUndos
    tables: Mapping[str, Table]

    @property
    def steps(self) -> list[Step]:
        """All undo steps, in their order."""
        return [step for each in self.report.steps for step in each.planned.undo.steps]


def undo_at_once(undoing: Undoing, notify: Progress) -> None:
    """Undo steps in the open transaction, and look at the tables before it ends.

    Raises:
        DestinationError: a step failed, or the tables are not as they should be; with the transaction all is as it was.
    """
    session, target = undoing.found.session, undoing.found.target
    tables, render = dict(undoing.tables), target.renderer(session)
    numbers = [each.number for each in undoing.report.steps for _ in each.planned.undo.steps]
    steps, own = undoing.steps, undoing.own
    for places in _places(undoing.report.steps):
        notify(f"undoing step {numbers[places.start]}", places.start / len(steps))
        for each in own.at.get(places.start, ()):
            session.run_own(each.undo or (), each.file)
        replaced = next((each for each in own.replaced if places.start in each), None)
        if replaced is None or places.start == replaced.start:
            here = dict(tables)
        group = steps[places.start : places.stop]
        table = tables.get(group[0].table_name)
        made = [(step, render_step(step, tables, render)) for step in group]
        if replaced is not None:
            said = f"own SQL has not undone step {numbers[places.start]}, and nothing was changed"
            if places.stop == replaced.stop:
                check_left(session, target.destination, here, steps[replaced.start : replaced.stop], said)
            continue
        if places.start >= own.first:
            _refuse_late(session, group[0])
        _run(session, made, table if len(group) > 1 else None)
    for each in own.at.get(len(steps), ()):
        session.run_own(each.undo or (), each.file)
    check_end(session, target.destination, undoing.tables, steps, "nothing was changed")
    for each_run in undoing.runs:
        _write_run(session, each_run)
        session.write_steps(each_run.records((*each_run.numbers, *each_run.broken_off), each_run.left))
        # A pipeline that finds its schema's hash makes no columns: it must not find that of a schema that is gone.
        session.forget_version(each_run.run.to_hash)
    _write_base(session, undoing.runs[-1].run)


def undo_one_by_one(undoing: Undoing, notify: Progress) -> None:
    """Undo steps one after the other; each is kept when it is done, and the ledger says so.

    Until all of a run's steps are undone it stands half done: who was killed goes on with ``rollback``, or forward
    again with ``apply``.

    Raises:
        DestinationError: a step failed, or the tables are not as they should be; what was undone stays so.
    """
    session, target = undoing.found.session, undoing.found.target
    tables, render = dict(undoing.tables), target.renderer(session)
    undone = {(each.run_id, each.number): each.planned.undo.steps for each in undoing.report.steps}
    count = 0
    for part in undoing.runs:
        session.write_run(replace(part.run, state=RunState.RUNNING, finished=None))
        # First: a pipeline that finds its schema's hash makes no columns.
        session.forget_version(part.run.to_hash)
        # Steps that were done at once may be undone in other company: the tables would no longer show which.
        unwritten = [*part.records(part.broken_off, part.left), *part.records(part.unsaid, StepState.DONE)]
        for numbers in _at_once(part, undoing.report.steps):
            steps = [step for number in numbers for step in undone.get((part.run.run_id, number), ())]
            if steps:
                notify(f"undoing {list_steps(numbers[0], numbers[-1])}", count / len(undoing.report.steps))
                session.write_steps([*unwritten, *part.records(numbers, StepState.RUNNING)])
                unwritten = []
            table = tables.get(steps[0].table_name) if steps and len(numbers) > 1 else None
            try:
                _run(session, [(step, render_step(step, tables, render)) for step in steps], table)
            except DestinationError as error:
                done = "1 step was" if count == 1 else f"{count} steps were"
                failed, before = ("was", "it") if len(numbers) == 1 else ("were", "them")
                message = f"{list_steps(numbers[0], numbers[-1])} {failed} not undone, {done} before {before}"
                hint = "`schemactl migrate rollback` goes on from there, `apply` goes forward again"
                raise halfway(error, message, hint) from error
            # Written with what follows. In one piece, as they were begun: so the tables show all of them.
            unwritten += part.records(numbers, part.left)
            count += len(numbers)
        session.write_steps(unwritten)
        _write_base(session, part.run)
        _write_run(session, part)
    check_end(session, target.destination, undoing.tables, undoing.steps, "what was undone stays so")


def _run(session: MigrationSession, made: Sequence[tuple[Step, tuple[str, ...]]], rewritten: Table | None) -> None:
    """Run undo steps, all of them by one rewrite where there is a table to rewrite."""
    if rewritten is not None:
        session.run_rewrite(rewrite_of(rewritten, [step for step, _ in made]))
        return
    for step, statements in made:
        session.run(step, statements)


def _at_once(part: UndoneRun, undone: Sequence[UndoneStep]) -> list[tuple[int, ...]]:
    """Return the numbers of a run's steps, those together that are undone at once."""
    ends = {each.number: each.done_with for each in undone if each.run_id == part.run.run_id}
    # Tables of dlt's own are not undone, and their steps are by themselves.
    return [tuple(group) for _, group in groupby(part.numbers, lambda number: ends.get(number) or -number)]


def _write_run(session: MigrationSession, part: UndoneRun) -> None:
    """Write what was undone; a run of which steps are left stands half done, and ``apply`` goes on with it."""
    state = RunState.UNDONE if part.is_whole else RunState.RUNNING
    session.write_run(replace(part.run, state=state, finished=datetime.now(UTC) if part.is_whole else None))


def _write_base(session: MigrationSession, run: Run) -> None:
    """Make the schema that a run began at the current one again."""
    schema = session.schema_of(run.from_hash) if run.from_hash else None
    if schema is not None:
        session.write_version(schema)
