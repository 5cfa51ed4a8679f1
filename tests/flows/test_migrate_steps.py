"""What a migration knows of single steps: their names before the first one, and whether a killed run has done them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from migrated_datasets import ADDED, FIRST, ID, Dataset, apply, column, new_dataset, put, schema_of

from schemactl.destinations import sqlite
from schemactl.errors import DestinationError
from schemactl.flows.migrate.forward_run import ForwardRun
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.runner import LockRetry, step_record
from schemactl.flows.target import migratable
from schemactl.migration import steps as s
from schemactl.migration.effects import apply_to_model, are_done, traced, traced_table
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import plan_hash, write_plan
from schemactl.migration.records import Patience, Run, StepState
from schemactl.progress import no_progress
from schemactl.schema.types import Table

RETRY = LockRetry(0, no_progress)

pytestmark = pytest.mark.destinations

A, B = column("a", "bigint"), column("b")
TABLE = Table("t", {"a": A, "b": B})


def test_names_are_those_before_the_first_step() -> None:
    steps = [
        s.RenameTable("old", "t"),
        s.RenameColumn("t", "was", "b"),
        s.AddColumn("t", column("new")),
        s.SetNotNull("t", B),
        s.SetNotNull("t", column("new")),
        s.AddUnique("t", "b"),
        s.ChangeType("t", B, column("b", "bigint")),
        s.DropTable(TABLE),
        s.CreateTable(Table("made", {"b": B})),
        s.SetNotNull("made", B),
        s.AddPrimaryKey("t", ("a", "b")),
        s.AddPrimaryKey("t", ("a", "new")),
    ]

    assert traced(steps, 3) == s.SetNotNull("old", column("was"))
    assert traced(steps, 4) is None
    assert traced(steps, 5) == s.AddUnique("old", "was")
    assert traced(steps, 6) == s.ChangeType("old", column("was"), column("was", "bigint"))
    assert traced_table(steps, 7) == "old"
    assert traced(steps, 9) is None
    assert traced(steps[:6] + steps[10:], 6) == s.AddPrimaryKey("old", ("a", "was"))
    assert traced(steps[:6] + steps[10:], 7) is None


@pytest.mark.parametrize(
    "step",
    [
        s.CreateTable(Table("u", {"a": A})),
        s.DropTable(TABLE),
        s.RenameTable("t", "u"),
        s.AddColumn("t", column("c")),
        s.DropColumn("t", A),
        s.RenameColumn("t", "a", "c"),
        s.ChangeType("t", A, column("a", "text")),
        s.SetNotNull("t", A),
        s.DropNotNull("t", B),
        s.AddUnique("t", "a"),
        s.DropUnique("t", "b"),
        s.AddPrimaryKey("t", ("a", "b")),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_steps_effect_is_seen_once_it_is_done(step: s.Step) -> None:
    required = column("b", nullable=False, unique=True)
    tables = {"t": Table("t", {"a": A, "b": required})}
    assert not are_done((step,), tables, sqlite.stored)
    apply_to_model(tables, (step,))
    assert are_done((step,), tables, sqlite.stored)


def test_a_dropped_key_is_seen_once_it_is_gone() -> None:
    tables = {"t": TABLE}
    apply_to_model(tables, (s.AddPrimaryKey("t", ("a", "b")),))
    step = s.DropPrimaryKey("t", ("a", "b"))
    assert not are_done((step,), tables, sqlite.stored)
    apply_to_model(tables, (step,))
    assert are_done((step,), tables, sqlite.stored)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    apply(made, FIRST)
    made.sql("INSERT INTO orders VALUES (1, 5, 'x', 'o')")
    return made


def without_transactions() -> SimpleNamespace:
    """The destination, as one that cannot run its steps in a transaction."""
    abilities = replace(sqlite.ABILITIES, transactional_ddl=False)
    return SimpleNamespace(**vars(sqlite) | {"ABILITIES": abilities})


@pytest.mark.parametrize("was_done", [True, False])
def test_without_transactions_a_step_that_was_begun_is_done_once(dataset: Dataset, was_done: bool) -> None:
    request = PlanRequest(put(ADDED, "added.yaml"), dataset.url, Path("schemas"), PlanOptions())
    plan = plan_migration(request).plan
    line = Run("run", plan_hash(plan), "shop", FIRST.version_hash, ADDED.version_hash, "me", datetime.now(UTC))
    line = replace(line, plan=write_plan(plan))
    reported: list[float] = []
    retry = LockRetry(0, lambda _, share: reported.append(share or 0))
    with migratable(dataset.url).open_for_writing("shop", Patience()) as session:
        runner = ForwardRun(session, without_transactions(), plan, line, 0, retry)
        session.write_run(line)
        states = [StepState.RUNNING, StepState.PENDING, StepState.PENDING]
        session.write_steps([step_record(line, number, plan, state) for number, state in enumerate(states, 1)])
        if was_done:  # and the process was killed before it could say so
            session.run(plan.steps[0].step, plan.steps[0].statements)

        runner.run_one_by_one()

        assert reported == ([1 / 3, 2 / 3] if was_done else [0, 1 / 3, 2 / 3])
        assert {record.state for record in session.steps("run")} == {StepState.DONE}
    assert dataset.columns() == ["id", "amount", "memo", "old", "paid"]


def test_what_is_otherwise_than_planned_is_reported_and_taken_back(dataset: Dataset) -> None:
    request = PlanRequest(put(ADDED, "added.yaml"), dataset.url, Path("schemas"), PlanOptions())
    plan = plan_migration(request).plan
    last = replace(plan.steps[-1], statements=())  # a step that does nothing
    broken = replace(plan, steps=(*plan.steps[:-1], last))
    line = Run("run", plan_hash(plan), "shop", FIRST.version_hash, ADDED.version_hash, "me", datetime.now(UTC))
    with (
        migratable(dataset.url).open_for_writing("shop", Patience()) as session,
        pytest.raises(DestinationError, match=r"nothing was changed: column `orders\.amount` is data_type bigint"),
    ):
        ForwardRun(session, sqlite, broken, line, 0, RETRY).run_at_once()
    assert dataset.columns() == ["id", "amount", "note", "old"]


def test_values_that_become_the_same_are_counted_before_they_become_a_key(dataset: Dataset) -> None:
    dataset.sql("UPDATE orders SET note = '1'")
    dataset.sql("INSERT INTO orders VALUES (2, 5, '01', 'o')")
    number = column("note", "bigint", nullable=False, primary_key=True)
    keyed = schema_of(ID, column("amount", "bigint"), number, column("old"), before=FIRST)
    report = apply(dataset, keyed, compares_primary_keys=True)
    assert report.is_refused
    (blocker,) = report.planned.blockers
    assert blocker.message == "2 rows of `orders` have a null or a duplicate value in `note`"
    assert dataset.sql("SELECT note FROM orders ORDER BY id") == [("1",), ("01",)]
