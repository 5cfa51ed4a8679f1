"""Runs the steps of runs, forward or backward: in one transaction, or one by one with their progress in the ledger."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError, LockNotAvailable
from schemactl.flows.migrate.state import check_left, tables_in
from schemactl.migration.custom_sql import OwnSql, When
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.plan_documents import plan_document
from schemactl.migration.records import NO_PATIENCE, Run, StepRecord, StepState
from schemactl.migration.reports import BlockerKind, Counted, PlanBlocker
from schemactl.migration.rewrites import rewrite_of
from schemactl.migration.steps import Step
from schemactl.progress import Progress
from schemactl.schema.types import Schema, Table


class StepBlocked(Exception):
    """Values or a precondition block a step, which they did not when the plan was shown."""

    def __init__(self, blockers: Sequence[PlanBlocker], counts: Sequence[Counted]) -> None:
        super().__init__("; ".join(blocker.message for blocker in blockers))
        self.blockers = tuple(blockers)
        self.counts = tuple(counts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Steps that run at once: one step, or the steps that one rewrite of their table does.

    Attributes:
        numbers: the numbers of the steps in the plan of their run, in running order.
        steps: the steps; empty if the numbers are only recorded in the ledger.
        title: shown while the batch runs.
        share: how much of the work is done before it, from 0 to 1.
        statements: the statements of a single step; a rewrite uses its steps.
        own: custom SQL of the migration that runs with the steps.
        checks_values: whether values that block the step can only be counted when its turn comes.
    """

    numbers: tuple[int, ...]
    steps: tuple[Step, ...]
    title: str
    share: float
    statements: tuple[str, ...] = ()
    own: tuple[OwnSql, ...] = ()
    checks_values: bool = False

    @property
    def is_outside_transaction(self) -> bool:
        """Whether no transaction can hold its step."""
        return any(step.is_outside_transaction for step in self.steps)


class RunDirection(ABC):
    """A run of the ledger with its batches, in running order."""

    __slots__ = ()
    session: MigrationSession
    run: Run
    plan: MigrationPlan
    batches: tuple[Batch, ...]

    @property
    @abstractmethod
    def finished_state(self) -> StepState:
        """The state of a step in the ledger once its batch has run."""

    @property
    @abstractmethod
    def kept_note(self) -> str:
        """The end of the message if the tables are not as planned, although each step was kept."""

    @abstractmethod
    def begin(self) -> Sequence[StepRecord]:
        """Record in the ledger that steps run one by one; return records that are written with the first batch."""

    @abstractmethod
    def end(self) -> None:
        """Record in the ledger that the run has ended, and the schema that the destination has now."""

    @abstractmethod
    def record_at_once(self) -> None:
        """Record in the ledger that all batches have run, and the end of the run."""

    @abstractmethod
    def check_values(self, batch: Batch) -> None:
        """Refuse a step that stored values block."""

    @abstractmethod
    def halfway(self, error: DestinationError, batch: Batch) -> DestinationError:
        """Return the error of a batch with the progress of the run, and how to proceed."""

    @abstractmethod
    def instead_failed(self, number: int) -> str:
        """Return the message if SQL that runs instead of a step does not leave the tables as the step would."""

    def records(self, numbers: Iterable[int], state: StepState) -> list[StepRecord]:
        """Return the lines of the ledger for some steps, with the time."""
        return [step_record(self.run, number, self.plan, state) for number in numbers]

    def write_steps(self, records: Sequence[StepRecord]) -> None:
        """Write lines of the ledger in a separate transaction."""
        with self.session.transaction():
            self.session.write_steps(records)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the batches of runs.

    Attributes:
        runs: the runs, in order.
        schema: whose spelling of names the tables have.
        tables: a model of the tables before the first batch.
        retry: retries a transaction that could not get a lock.
        batch_rows: how many rows a transaction fills, if a step does not fill all of them at once.
    """

    session: MigrationSession
    module: Migrator
    runs: Sequence[RunDirection]
    schema: Schema
    tables: Mapping[str, Table]
    retry: LockRetry
    batch_rows: int = NO_PATIENCE.batch_rows

    def run_at_once(self) -> None:
        """Run all batches in the open transaction, and check the tables before it ends.

        Raises:
            StepBlocked: stored values block a step.
        """
        model = dict(self.tables)
        for run in self.runs:
            for batch in run.batches:
                self._run_batch(run, batch, model)
                apply_to_model(model, batch.steps)
        self._check_end("nothing was changed")
        for run in self.runs:
            run.record_at_once()

    def run_one_by_one(self) -> None:
        """Run the batches in order; commit each when it is done, and record it in the ledger.

        Raises:
            StepBlocked: stored values block the first step.
        """
        model = dict(self.tables)
        for run in self.runs:
            unwritten = run.begin()
            for batch in run.batches:
                try:
                    unwritten = self._run_and_record(run, batch, model, unwritten)
                except DestinationError as error:
                    raise run.halfway(error, batch) from error
                except StepBlocked as error:
                    if batch.numbers[0] == 1:
                        raise  # nothing was done
                    raise run.halfway(DestinationError(str(error)), batch) from error
                apply_to_model(model, batch.steps)
            run.write_steps(unwritten)
            if run is self.runs[-1]:
                self._check_end(run.kept_note)
            with self.session.transaction():
                run.end()

    def _run_and_record(
        self, run: RunDirection, batch: Batch, model: Mapping[str, Table], unwritten: Sequence[StepRecord]
    ) -> Sequence[StepRecord]:
        """Run a batch; return its ledger records, which are written together with the records of the next batch.

        ``unwritten`` are the records of earlier batches. If a run is killed before they are written, it resumes in
        these steps.
        """
        if not batch.steps and not batch.own:
            return [*unwritten, *run.records(batch.numbers, run.finished_state)]
        if self.module.ABILITIES.transactional_ddl and not batch.is_outside_transaction:
            run.write_steps(unwritten)
            self.retry.run(lambda: self._run_in_transaction(run, batch, model))
            return ()
        # Steps that run at once are also begun at once. Each write is a commit of a lake.
        run.write_steps([*unwritten, *run.records(batch.numbers, StepState.RUNNING)])
        if batch.is_outside_transaction:
            self.retry.run(lambda: self._run_outside(batch, model))
        else:
            self._run_batch(run, batch, model)
        return run.records(batch.numbers, run.finished_state)

    def _run_in_transaction(self, run: RunDirection, batch: Batch, model: Mapping[str, Table]) -> None:
        with self.session.transaction():
            self._run_batch(run, batch, model)
            self.session.write_steps(run.records(batch.numbers, run.finished_state))

    def _run_outside(self, batch: Batch, model: Mapping[str, Table]) -> None:
        (step,) = batch.steps
        self.retry.progress(batch.title, batch.share)
        table = model.get(step.table_name)
        self.session.run_outside(step, batch.statements, table, self.batch_rows, self.retry.progress)

    def _run_batch(self, run: RunDirection, batch: Batch, model: Mapping[str, Table]) -> None:
        """Run the steps of a batch and the migration's custom SQL around them, or instead of them."""
        self._run_own(batch, When.BEFORE)
        if any(own_sql.when is When.INSTEAD for own_sql in batch.own):
            # Custom SQL must leave the tables as the step would, because later steps depend on it.
            tables_before = tables_in(self.session.catalogue().schema, self.schema, self.module)
            self.retry.progress(batch.title, batch.share)
            self._run_own(batch, When.INSTEAD)
            message = run.instead_failed(batch.numbers[0])
            check_left(self.session, self.module, tables_before, batch.steps, message)
        elif batch.steps:
            self.retry.progress(batch.title, batch.share)
            if batch.checks_values:
                run.check_values(batch)
            name = batch.steps[0].table_name
            if len(batch.steps) == 1:
                self.session.run(batch.steps[0], batch.statements)
            elif name not in model:
                raise DestinationError(f"`{self.session.origin}` has no table `{name}`", hint="plan again")
            else:
                self.session.run_rewrite(rewrite_of(model[name], batch.steps))
        self._run_own(batch, When.AFTER)

    def _run_own(self, batch: Batch, when: When) -> None:
        """Run custom SQL of a batch, if it has any."""
        for own_sql in batch.own:
            if own_sql.when is not when:
                continue
            condition = own_sql.precondition
            if condition is not None and not self.session.gives_rows(condition, own_sql.file):
                message = f"the precondition of `{own_sql.file}` gives no rows: {' '.join(condition.split())}"
                hint = "meet the precondition, then run again; the step was not started"
                raise StepBlocked([PlanBlocker(BlockerKind.PRECONDITION, message, hint, (own_sql.number,))], ())
            replaced_step = next(iter(batch.steps), None) if when is When.INSTEAD else None
            self.session.run_own(own_sql.statements, own_sql.file, replaced_step)

    def _check_end(self, kept_note: str) -> None:
        steps = [step for run in self.runs for batch in run.batches for step in batch.steps]
        message = f"after the last step `{self.session.origin}` is not as planned, and {kept_note}"
        check_left(self.session, self.module, self.tables, steps, message)


