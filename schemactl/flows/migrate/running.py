"""Runs steps: all of them in one transaction, or one after the other with a ledger that records how far it came."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError, LockNotAvailable
from schemactl.flows.migrate.counting import count_late, count_unfit, refuse_unfit
from schemactl.flows.migrate.state import check_end, check_left, tables_in
from schemactl.migration.effects import apply_to_model, are_done
from schemactl.migration.own import When
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.records import NO_PATIENCE, Run, RunState, StepRecord, StepState
from schemactl.migration.reports import BlockerKind, Counted, PlanBlocker
from schemactl.migration.rewrites import rewrite_of
from schemactl.migration.steps import ChangeType, Step
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.progress import Progress
from schemactl.schema.types import Table


class StepBlocked(Exception):
    """Something stands in the way of a step, that did not when the plan was shown: values, or a precondition."""

    def __init__(self, blockers: Sequence[PlanBlocker], counts: Sequence[Counted]) -> None:
        super().__init__("; ".join(blocker.message for blocker in blockers))
        self.blockers = tuple(blockers)
        self.counts = tuple(counts)


@dataclass(frozen=True, slots=True)
class Runner:
    """A plan that is being applied.

    Attributes:
        done: how many of its steps an earlier run has done.
        retry: runs a transaction again that gave way to others.
        batch_rows: how many rows a transaction fills, where a step does not fill all of them at once.
    """

    session: MigrationSession
    module: Migrator
    plan: MigrationPlan
    run: Run
    done: int
    retry: LockRetry
    batch_rows: int = NO_PATIENCE.batch_rows

    @property
    def _left(self) -> list[Step]:
        return [each.step for each in self.plan.steps[self.done :]]

    def run_at_once(self) -> None:
        """Run all steps in one transaction, and look at the tables before it ends.

        Raises:
            StepBlocked: stored values stand in the way.
            DestinationError: a step failed, or the tables are not as they should be; they are as they were.
        """
        # Steps whose own statements fail on values that do not survive need no look at the values before.
        changes = ((place, step) for place, step in enumerate(self._left) if isinstance(step, ChangeType))
        refuses = self.module.ABILITIES.refuses_unfit
        guarded = {place for place, step in changes if refuses(step.before, step.after)}
        try:
            self.retry.run(lambda: self._run_at_once(guarded))
        except LockNotAvailable:
            raise  # it says nothing of the values
        except (DestinationError, StepBlocked):
            if guarded:
                with suppress(DestinationError):  # where the destination is lost, what failed first is reported
                    self._refuse_unfit()
            raise

    def _run_at_once(self, guarded: Collection[int]) -> None:
        with self.session.transaction():
            self._refuse_unfit(guarded)
            before = self._tables()
            self._check_fit(before)
            for places, table in self._at_once(before):
                self._run_steps(places, table)
            check_end(self.session, self.module, before, self._left, "nothing was changed")
            self._write_end()
            self.session.write_steps(self._records(range(len(self.plan.steps)), StepState.DONE))

    def run_one_by_one(self) -> None:
        """Run the steps one after the other; each is kept when it is done.

        Raises:
            StepBlocked: stored values stand in the way.
            DestinationError: a step failed, or the tables are not as they should be; what is done is kept.
        """
        records = self.session.steps(self.run.run_id)
        done = self.done
        if len(records) > done and records[done].state is StepState.RUNNING:
            # A killed run may have done one step more than it could say.
            planned = self.plan.steps[done]
            done += planned.done_with is None and are_done((planned.step,), self._tables(), self.module.stored)
        unsaid = [record.number - 1 for record in records[:done] if record.state is not StepState.DONE]
        # Steps that are begun next were perhaps begun in other company: the tables would no longer show which.
        broken_off = [record.number - 1 for record in records[done:] if record.state is StepState.RUNNING]
        self._write_steps(self._records(unsaid, StepState.DONE) + self._records(broken_off, StepState.PENDING))
        replace(self, done=done)._go_on()

    def _write_steps(self, records: Sequence[StepRecord]) -> None:
        with self.session.transaction():
            self.session.write_steps(records)

    def _go_on(self) -> None:
        self._refuse_unfit()
        before = self._tables()
        self._check_fit(before)
        if not self.done and not self.session.steps(self.run.run_id):
            with self.session.transaction():
                self.session.write_run(self.run)
                self.session.write_steps(self._records(range(len(self.plan.steps)), StepState.PENDING))
        unwritten: Sequence[StepRecord] = ()
        for places, table in self._at_once(before):
            try:
                unwritten = self._keep_steps(places, table, unwritten)
            except DestinationError as error:
                raise self._halfway(error, places) from error
            except StepBlocked as error:
                if not places.start:
                    raise  # nothing was done
                raise self._halfway(DestinationError(str(error)), places) from error
        self._write_steps(unwritten)
        check_end(self.session, self.module, before, self._left, "what was done is kept")
        with self.session.transaction():
            self._write_end()

    def _at_once(self, before: Mapping[str, Table]) -> Iterator[tuple[range, Table | None]]:
        """Yield the places of the steps that are left, those together that are done at once, with their table then."""
        steps = [each.step for each in self.plan.steps]
        model = dict(before)
        for group in self.plan.groups:
            if places := range(max(group.start, self.done), group.stop):
                yield places, model.get(steps[places.start].table_name)
                apply_to_model(model, [steps[place] for place in places])

    def _keep_steps(self, places: range, table: Table | None, unwritten: Sequence[StepRecord]) -> Sequence[StepRecord]:
        """Run steps that are done at once; return the records that say so, which are written with what follows.

        ``unwritten`` are those of the steps before. A run killed before they are written goes on within these steps.
        """
        is_outside = self.plan.steps[places.start].step.is_outside_transaction
        if self.module.ABILITIES.transactional_ddl and not is_outside:
            self._write_steps(unwritten)
            self.retry.run(lambda: self._keep_at_once(places, table))
            return ()
        # In one piece: steps that are done at once are begun at once, too. Each write is a commit of a lake.
        self._write_steps([*unwritten, *self._records(places, StepState.RUNNING)])
        if is_outside:
            self.retry.run(lambda: self._run_outside(places.start, table))
        else:
            self._run_steps(places, table)
        return self._records(places, StepState.DONE)

    def _run_outside(self, place: int, table: Table | None) -> None:
        planned = self.plan.steps[place]
        self._notify(place)
        self.session.run_outside(planned.step, planned.statements, table, self.batch_rows, self.retry.progress)

    def _keep_at_once(self, places: range, table: Table | None) -> None:
        with self.session.transaction():
            self._run_steps(places, table)
            self.session.write_steps(self._records(places, StepState.DONE))

    def _run_steps(self, places: range, table: Table | None) -> None:
        """Run a step, or those that one rewrite of their table does, and the own SQL around them.

        What could not be seen before is looked at first.
        """
        planned = self.plan.steps[places.start : places.stop]
        steps = [each.step for each in planned]
        self._run_own(places.start, When.BEFORE)
        if len(places) == 1 and any(own.when is When.INSTEAD for own in self.plan.own_of(places.stop)):
            self._run_instead(places.start)
        elif len(steps) > 1 and table is None:
            raise DestinationError(f"`{self.session.origin}` has no table `{steps[0].table_name}`", hint="plan anew")
        else:
            for place in places:
                self._notify(place)
            self._refuse(count_late(self.session, self.plan, self.done, places.start))
            if len(steps) > 1 and table is not None:
                self.session.run_rewrite(rewrite_of(table, steps))
            else:
                self.session.run(steps[0], planned[0].statements)
        self._run_own(places.stop - 1, When.AFTER)

    def _notify(self, place: int) -> None:
        step, count = self.plan.steps[place].step, len(self.plan.steps)
        message = f"step {place + 1} of {count}: {step.kind} on {step.table_name}"
        self.retry.progress(message, place / count)

    def _run_instead(self, place: int) -> None:
        """Run own SQL instead of a step; it has to leave the tables as the step would, or later steps take others."""
        step, before = self.plan.steps[place].step, self._tables()
        self._notify(place)
        self._run_own(place, When.INSTEAD)
        said = f"own SQL has not done step {place + 1} in `{self.session.origin}`, and nothing of it was kept"
        check_left(self.session, self.module, before, [step], said)

    def _run_own(self, place: int, when: When) -> None:
        """Run own SQL of a step, if it has any.

        Raises:
            StepBlocked: its precondition gives no rows.
        """
        for own in self.plan.own_of(place + 1):
            if own.when is not when:
                continue
            if own.precondition is not None and not self.session.gives_rows(own.precondition, own.file):
                message = f"the precondition of `{own.file}` gives no rows: {' '.join(own.precondition.split())}"
                hint = "see to what it asks for; nothing of the step was done"
                raise StepBlocked([PlanBlocker(BlockerKind.PRECONDITION, message, hint, (place + 1,))], ())
            step = self.plan.steps[place].step if when is When.INSTEAD else None
            self.session.run_own(own.statements, own.file, step)

    def _refuse_unfit(self, guarded: Collection[int] = ()) -> None:
        """Look again at the values, but for those of the steps at some places, and those that own SQL may change."""
        changed = range(self.plan.changed_from(self.done) - self.done, len(self.plan.steps) - self.done)
        self._refuse(count_unfit(self.session, self.plan, self.done, {*guarded, *changed}))

    def _refuse(self, counts: Sequence[Counted]) -> None:
        if not counts:
            return
        is_begun = bool(self.session.steps(self.run.run_id))
        if blockers := list(refuse_unfit(self.plan, counts, is_begun=is_begun)):
            raise StepBlocked(blockers, counts)

    def _tables(self) -> dict[str, Table]:
        return tables_in(self.session.catalogue().schema, self.plan.target, self.module)

    def _check_fit(self, before: Mapping[str, Table]) -> None:
        try:
            apply_to_model(dict(before), self._left)
        except StepDoesNotFit as error:
            hint = "plan anew: the tables are not as this plan has them"
            raise DestinationError(
                f"the steps do not fit `{self.session.origin}`: {error.message}", hint=hint
            ) from error

    def _halfway(self, error: DestinationError, places: range) -> DestinationError:
        failed = f"{list_steps(places.start + 1, places.stop)} of {len(self.plan.steps)} failed"
        hint = "`apply` goes on from there, `schemactl migrate rollback` undoes what is done"
        return halfway(error, f"{failed}, {places.start} are done", hint)

    def _write_end(self) -> None:
        # The run ends last: without a transaction, who was killed between the two goes on with it.
        self.session.write_version(self.plan.target)
        self.session.write_run(replace(self.run, state=RunState.DONE, finished=datetime.now(UTC)))

    def _records(self, places: Iterable[int], state: StepState) -> list[StepRecord]:
        return [step_record(self.run, place + 1, self.plan, state) for place in places]


def halfway(error: DestinationError, message: str, hint: str) -> DestinationError:
    """Return the error of a step with how far the run has come, and the ways on from there."""
    return DestinationError(f"{message}: {error.message}", hint=f"{error.hint}; {hint}" if error.hint else hint)


def list_steps(first: int, last: int) -> str:
    """Return steps by their numbers, for messages."""
    return f"step {first}" if first == last else f"steps {first} to {last}"


def step_record(run: Run, number: int, plan: MigrationPlan, state: StepState) -> StepRecord:
    """Return a step's line of the ledger, with the time."""
    now = datetime.now(UTC)
    planned, own = plan.steps[number - 1], plan.own_of(number)
    statements = planned.statements or plan.steps[(planned.done_with or number) - 1].statements
    undo_statements = planned.undo_statements
    if own:
        parts = {
            When.INSTEAD: (statements, undo_statements),
            **{each.when: (each.statements, each.undo or ()) for each in own},
        }
        statements = tuple(text for when in When if when in parts for text in parts[when][0])
        undo_statements = tuple(text for when in reversed(When) if when in parts for text in parts[when][1])
    return StepRecord(
        run_id=run.run_id,
        number=number,
        statements_hash=hashlib.sha256("\n".join(statements).encode()).hexdigest(),
        undo_statements=undo_statements,
        who=who(),
        state=state,
        started=now if state is StepState.RUNNING else None,
        finished=now if state in (StepState.DONE, StepState.UNDONE) else None,
    )


def who() -> str:
    """Return user and machine of this process."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user may have no name, a service on Windows neither
        user = "unknown user" if sys.platform == "win32" else f"user {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


T = TypeVar("T")

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class LockRetry:
    """Retries a transaction that could not get a lock.

    While a step waits for a lock, all later sessions wait behind it. So it waits for a short time, its transaction is
    rolled back, and the others get a pause to do their work.
    """

    retries: int
    progress: Progress

    def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, retry it while others hold a lock, and return its result.

        Args:
            work: a whole transaction: where it fails, nothing of it is kept.

        Raises:
            LockNotAvailable: the last retry did not get the lock either.
        """
        for retry in range(1, self.retries + 1):
            try:
                return work()
            except LockNotAvailable as error:
                pause = min(_FIRST_PAUSE_SECONDS * 2 ** (retry - 1), _LONGEST_PAUSE_SECONDS)
                self.progress(f"retry {retry} of {self.retries} in {pause:g} s: {error.message}", None)
                time.sleep(pause)
        return work()
