"""Runs a plan forward: all of it in one transaction, or step by step, also after an earlier run has stopped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, repeat

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError, LockNotAvailable
from schemactl.flows.migrate.counting import count_late, count_unfit, refuse_unfit
from schemactl.flows.migrate.runner import Batch, LockRetry, RunDirection, Runner, StepBlocked, halfway, list_steps
from schemactl.flows.migrate.state import tables_in
from schemactl.migration.effects import apply_to_model, are_done, is_counted_late
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.records import NO_PATIENCE, Run, RunState, StepRecord, StepState, Version
from schemactl.migration.reports import Counted
from schemactl.migration.steps import ChangeType, Step
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class ForwardRun(RunDirection):
    """A plan that is being applied.

    Attributes:
        done: how many of its steps an earlier run has done.
        retry: retries a transaction that could not get a lock.
        batch_rows: how many rows a transaction fills, if a step does not fill all of them at once.
        tables: a model of the tables as they have just been read; None to read them.
        records_version: whether the run records the schema; the load that it belongs to does so otherwise.
        known_versions: the schema's versions in the ledger, as read under the lock; None to read them.
    """

    session: MigrationSession
    module: Migrator
    plan: MigrationPlan
    run: Run
    done: int
    retry: LockRetry
    batch_rows: int = NO_PATIENCE.batch_rows
    batches: tuple[Batch, ...] = ()
    tables: Mapping[str, Table] | None = None
    records_version: bool = True
    known_versions: Sequence[Version] | None = None
    finished_state = StepState.DONE
    kept_note = "completed steps stay applied"

    @property
    def _remaining_steps(self) -> list[Step]:
        return [planned.step for planned in self.plan.steps[self.done :]]

    def _batches(self, steps: Sequence[Step]) -> Iterator[Batch]:
        """Yield the batches of the remaining steps."""
        count, changed_from = len(self.plan.steps), self.plan.changed_from(self.done)
        for group in self.plan.groups:
            start = max(group.start, self.done)
            planned_steps = self.plan.steps[start : group.stop]
            if not planned_steps:
                continue  # an earlier run has done it
            step = planned_steps[-1].step
            yield Batch(
                numbers=tuple(range(start + 1, group.stop + 1)),
                steps=tuple(planned.step for planned in planned_steps),
                title=f"step {group.stop} of {count}: {step.kind} on {step.table_name}",
                share=start / count,
                statements=planned_steps[0].statements if len(planned_steps) == 1 else (),
                own=tuple(own_sql for index in range(start, group.stop) for own_sql in self.plan.own_of(index + 1)),
                checks_values=start >= changed_from or is_counted_late(steps, start - self.done),
            )

    def run_at_once(self) -> None:
        """Run all steps in one transaction, and check the tables before it ends.

        Raises:
            StepBlocked: stored values block a step.
        """
        guarded = self._guarded()
        # A retry follows a pause, in which another session may have changed the tables.
        attempts = chain((self,), repeat(replace(self, tables=None)))
        try:
            self.retry.run(lambda: next(attempts)._run_in_transaction(guarded))
        except LockNotAvailable:
            raise  # it says nothing about the values
        except (DestinationError, StepBlocked):
            if guarded:
                with suppress(DestinationError):  # if the destination is lost, the first failure is reported
                    self._refuse_unfit()
            raise

    def run_in_transaction(self) -> None:
        """Run all steps in the open transaction of a load, and check the tables.

        Raises:
            StepBlocked: stored values block a step.
            DestinationError: a statement fails, which stored values may cause as well.
        """
        guarded = self._guarded()
        try:
            self._runner(guarded).run_at_once()
        except LockNotAvailable:
            raise  # it says nothing about the values
        except DestinationError:
            if guarded:
                with suppress(DestinationError):  # the failure may have ended the transaction
                    self._refuse_unfit()
            raise

    def _guarded(self) -> frozenset[int]:
        """Return the places of steps that need no count: their statements fail on values that do not survive."""
        refuses = self.module.ABILITIES.refuses_unfit
        return frozenset(
            index
            for index, step in enumerate(self._remaining_steps)
            if isinstance(step, ChangeType) and refuses(step.before, step.after)
        )

    def _run_in_transaction(self, guarded: Collection[int]) -> None:
        with self.session.transaction():
            self._runner(guarded).run_at_once()

    def run_one_by_one(self) -> None:
        """Run one step after the other; each is kept when it is done.

        Raises:
            StepBlocked: stored values block the first step.
        """
        records = self.session.steps(self.run.run_id)
        done = self.done
        if len(records) > done and records[done].state is StepState.RUNNING:
            # A killed run may have done one more step than it could record.
            planned = self.plan.steps[done]
            done += planned.done_with is None and are_done((planned.step,), self._read_tables(), self.module.stored)
        unrecorded = [record.number for record in records[:done] if record.state is not StepState.DONE]
        # Steps that were begun may now run in other batches: then the tables would not show which are done.
        begun = [record.number for record in records[done:] if record.state is StepState.RUNNING]
        self.write_steps(self.records(unrecorded, StepState.DONE) + self.records(begun, StepState.PENDING))
        replace(self, done=done)._runner().run_one_by_one()

    def _runner(self, guarded: Collection[int] = ()) -> Runner:
        """Return the runner of the steps that are left, once it is certain that they can run."""
        self._refuse_unfit(guarded)
        tables = self.tables if self.tables is not None else self._read_tables()
        steps = self._remaining_steps
        try:
            apply_to_model(dict(tables), steps)
        except StepDoesNotFit as error:
            hint = "plan again: the tables have changed since this plan"
            message = f"the steps do not fit `{self.session.origin}`: {error.message}"
            raise DestinationError(message, hint=hint) from error
        runs = (replace(self, batches=tuple(self._batches(steps))),)
        return Runner(self.session, self.module, runs, self.plan.target, tables, self.retry, self.batch_rows)

    def _read_tables(self) -> Mapping[str, Table]:
        return tables_in(self.session.catalogue().schema, self.plan.target, self.module)

    def begin(self) -> Sequence[StepRecord]:
        if not self.done and not self.session.steps(self.run.run_id):
            with self.session.transaction():
                self.session.write_run(self.run)
                self.session.write_steps(self.records(range(1, len(self.plan.steps) + 1), StepState.PENDING))
        return ()

    def end(self) -> None:
        # The run ends last: without a transaction, a run that was killed between the two is resumed.
        if self.records_version:
            self.session.write_version(self.plan.target, self.known_versions)
        self.session.write_run(replace(self.run, state=RunState.DONE, finished=datetime.now(UTC)))

    def record_at_once(self) -> None:
        self.end()
        self.session.write_steps(self.records(range(1, len(self.plan.steps) + 1), StepState.DONE))

    def check_values(self, batch: Batch) -> None:
        self._refuse(count_late(self.session, self.plan, batch.numbers[0]))

    def halfway(self, error: DestinationError, batch: Batch) -> DestinationError:
        first, last = batch.numbers[0], batch.numbers[-1]
        message = f"{list_steps(first, last)} of {len(self.plan.steps)} failed; {first - 1} completed before"
        return halfway(
            error, message, "resume with `apply`, or undo the completed steps with `schemactl migrate rollback`"
        )

    def instead_failed(self, number: int) -> str:
        return f"custom SQL did not complete step {number} in `{self.session.origin}`; the step was rolled back"

    def _refuse_unfit(self, guarded: Collection[int] = ()) -> None:
        """Recount the values that block steps, except in guarded steps and after custom SQL that may change them."""
        changed = range(self.plan.changed_from(self.done) - self.done, len(self.plan.steps) - self.done)
        is_resumed = bool(self.session.steps(self.run.run_id))
        self._refuse(count_unfit(self.session, self.plan, self.done, {*guarded, *changed}, is_resumed=is_resumed))

    def _refuse(self, counts: Sequence[Counted]) -> None:
        if not counts:
            return
        is_begun = bool(self.session.steps(self.run.run_id))
        if blockers := list(refuse_unfit(self.plan, counts, is_begun=is_begun)):
            raise StepBlocked(blockers, counts)
