"""Runs and steps of the ledger as rows of texts: they are written, and read, the same way at every destination.

Moments are in ISO 8601 and UTC, lists are JSON. The plan stays the text that it is: few of the runs' plans are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

from schemactl.destinations._migration.records import Run, RunState, StepRecord, StepState

RUNS_TABLE: Final = "_schemactl_migrations"
STEPS_TABLE: Final = "_schemactl_steps"

RUN_COLUMNS: Final = tuple(each.name for each in fields(Run))
STEP_COLUMNS: Final = tuple(each.name for each in fields(StepRecord))
OPTIONAL: Final = frozenset({"from_hash", "started", "finished"})
"""Columns that may be null in a run or a step."""

_NO_PLAN: Final = "{}"

Row = Mapping[str, str | None]


def row_of(record: Run | StepRecord) -> dict[str, str | None]:
    """Return a run or a step as texts, by the names of its columns."""
    row = {each.name: _text(getattr(record, each.name)) for each in fields(record)}
    if isinstance(record, Run):
        row["plan"] = record.plan or _NO_PLAN
    return row


def run_of(row: Mapping[str, Any]) -> Run:
    """Return the run that a row records.

    Raises:
        KeyError: the row lacks a column.
        ValueError, TypeError: a column holds what it cannot.
    """
    return Run(
        run_id=row["run_id"],
        plan_hash=row["plan_hash"],
        schema_name=row["schema_name"],
        from_hash=row["from_hash"],
        to_hash=row["to_hash"],
        who=row["who"],
        started=datetime.fromisoformat(row["started"]),
        finished=_moment(row["finished"]),
        state=RunState(row["state"]),
        plan="" if row["plan"] == _NO_PLAN else row["plan"],
    )


def step_of(row: Mapping[str, Any]) -> StepRecord:
    """Return the step that a row records.

    Raises:
        KeyError: the row lacks a column.
        ValueError, TypeError: a column holds what it cannot.
    """
    return StepRecord(
        run_id=row["run_id"],
        number=int(row["number"]),
        statements_hash=row["statements_hash"],
        undo_statements=tuple(json.loads(row["undo_statements"])),
        who=row["who"],
        state=StepState(row["state"]),
        started=_moment(row["started"]),
        finished=_moment(row["finished"]),
    )


def _text(value: str | int | datetime | tuple[str, ...] | None) -> str | None:
    match value:
        case None:
            return None
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case tuple():
            return json.dumps(value)
        case _:
            return str(value)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