def halfway(error: DestinationError, message: str, hint: str) -> DestinationError:
    """Return the error of a step with the progress of the run, and the ways to continue."""
    return DestinationError(f"{message}: {error.message}", hint=f"{error.hint}; {hint}" if error.hint else hint)


def list_steps(first: int, last: int) -> str:
    """Return steps by their numbers, for messages."""
    return f"step {first}" if first == last else f"steps {first} to {last}"


def step_record(run: Run, number: int, plan: MigrationPlan, state: StepState) -> StepRecord:
    """Return a step's line of the ledger, with the time."""
    now = datetime.now(UTC)
    planned, own_scripts = plan.steps[number - 1], plan.own_of(number)
    statements = planned.statements or plan.steps[(planned.done_with or number) - 1].statements
    undo_statements = planned.undo_statements
    if own_scripts:
        parts = {
            When.INSTEAD: (statements, undo_statements),
            **{own_sql.when: (own_sql.statements, own_sql.undo or ()) for own_sql in own_scripts},
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


def new_run(plan: MigrationPlan, from_hash: str | None) -> Run:
    """Return the run of a plan that begins now; ``from_hash`` is the hash that the ledger names before it."""
    document = plan_document(plan)
    return Run(
        run_id=uuid.uuid4().hex,
        plan_hash=document["hash"],
        schema_name=str(plan.schema["name"]),
        from_hash=from_hash,
        to_hash=plan.target_hash,
        who=who(),
        started=datetime.now(UTC),
        plan=json.dumps(document, allow_nan=False),
    )


def who() -> str:
    """Return user and machine of this process."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # users in containers, and services on Windows, may have no name
        user = "unknown user" if sys.platform == "win32" else f"user {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


T = TypeVar("T")

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class LockRetry:
    """Retries a transaction that could not get a lock.

    While a step waits for a lock, all later sessions wait behind it. So it waits only briefly and rolls back its
    transaction, and a pause lets the other sessions work.
    """

    retries: int
    progress: Progress

    def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, retry it while another session holds a lock, and return its result.

        Args:
            work: a whole transaction; a failure rolls everything back.

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
