"""Runs that stand half done: their plan, and how far they have come."""

from __future__ import annotations

from collections.abc import Sequence

from schemactl.destinations import MigrationSession, Migrator, Run, StepRecord, StepState
from schemactl.flows.migrate.check import tables_now
from schemactl.flows.migrate.genuine import derived_plan, rest_of
from schemactl.migration.completion import are_done
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.saved import read_plan
from schemactl.migration.steps import Prepare


def plan_of(run: Run) -> MigrationPlan:
    """Return the plan of a run as the ledger keeps it.

    Raises:
        InputError: what is kept there is no plan that this version reads.
    """
    return read_plan(run.plan, f"the ledger, run {run.run_id}")


def standing(session: MigrationSession, module: Migrator, run: Run) -> tuple[MigrationPlan, int]:
    """Return the plan of a run that stands half done, and how many of its steps are done.

    They are the first ones, since steps run in their order. One that a killed process has done, and could not say so,
    counts. The others have the statements that will run: those of their steps, whatever the ledger says.

    Raises:
        InputError: the ledger's plan is not what its steps make it.
    """
    plan = derived_plan(plan_of(run), module.ABILITIES)
    done = len(done_numbers(session, module, plan, session.steps(run.run_id)))
    return rest_of(session, module, plan, done), done


def done_numbers(
    session: MigrationSession,
    module: Migrator,
    plan: MigrationPlan,
    records: Sequence[StepRecord],
    *,
    is_undoing: bool = False,
) -> tuple[int, ...]:
    """Return the numbers of the steps of a run whose effect is there.

    A step that was begun, forth or back, by a process that was killed counts by what the tables show.

    Args:
        session: where.
        module: of its destination.
        plan: of the run.
        records: the run's lines of the ledger.
        is_undoing: whether steps that leave something behind where they were killed count, too: it is to go.
    """
    done = [record.number for record in records if record.state is StepState.DONE]
    begun = [record.number for record in records if record.state is StepState.RUNNING]
    if begun:
        tables = tables_now(session, module, plan.target)
        for numbers in _runs(begun):
            steps = [plan.steps[number - 1].step for number in numbers]
            is_left = is_undoing and any(isinstance(step, Prepare) for step in steps)
            done += numbers if is_left or are_done(steps, tables, module.stored) else []
    return tuple(sorted(done))


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers next to each other together: such steps were begun at once."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found
