"""Runs that stand half done: their plan, and how far they have come."""

from __future__ import annotations

from schemactl.destinations import MigrationSession, Run
from schemactl.flows.migrate.effects_there import done_numbers
from schemactl.flows.migrate.genuine import derived_plan, rest_of
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.saved import read_plan


def plan_of(run: Run) -> MigrationPlan:
    """Return the plan of a run as the ledger keeps it.

    Raises:
        InputError: what is kept there is no plan that this version reads.
    """
    return read_plan(run.plan, f"the ledger, run {run.run_id}")


def standing(session: MigrationSession, module: MigratingDestination, run: Run) -> tuple[MigrationPlan, int]:
    """Return the plan of a run that stands half done, and how many of its steps are done.

    They are the first ones, since steps run in their order. One that a killed process has done, and could not say so,
    counts. The others have the statements that will run: those of their steps, whatever the ledger says.

    Raises:
        InputError: the ledger's plan is not what its steps make it.
    """
    plan = derived_plan(plan_of(run), module.ABILITIES)
    done = len(done_numbers(session, module, plan, session.steps(run.run_id)))
    return rest_of(session, module, plan, done), done
