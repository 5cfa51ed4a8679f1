"""Renders ``schemactl migrate`` with ``--format json``; the JSON Schemas are ``schemas/migrate-*.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from operator import attrgetter
from typing import Any, Final, get_args

from schemactl.migration.directory import Migration, Problem, write_migration
from schemactl.migration.documents import to_document
from schemactl.migration.plan import MigrationPlan
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
    UndoneStep,
    VerifyReport,
)
from schemactl.migration.saved import plan_document
from schemactl.migration.steps import Step
from schemactl.render.reviews.json import change_document
from schemactl.schema.changes import Change

_PRINTED: Final[Mapping[type, str]] = {
    PlanReport: "plan done is_recorded counted not_undone refusals=blockers",
    PlanBlocker: "obstacle=kind message hint numbers",
    StatusReport: "place is_settled there target pending=planned drift variants runs",
    PastRun: "plan_hash=run.plan_hash before=run.from_hash after=run.to_hash who=run.who started=run.started "
    "finished=run.finished state done steps",
    Version: "name=schema_name version version_hash at=inserted_at",
    VerifyReport: "place schema is_clean tables columns rows all_rows drift variants odd disagreements misplaced "
    "unfinished",
    RollbackReport: "outcome place name before after steps counted refusals=blockers",
    UndoneStep: "run=run_id number step=planned.step is_possible=planned.undo.is_possible note=planned.undo.note "
    "undo=planned.undo.steps undo_statements=planned.undo_statements done_with own",
    BaselineReport: "outcome place schema tables drift refusals=blockers",
    CleanReport: "outcome place kept",
    CheckReport: "folder migrations problems",
    Problem: "file line message hint",
    NextReport: "folder is_written migration there refusals=blockers",
    FolderStanding: "place there at pending is_unfinished is_settled blocker",
    CompareReport: "is_same base head changes",
}
"""What is printed of a value, in this order: fields and properties, NAME=PATH where it has another name; else all."""


def document(value: Any) -> Any:
    """Return a report, or a part of one, as JSON data."""
    match value:
        case MigrationPlan():
            return plan_document(value)
        case Migration():
            return json.loads(write_migration(value))
        case ApplyReport():
            of_run = {"outcome": str(value.outcome), "seconds": round(value.seconds, 3), "copy": value.copy}
            return {**of_run, **document(value.planned)}
        case Enum():
            return value.value
        case datetime():
            return value.astimezone(UTC).isoformat()
        case tuple():
            return [document(each) for each in value]
        case None | str() | int() | float():
            return value
    if isinstance(value, get_args(Step)):
        return to_document(value, is_tagged=True)
    if isinstance(value, get_args(Change)):
        return change_document(value)
    stated = _PRINTED.get(type(value))
    names = stated.split() if stated is not None else [field.name for field in fields(value)]
    parts = (name.partition("=") for name in names)
    return {name: document(attrgetter(path or name)(value)) for name, _, path in parts}


def rebased_document(report: RebaseReport) -> dict[str, Any]:
    """Return what ``rebase`` prints."""
    moved = [{"before": before, "after": after} for before, after in report.moved]
    return {"folder": report.folder, "moved": moved, "schema_hash": report.schema_hash}


def standings_document(folder: str, standings: Sequence[FolderStanding]) -> dict[str, Any]:
    """Return what ``status --dir`` prints."""
    is_settled = all(each.is_settled for each in standings)
    return {"folder": folder, "is_settled": is_settled, "destinations": [document(each) for each in standings]}


def folder_apply_document(folder: str, report: FolderApplyReport) -> dict[str, Any]:
    """Return what ``apply --dir`` prints."""
    names = report.standing.pending
    return {
        "folder": folder,
        "outcome": str(report.outcome),
        "before": document(report.standing),
        "next": document(report.next),
        "applied": [{"migration": name, **document(each)} for name, each in zip(names, report.applied, strict=False)],
    }
