"""``schemactl migrate baseline``: record that a database that existed before has a schema."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime

from schemactl.destinations import MigrationSession
from schemactl.flows.migrate.apply import Agree
from schemactl.flows.migrate.drift import complete_tables, find_drift, misplaced_values
from schemactl.flows.migrate.inspection import stated
from schemactl.flows.migrate.runner import who
from schemactl.flows.migrate.state import find_goal_schema, read_state
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.migration.records import Patience, Run, RunState
from schemactl.migration.reports import BaselineReport, BlockerKind, Outcome, PlanBlocker
from schemactl.schema.changes import TableAdded
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasPlace


def record_baseline(
    reference: str,
    to: str | None,
    schemas: SchemasPlace,
    patience: Patience,
    agree: Agree[BaselineReport],
    *,
    is_forced: bool = False,
) -> BaselineReport:
    """Record a schema in the ledger of a destination whose tables match it, or with ``is_forced``, differ from it."""
    target = migratable(to)
    schema = find_goal_schema(reference, schemas)
    with target.open_for_reading(schema.name) as session:
        report = _report_baseline(session, target, schema, is_forced)
    if report.outcome is not Outcome.DONE:
        return report
    if not agree(report):
        return replace(report, outcome=Outcome.DECLINED)
    with target.open_for_writing(schema.name, patience) as session:
        current_report = _report_baseline(session, target, schema, is_forced)
        if current_report.outcome is Outcome.DONE:
            _write(session, schema)
        return current_report


def _report_baseline(
    session: MigrationSession, target: MigrationTarget, schema: Schema, is_forced: bool
) -> BaselineReport:
    """Return the schema to record; its outcome is ``done`` unless there is a blocker."""
    state = read_state(session, target, schema.name)
    differing = find_drift(state, schema)
    drift = tuple(change for change in (*differing.changes, *differing.variants) if not isinstance(change, TableAdded))
    blockers: tuple[PlanBlocker, ...] = ()
    outcome = Outcome.DONE
    if state.unfinished is not None:
        hint = "undo it with `schemactl migrate rollback`, or resume it with `apply`"
        blockers = (PlanBlocker(BlockerKind.UNFINISHED, "an earlier run is unfinished", hint),)
    elif drift and not is_forced:
        hint = "fix the schema, or record it with `--force` and let `migrate apply` fix the tables"
        blockers = (PlanBlocker(BlockerKind.MOVED, "the tables do not match the schema", hint),)
    if blockers:
        outcome = Outcome.REFUSED
    elif state.ledger_hash == schema.version_hash and state.runs and not misplaced_values(state):
        outcome = Outcome.NOTHING
    return BaselineReport(state.place, stated(schema), len(complete_tables(schema)), drift, outcome, blockers)


def _write(session: MigrationSession, schema: Schema) -> None:
    now = datetime.now(UTC)
    versions = session.versions(schema.name)
    run = Run(
        run_id=uuid.uuid4().hex,
        plan_hash="",
        schema_name=schema.name,
        from_hash=versions[0].version_hash if versions else None,
        to_hash=schema.version_hash,
        who=who(),
        started=now,
        finished=now,
        state=RunState.DONE,
    )
    with session.transaction():
        session.write_run(run)
        session.write_version(schema)
