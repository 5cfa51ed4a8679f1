"""Renders ``schemactl migrate`` with ``--format json``; the JSON Schemas are ``schemas/migrate-*.schema.json``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from schemactl.migration.documents import to_document
from schemactl.migration.plan import Place
from schemactl.migration.reports import (
    ApplyReport,
    BaselineReport,
    CleanReport,
    Counted,
    PastRun,
    PlanBlocker,
    PlanReport,
    RollbackReport,
    SchemaThere,
    StatusReport,
)
from schemactl.migration.saved import plan_document
from schemactl.migration.verification import VerifyReport
from schemactl.render.reviews.json import change_document


def plan_report_document(report: PlanReport) -> dict[str, Any]:
    """Return what ``plan`` prints."""
    return {
        "plan": plan_document(report.plan),
        "done": report.done,
        "is_recorded": report.is_recorded,
        "counted": _counted(report.counted),
        "not_undone": _counted(report.not_undone),
        "refusals": blockers_document(report.blockers),
    }


def apply_document(report: ApplyReport) -> dict[str, Any]:
    """Return what ``apply`` prints."""
    seconds = round(report.seconds, 3)
    of_run = {"outcome": str(report.outcome), "seconds": seconds, "copy": report.copy}
    return {**of_run, **plan_report_document(report.planned)}


def clean_document(report: CleanReport) -> dict[str, Any]:
    """Return what ``clean`` prints."""
    return {"outcome": str(report.outcome), "place": place_document(report.place), "kept": list(report.kept)}


def status_document(report: StatusReport) -> dict[str, Any]:
    """Return what ``status`` prints."""
    return {
        "place": place_document(report.place),
        "is_settled": report.is_settled,
        "there": schema_document(report.there) if report.there else None,
        "target": schema_document(report.target) if report.target else None,
        "pending": plan_report_document(report.planned) if report.planned else None,
        "drift": [change_document(change) for change in report.drift],
        "variants": [change_document(change) for change in report.variants],
        "runs": [_run(run) for run in report.runs],
    }


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """Return what ``verify`` prints."""
    return {
        "place": place_document(report.place),
        "schema": schema_document(report.schema),
        "is_clean": report.is_clean,
        "tables": report.tables,
        "columns": report.columns,
        "rows": report.rows,
        "all_rows": report.all_rows,
        "drift": [change_document(change) for change in report.drift],
        "variants": [change_document(change) for change in report.variants],
        "odd": [
            {
                "table": odd.table,
                "column": odd.column,
                "message": odd.message,
                "count": odd.count,
                "rows": odd.rows,
                "examples": list(odd.examples),
            }
            for odd in report.odd
        ],
        "disagreements": [
            {"table": each.table, "message": each.message, "hint": each.hint} for each in report.disagreements
        ],
        "misplaced": [{"table": each.table, "column": each.column, "origin": each.origin} for each in report.misplaced],
        "unfinished": _run(report.unfinished) if report.unfinished else None,
    }


def rollback_document(report: RollbackReport) -> dict[str, Any]:
    """Return what ``rollback`` prints."""
    return {
        "outcome": str(report.outcome),
        "place": place_document(report.place),
        "name": report.name,
        "before": report.before,
        "after": report.after,
        "steps": [
            {
                "run": each.run_id,
                "number": each.number,
                "step": to_document(each.planned.step, is_tagged=True),
                "is_possible": each.planned.undo.is_possible,
                "note": each.planned.undo.note,
                "undo": [to_document(step, is_tagged=True) for step in each.planned.undo.steps],
                "undo_statements": list(each.planned.undo_statements),
                "done_with": each.done_with,
                "own": [to_document(own) for own in each.own],
            }
            for each in report.steps
        ],
        "counted": _counted(report.counted),
        "refusals": blockers_document(report.blockers),
    }


def baseline_document(report: BaselineReport) -> dict[str, Any]:
    """Return what ``baseline`` prints."""
    return {
        "outcome": str(report.outcome),
        "place": place_document(report.place),
        "schema": schema_document(report.schema),
        "tables": report.tables,
        "drift": [change_document(change) for change in report.drift],
        "refusals": blockers_document(report.blockers),
    }


def place_document(place: Place) -> dict[str, Any]:
    """Return a place as JSON data."""
    return {"kind": place.kind, "origin": place.origin, "dataset": place.dataset}


def schema_document(schema: SchemaThere) -> dict[str, Any]:
    """Return what a ledger names as JSON data."""
    return {
        "name": schema.name,
        "version": schema.version,
        "version_hash": schema.version_hash,
        "at": _time(schema.at),
    }


def _run(run: PastRun) -> dict[str, Any]:
    return {
        "plan_hash": run.plan_hash,
        "before": run.before,
        "after": run.after,
        "who": run.who,
        "started": _time(run.started),
        "finished": _time(run.finished),
        "state": run.state,
        "done": run.done,
        "steps": run.steps,
    }


def _counted(counts: Iterable[Counted]) -> list[dict[str, Any]]:
    return [{"number": each.number, "count": each.count, "examples": list(each.examples)} for each in counts]


def blockers_document(blockers: Iterable[PlanBlocker]) -> list[dict[str, Any]]:
    """Return what stands against a plan as JSON data."""
    return [
        {
            "obstacle": str(each.kind),
            "message": each.message,
            "hint": each.hint,
            "numbers": list(each.numbers),
        }
        for each in blockers
    ]


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()
