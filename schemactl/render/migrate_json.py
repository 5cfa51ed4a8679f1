"""Renders ``schemactl migrate`` with ``--format json``; the JSON Schemas are ``schemas/migrate-*.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import Any, Final, get_args

from schemactl.migration.migration_files import write_migration
from schemactl.migration.plan_documents import plan_document, to_document
from schemactl.migration.reports import FolderApplyReport, FolderStatus, RebaseReport
from schemactl.migration.steps import Step
from schemactl.render import json as values
from schemactl.render.json import Shown

_SHOWN: Final[Shown] = {
    "PlanReport": "plan done is_recorded counted not_undone folded widened refusals=blockers",
    "Counted": "number count examples",
    "PlanBlocker": "obstacle=kind message hint numbers",
    "StatusReport": "place is_settled there target pending=planned drift variants stored_variants runs waiting_records",
    "PastRun": "plan_hash=run.plan_hash before=run.from_hash after=run.to_hash who=run.who started=run.started "
    "finished=run.finished state done steps",
    "Version": "name=schema_name version version_hash at=inserted_at",
    "VerifyReport": "place schema is_clean tables columns rows all_rows drift variants odd disagreements misplaced "
    "unfinished",
    "RollbackReport": "outcome place name before after steps counted refusals=blockers",
    "UndoneStep": "run=run_id number step=planned.step is_possible=planned.undo.is_possible note=planned.undo.note "
    "undo=planned.undo.steps undo_statements=planned.undo_statements done_with own",
    "BaselineReport": "outcome place schema tables drift refusals=blockers",
    "CleanReport": "outcome place kept",
    "CheckReport": "folder migrations problems",
    "Problem": "file line message hint",
    "NextReport": "folder is_written migration there refusals=blockers",
    "FolderStatus": "place there at pending is_unfinished is_settled blocker",
    "CompareReport": "is_same base head changes",
    "MigrationPlan": plan_document,
    "Migration": lambda value: json.loads(write_migration(value)),
    "ApplyReport": lambda value: {
        "outcome": str(value.outcome),
        "seconds": round(value.seconds, 3),
        "copy": value.copy,
        **document(value.planned),
    },
    "datetime": lambda value: value.astimezone(UTC).isoformat(),
    **{kind.__name__: partial(to_document, is_tagged=True) for kind in get_args(Step)},
}


def document(value: Any) -> Any:
    """Return a report, or a part of one, as JSON data."""
    return values.document(value, _SHOWN)


def rebased_document(report: RebaseReport) -> dict[str, Any]:
    """Return the JSON document of ``rebase``."""
    moved = [{"before": before, "after": after} for before, after in report.moved]
    return {"folder": report.folder, "moved": moved, "schema_hash": report.schema_hash}


def folder_statuses_document(folder: str, statuses: Sequence[FolderStatus]) -> dict[str, Any]:
    """Return the JSON document of ``status --dir``."""
    is_settled = all(status.is_settled for status in statuses)
    return {"folder": folder, "is_settled": is_settled, "destinations": document(list(statuses))}


def folder_apply_document(folder: str, report: FolderApplyReport) -> dict[str, Any]:
    """Return the JSON document of ``apply --dir``."""
    names = report.status.pending
    return {
        "folder": folder,
        "outcome": str(report.outcome),
        "before": document(report.status),
        "next": document(report.next),
        "applied": [
            {"migration": name, **document(applied)} for name, applied in zip(names, report.applied, strict=False)
        ],
    }
