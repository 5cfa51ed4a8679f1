"""Renders ``schemactl migrate`` with ``--format json``; the JSON Schemas are ``schemas/migrate-*.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from schemactl.migration.directory import write_migration
from schemactl.migration.documents import to_document
from schemactl.migration.records import Version
from schemactl.migration.reports import (
    ApplyReport,
    BaselineReport,
    CheckReport,
    CleanReport,
    CompareReport,
    FolderApplyReport,
    FolderStanding,
    NextReport,
    PastRun,
    PlanBlocker,
    PlanReport,
    RebaseReport,
    RollbackReport,
    StatusReport,
    VerifyReport,
)
from schemactl.migration.saved import plan_document
from schemactl.render.reviews.json import change_document


def plan_report_document(report: PlanReport) -> dict[str, Any]:
    """Return what ``plan`` prints."""
    return {
        "plan": plan_document(report.plan),
        "done": report.done,
        "is_recorded": report.is_recorded,
        "counted": [asdict(each) for each in report.counted],
        "not_undone": [asdict(each) for each in report.not_undone],
        "refusals": _blockers(report.blockers),
    }


def apply_document(report: ApplyReport) -> dict[str, Any]:
    """Return what ``apply`` prints."""
    seconds = round(report.seconds, 3)
    of_run = {"outcome": str(report.outcome), "seconds": seconds, "copy": report.copy}
    return {**of_run, **plan_report_document(report.planned)}


def clean_document(report: CleanReport) -> dict[str, Any]:
    """Return what ``clean`` prints."""
    return {"outcome": str(report.outcome), "place": asdict(report.place), "kept": list(report.kept)}


def status_document(report: StatusReport) -> dict[str, Any]:
    """Return what ``status`` prints."""
    return {
        "place": asdict(report.place),
        "is_settled": report.is_settled,
        "there": _schema(report.there),
        "target": _schema(report.target),
        "pending": plan_report_document(report.planned) if report.planned else None,
        "drift": [change_document(change) for change in report.drift],
        "variants": [change_document(change) for change in report.variants],
        "runs": [_run(run) for run in report.runs],
    }


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """Return what ``verify`` prints."""
    return {
        "place": asdict(report.place),
        "schema": _schema(report.schema),
        "is_clean": report.is_clean,
        "tables": report.tables,
        "columns": report.columns,
        "rows": report.rows,
        "all_rows": report.all_rows,
        "drift": [change_document(change) for change in report.drift],
        "variants": [change_document(change) for change in report.variants],
        "odd": [asdict(each) for each in report.odd],
        "disagreements": [asdict(each) for each in report.disagreements],
        "misplaced": [asdict(each) for each in report.misplaced],
        "unfinished": _run(report.unfinished) if report.unfinished else None,
    }


def rollback_document(report: RollbackReport) -> dict[str, Any]:
    """Return what ``rollback`` prints."""
    return {
        "outcome": str(report.outcome),
        "place": asdict(report.place),
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
        "counted": [asdict(each) for each in report.counted],
        "refusals": _blockers(report.blockers),
    }


def baseline_document(report: BaselineReport) -> dict[str, Any]:
    """Return what ``baseline`` prints."""
    return {
        "outcome": str(report.outcome),
        "place": asdict(report.place),
        "schema": _schema(report.schema),
        "tables": report.tables,
        "drift": [change_document(change) for change in report.drift],
        "refusals": _blockers(report.blockers),
    }


def _schema(schema: Version | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    stated = {"name": schema.schema_name, "version": schema.version, "version_hash": schema.version_hash}
    return {**stated, "at": _time(schema.inserted_at)}


def _run(past: PastRun) -> dict[str, Any]:
    run = past.run
    return {
        "plan_hash": run.plan_hash,
        "before": run.from_hash,
        "after": run.to_hash,
        "who": run.who,
        "started": _time(run.started),
        "finished": _time(run.finished),
        "state": past.state,
        "done": past.done,
        "steps": past.steps,
    }


def _blockers(blockers: Iterable[PlanBlocker]) -> list[dict[str, Any]]:
    return [
        {"obstacle": str(each.kind), "message": each.message, "hint": each.hint, "numbers": list(each.numbers)}
        for each in blockers
    ]


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()


def next_document(report: NextReport) -> dict[str, Any]:
    """Return what ``plan --dir`` prints as JSON."""
    return {
        "folder": report.folder,
        "is_written": report.is_written,
        "migration": json.loads(write_migration(report.migration)) if report.migration is not None else None,
        "there": plan_report_document(report.there) if report.there is not None else None,
        "refusals": _blockers(report.blockers),
    }


def checked_document(report: CheckReport) -> dict[str, Any]:
    """Return what ``check`` and ``hash`` print as JSON."""
    return {
        "folder": report.folder,
        "migrations": list(report.migrations),
        "problems": [
            {"file": each.file, "line": each.line, "message": each.message, "hint": each.hint}
            for each in report.problems
        ],
    }


def rebased_document(report: RebaseReport) -> dict[str, Any]:
    """Return what ``rebase`` prints as JSON."""
    return {
        "folder": report.folder,
        "moved": [{"before": before, "after": after} for before, after in report.moved],
        "schema_hash": report.schema_hash,
    }


def standings_document(folder: str, standings: Sequence[FolderStanding]) -> dict[str, Any]:
    """Return what ``status --dir`` prints as JSON."""
    return {
        "folder": folder,
        "is_settled": all(each.is_settled for each in standings),
        "destinations": [_standing_document(each) for each in standings],
    }


def folder_apply_document(folder: str, report: FolderApplyReport) -> dict[str, Any]:
    """Return what ``apply --dir`` prints as JSON."""
    names = report.standing.pending
    return {
        "folder": folder,
        "outcome": str(report.outcome),
        "before": _standing_document(report.standing),
        "next": plan_report_document(report.next) if report.next is not None else None,
        "applied": [
            {"migration": name, **apply_document(each)} for name, each in zip(names, report.applied, strict=False)
        ],
    }


def _standing_document(standing: FolderStanding) -> dict[str, Any]:
    return {
        "place": asdict(standing.place),
        "there": _schema(standing.there),
        "at": standing.at,
        "pending": list(standing.pending),
        "is_unfinished": standing.is_unfinished,
        "is_settled": standing.is_settled,
        "blocker": _blockers([standing.blocker])[0] if standing.blocker is not None else None,
    }


def compared_document(report: CompareReport) -> dict[str, Any]:
    """Return what ``compare`` prints as JSON."""
    sides = [
        {
            "place": asdict(each.place),
            "there": _schema(each.there),
            "migration": each.migration,
        }
        for each in (report.base, report.head)
    ]
    return {
        "is_same": report.is_same,
        "base": sides[0],
        "head": sides[1],
        "changes": [change_document(change) for change in report.changes],
    }
