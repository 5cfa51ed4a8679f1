"""Finds values that stand under wrong names, by the runs that a destination's ledger records."""

from __future__ import annotations

from schemactl.destinations import MigrationSession, Migrator, RunState
from schemactl.flows.migrate.target import Found
from schemactl.flows.migrate.unfinished import plan_of
from schemactl.migration.provenance import misplaced_after
from schemactl.migration.spelling import spelled_as
from schemactl.migration.tracing import Place
from schemactl.migration.verification import Misplaced
from schemactl.schema.renames import RENAMED_FROM


def misplaced_values(session: MigrationSession, module: Migrator, found: Found) -> tuple[Misplaced, ...]:
    """Return the values that runs since the last baseline have left under wrong names: a baseline says all is right.

    Raises:
        InputError: a plan of the ledger cannot be read.
    """
    misplaced: dict[Place, Misplaced] = {}
    for run in found.runs:
        if not run.plan:
            misplaced = {}
        elif run.state is RunState.DONE and run.from_hash is not None and (misplaced or RENAMED_FROM in run.plan):
            plan, before = plan_of(run), session.schema_of(run.from_hash)
            if before is not None:
                after = plan.target
                before = before if module.NAMES.is_case_sensitive else spelled_as(before, after)
                misplaced = misplaced_after(misplaced, before, after, [planned.step for planned in plan.steps])
    return tuple(misplaced.values())
