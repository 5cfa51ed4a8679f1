"""Runs that stand half done: their plan, and how far they have come."""

from __future__ import annotations

from schemactl.destinations import MigrationSession
from schemactl.destinations._migration.records import Run
from schemactl.flows.migrate.effects_there import done_numbers
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.saved import read_plan


def plan_of(run: Run) -> MigrationPlan:
    """Return the plan of a run as the ledger keeps it.

    Raises:
        InputError: what is kept there is no plan that this version reads.
    """
    return read_plan(run.plan, f"the ledger, run {run.run_id}")


def done_steps(session: MigrationSession, module: MigratingDestination, run: Run) -> int:
    """Return how many of a run's steps are done: the first ones, since they run in their order.

    One that a killed process has done, and could not say so, counts.
    """
    return len(done_numbers(session, module, plan_of(run), session.steps(run.run_id)))
