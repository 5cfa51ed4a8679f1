"""``schemactl migrate status``: which schema is there, what is pending, what was changed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemactl.destinations import MigrationSession, Run, StepState
from schemactl.flows.migrate.drift import Drift, find_drift
from schemactl.flows.migrate.lost_versions import find_wanted_there
from schemactl.flows.migrate.plan import check_plan, plan_for
from schemactl.flows.migrate.target import Found, find_name, find_target, read_state
from schemactl.flows.migrate.unfinished import standing
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import PastRun, PlanReport, SchemaThere, StatusReport
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A call of ``schemactl migrate status``.

    Attributes:
        reference: a REF; None for the last schema of the ledger.
        to: the destination's address; None where none was named.
        schemas: the folder of ``import/`` and ``export/``.
        options: how to plan what is pending.
    """

    reference: str | None
    to: str | None
    schemas: Path
    options: PlanOptions


def find_status(request: StatusRequest) -> StatusReport:
    """Return how a destination stands; nothing is written.

    Raises:
        InputError: the call is wrong, or the schema cannot be read.
        DestinationError: the destination cannot be reached or read.
    """
    target = find_target(request.to)
    wanted = find_wanted_there(request.reference, request.schemas, target) if request.reference else None
    name = wanted.name if wanted else find_name(target)
    with target.open_for_reading(name) as session:
        found = read_state(session, name)
        schema = wanted or found.known
        planned: PlanReport | None = None
        if schema is not None and found.unfinished is not None:
            plan, done = standing(session, target.module, found.unfinished)
            planned = check_plan(session, plan, found, False, lambda *_: None, done)
        elif schema is not None:
            plan = plan_for(session, target, found, schema, request.options, allows_destructive=False)
            planned = check_plan(session, plan, found, False, lambda *_: None)
        # Half-way through a run, what differs is the run's.
        is_settled = found.known is not None and found.unfinished is None
        drift = find_drift(session, target, found, found.known) if is_settled and found.known else Drift()
        return StatusReport(
            place=target.place(session),
            there=there_now(found),
            target=stated(schema) if schema else None,
            planned=planned,
            drift=drift.changes,
            variants=drift.variants,
            runs=tuple(past_run(session, run) for run in reversed(found.runs)),
        )


def stated(schema: Schema) -> SchemaThere:
    """Return what a schema says of itself."""
    return SchemaThere(schema.name, schema.version, schema.version_hash, None)


def there_now(found: Found) -> SchemaThere | None:
    """Return the schema that the ledger names last."""
    last = found.versions[0] if found.versions else None
    return SchemaThere(last.schema_name, last.version, last.version_hash, last.inserted_at) if last else None


def past_run(session: MigrationSession, run: Run) -> PastRun:
    """Return a run with how far it has come."""
    records = session.steps(run.run_id)
    return PastRun(
        plan_hash=run.plan_hash,
        schema=run.schema_name,
        before=run.from_hash,
        after=run.to_hash,
        who=run.who,
        started=run.started,
        finished=run.finished,
        state=str(run.state) if run.plan else "baseline",
        done=sum(record.state is StepState.DONE for record in records),
        steps=len(records),
    )
