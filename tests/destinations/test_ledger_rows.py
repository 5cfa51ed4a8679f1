"""Runs and steps of the ledger as rows of texts."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from schemactl.destinations import parquet
from schemactl.destinations._migration.ledger import RUNS as RUNS_TABLE
from schemactl.destinations._migration.ledger import STEPS as STEPS_TABLE
from schemactl.destinations._migration.ledger import row_of, run_of, step_of
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.stored_plans import plan_of
from schemactl.migration.plan_documents import mark_in
from schemactl.migration.records import Run, RunState, StepRecord, StepState
from schemactl.schema.templates import new_schema
from schemactl.store.text import MAX_BYTES

AT = datetime(2026, 1, 31, 12, 30, 15, 123456, tzinfo=UTC)
RUNS = (
    Run("r1", "p", "shop", None, "h1", "me@here", AT),
    Run("r2", "p", "shop", "h1", "h2", "me@here", AT, AT, RunState.DONE, '{"steps": ["ü\\n"]}'),
)
STEPS = (
    StepRecord("r1", 1, "sha", (), "me@here"),
    StepRecord("r1", 12, "sha", ("it's; -- ü", ""), "me@here", StepState.DONE, AT, AT),
)


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_read_from_its_row_as_it_was(run: Run) -> None:
    row = row_of(run)
    assert tuple(row) == tuple(RUNS_TABLE.columns)
    assert {name for name, value in row.items() if value is None} <= {
        name for name, each in RUNS_TABLE.columns.items() if each.nullable
    }
    assert run_of(dict(reversed(row.items()))) == run


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_read_from_its_row_as_it_was(step: StepRecord) -> None:
    row = row_of(step)
    assert tuple(row) == tuple(STEPS_TABLE.columns)
    assert {name for name, value in row.items() if value is None} <= {
        name for name, each in STEPS_TABLE.columns.items() if each.nullable
    }
    assert step_of(row) == step


def test_moments_are_written_in_utc() -> None:
    local = AT.astimezone(timezone(timedelta(hours=5)))
    assert row_of(replace(RUNS[0], started=local))["started"] == "2026-01-31T12:30:15.123456+00:00"


def test_a_row_that_lacks_a_column_or_holds_no_state_is_no_run() -> None:
    row = row_of(RUNS[0])
    with pytest.raises(KeyError):
        run_of({name: value for name, value in row.items() if name != "plan"})
    with pytest.raises(ValueError, match="asleep"):
        run_of({**row, "state": "asleep"})


def test_a_plan_is_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    with parquet.connect(f"parquet:{tmp_path}", "shop") as session:
        session.write_run(replace(RUNS[1], plan="no JSON"))
        (found,) = session.runs()
    with pytest.raises(InputError, match="this is not JSON"):
        plan_of(found)


BROKEN_PLANS = {
    "nested too deep": '{"migration": ' + "[" * 200_000,
    "no JSON": '{"migration"',
    "no object": '["migration"]',
    "a mark without a name": '{"migration": {"hash": "h"}}',
}


@pytest.mark.parametrize("plan", BROKEN_PLANS)
def test_a_plan_of_the_ledger_that_is_none_is_an_error(plan: str) -> None:
    with pytest.raises(InputError, match="a plan in the ledger is damaged"):
        mark_in(BROKEN_PLANS[plan])


STORED_SCHEMAS = {
    "nested too deep": "[" * 200_000,
    "packed, and too long": base64.b64encode(zlib.compress(bytes(MAX_BYTES + 1))).decode(),
    "packed, not UTF-8": base64.b64encode(zlib.compress(b"\xff")).decode(),
    "a number": 7,
    "nothing": None,
}


@pytest.mark.parametrize("stored", STORED_SCHEMAS)
def test_what_is_stored_in_the_place_of_a_schema_is_an_error(stored: str, tmp_path: Path) -> None:
    with parquet.connect(f"parquet:{tmp_path}", "shop") as session:
        schema = new_schema("shop")
        session.write_version(schema)
        (path,) = (tmp_path / "_dlt_version").glob("*.jsonl")
        path.write_text(json.dumps({**json.loads(path.read_text()), "schema": STORED_SCHEMAS[stored]}))
        with pytest.raises(InputError, match="is not a schema"):
            session.schema_of(schema.version_hash)


def test_a_row_of_the_ledger_that_is_nested_too_deep_is_an_error(tmp_path: Path) -> None:
    with parquet.connect(f"parquet:{tmp_path}", "shop") as session:
        session.write_steps(STEPS[:1])
        (path,) = (tmp_path / "_schemactl_steps").glob("*.jsonl")
        row = json.loads(path.read_text())
        path.write_text(json.dumps({**row, "undo_statements": "[" * 200_000}))
        with pytest.raises(DestinationError, match="is invalid"):
            session.steps("r1")
        path.write_text('{"run_id": ' + "[" * 200_000)
        with pytest.raises(DestinationError, match="it is nested too deep"):
            session.steps("r1")
