"""Online migrations of a PostgreSQL that is in use: readers and writers run while each kind of step does."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from busy_postgresql import in_use
from forked_commands import MIGRATION, Commands, forked_commands
from migrated_datasets import FIRST, ID, Dataset, column, new_dataset, put, schema_of

from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.planner import PlannedStep
from schemactl.migration.records import Patience
from schemactl.migration.reports import ApplyReport, Outcome
from schemactl.migration.ways import Risk
from schemactl.schema.types import Schema

LIMIT_SECONDS = 60

pytestmark = pytest.mark.destinations

ONLINE = PlanOptions(is_online=True, compares_unique=True, compares_primary_keys=True)
PATIENT = Patience(lock_seconds=0.5, lock_retries=1000, batch_rows=500)
ROWS = 20_000

WANTED = schema_of(
    column("id", "bigint", nullable=False, primary_key=True),
    column("amount", "decimal"),
    column("memo", **{"x-renamed-from": "note"}),
    column("old", "bigint", nullable=False, unique=True),
    column("state", nullable=False, **{"x-backfill": "new"}),
    column("paid", "timestamp"),
    before=FIRST,
)
"""From the first schema to this each kind of step about stored rows is taken."""


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> Dataset:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    made = new_dataset("postgresql", tmp_path, postgres_url)
    assert apply(made, put(FIRST, "first.yaml"), options=PlanOptions()).outcome is Outcome.DONE
    made.sql(f"INSERT INTO @.orders SELECT g, g, 'n' || g, g FROM generate_series(1, {ROWS}) g")
    return made


apply = partial(migrated_datasets.apply, options=ONLINE, patience=PATIENT)


undo = partial(migrated_datasets.undo, patience=PATIENT)


def plan(dataset: Dataset, schema: Schema, options: PlanOptions = ONLINE) -> tuple[PlannedStep, ...]:
    request = PlanRequest(put(schema, "wanted.yaml"), dataset.url, Path("schemas"), options)
    report = plan_migration(request)
    assert not report.blockers
    return report.plan.steps


def left_over(dataset: Dataset) -> list[tuple[Any, ...]]:
    """Return what stands in the dataset only while a plan runs."""
    return dataset.sql(
        "SELECT conname::text FROM pg_constraint WHERE starts_with(conname, '_schemactl') "
        "UNION ALL SELECT relname FROM pg_class WHERE relkind = 'i' AND starts_with(relname, '_schemactl_key') "
        "UNION ALL SELECT tgname FROM pg_trigger WHERE starts_with(tgname, '_schemactl') "
        "UNION ALL SELECT proname FROM pg_proc WHERE starts_with(proname, '_schemactl')"
    )


def test_no_write_is_lost_while_each_kind_of_step_runs_and_is_taken_back(dataset: Dataset) -> None:
    with in_use(dataset.url.partition("?")[0], ROWS) as clients:
        assert apply(dataset, put(WANTED, "wanted.yaml")).outcome is Outcome.DONE
        written = sum(len(each.amounts) for each in clients)

    assert written
    assert dataset.columns()[-1:] == ["old"]
    assert dataset.sql("SELECT count(*) FROM @.orders WHERE amount IS NULL OR state <> 'new' OR memo <> 'n' || id") == [
        (0,)
    ]
    assert dataset.sql(f"SELECT sum(old), sum(amount) FROM @.orders WHERE id <= {ROWS}") == [
        (ROWS * (ROWS + 1) // 2,) * 2
    ]
    assert left_over(dataset) == []

    dataset.sql("UPDATE @.orders SET amount = 7 WHERE id = 1")
    dataset.sql("DELETE FROM @.orders WHERE id >= 1000000000")
    with in_use(dataset.url.partition("?")[0], ROWS):
        report = undo(dataset)
    assert report.outcome is Outcome.DONE, report.blockers
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert dataset.sql("SELECT id, amount, note, old FROM @.orders WHERE id < 3 ORDER BY id") == [
        (1, 7, "n1", "1"),
        (2, 2, "n2", "2"),
    ]
    assert left_over(dataset) == []


REQUIRED = schema_of(ID, column("amount", "decimal", nullable=False, unique=True), column("note"), column("old"))
"""A retype that is filled, proven and unique before its columns are swapped."""


@pytest.fixture
def required(dataset: Dataset) -> Dataset:
    """The dataset with a column that is unique and takes no nulls."""
    schema = schema_of(
        ID, column("amount", "bigint", nullable=False, unique=True), column("note"), column("old"), before=FIRST
    )
    assert apply(dataset, put(schema, "before.yaml"), options=replace(ONLINE, is_online=False)).outcome is Outcome.DONE
    return dataset


DYING = """
from schemactl.destinations.postgresql.migration import PostgresMigration

def begin(steps):
    global left
    left = steps

def dying(real):
    def step(*args):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args)
    return step

for name in ("run", "run_outside", "_fill_pages"):
    setattr(PostgresMigration, name, dying(getattr(PostgresMigration, name)))
"""
"""Kills the process before a step or a batch (from 0)."""


@pytest.fixture(scope="module")
def killed() -> Iterator[Commands]:
    with forked_commands(MIGRATION + DYING) as run:
        yield run


def test_a_run_that_is_killed_at_each_step_and_batch_goes_on_and_is_taken_back(
    required: Dataset, killed: Commands
) -> None:
    reference = put(replace(REQUIRED), "wanted.yaml")
    call = [
        "migrate",
        "apply",
        reference,
        "--to",
        required.url,
        "--online",
        "--unique",
        "--yes",
        "--batch-rows",
        "9000",
    ]
    kills, done, events = 0, -1, 1
    while (code := killed(*call, begin=(events,)).code) == -signal.SIGKILL:
        kills += 1
        assert kills < 40
        ((now,),) = required.sql("SELECT count(*) FROM @._schemactl_steps WHERE state = 'done'")
        # Where no step was done, it was killed between two batches: next time one more is filled.
        done, events = now, (1 if now > done else events + 1)
    assert code == 0
    assert kills >= 7
    assert required.sql("SELECT pg_typeof(amount), sum(amount) FROM @.orders GROUP BY 1") == [
        ("numeric", ROWS * (ROWS + 1) // 2)
    ]
    assert left_over(required) == []
    report = undo(required)
    assert report.outcome is Outcome.DONE, report.blockers
    assert required.columns() == ["id", "amount", "note", "old"]


@pytest.mark.parametrize("steps", [2, 4, 8])
def test_a_run_that_is_killed_is_taken_back_with_all_that_it_had_prepared(
    required: Dataset, steps: int, killed: Commands
) -> None:
    before = required.sql("SELECT * FROM @.orders ORDER BY id")
    call = ["migrate", "apply", put(REQUIRED, "wanted.yaml"), "--to", required.url, "--online", "--unique", "--yes"]
    assert killed(*call, "--batch-rows", "15000", begin=(steps,)).code == -signal.SIGKILL
    assert "amount__new_1" in required.columns()

    report = undo(required)

    assert report.outcome is Outcome.DONE, report.blockers
    assert required.sql("SELECT * FROM @.orders ORDER BY id") == before
    assert left_over(required) == []


def commit_once_others_wait(connection: Any, url: str) -> None:
    """End a transaction once somebody waits for its locks."""
    import psycopg

    limit = time.monotonic() + LIMIT_SECONDS
    try:
        with psycopg.connect(url, autocommit=True) as watching:
            query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while time.monotonic() < limit and watching.execute(query).fetchone() == (0,):
                time.sleep(0.02)
    finally:
        connection.commit()


def test_an_index_that_was_broken_off_is_built_anew_or_dropped(required: Dataset) -> None:
    import psycopg

    schema = schema_of(ID, column("amount", "bigint"), column("note", unique=True), column("old"), before=REQUIRED)
    options = replace(ONLINE, compares_primary_keys=False)
    url = required.url.partition("?")[0]
    with psycopg.connect(url) as connection:
        # Twice the same: it comes after the values were counted, and before the index is built.
        connection.execute("INSERT INTO shop.orders (id, amount, note) VALUES (-1, -1, 'n1')")
        committing = threading.Thread(target=commit_once_others_wait, args=(connection, url))
        committing.start()
        with pytest.raises(DestinationError, match="unique index"):
            apply(required, put(schema, "wanted.yaml"), options=options)
        committing.join()
    assert left_over(required)
    required.sql("DELETE FROM @.orders WHERE id = -1")
    assert apply(required, "./wanted.yaml", options=options).outcome is Outcome.DONE
    assert left_over(required) == []
    assert undo(required).outcome is Outcome.DONE


ODD = schema_of(ID, column("amount", "bigint"), column("note", "double"), column("old"), before=FIRST)


@pytest.mark.parametrize("on_unfit", [OnUnfit.REFUSE, OnUnfit.EXPAND, OnUnfit.VARIANT])
def test_values_become_what_they_become_without_others(dataset: Dataset, on_unfit: OnUnfit) -> None:
    odd = ["1_0.5", "1e-5", *(["abc"] if on_unfit is not OnUnfit.REFUSE else [])]
    dataset.sql("UPDATE @.orders SET note = NULL WHERE id = 7")
    dataset.sql("UPDATE @.orders SET note = id || '.5' WHERE id <> 7")
    for row, text in enumerate(odd, 1):
        dataset.sql(f"UPDATE @.orders SET note = '{text}' WHERE id = {row}")
    reference, options = put(ODD, "odd.yaml"), PlanOptions(on_unfit=on_unfit)
    assert apply(dataset, reference, options=options).outcome is Outcome.DONE
    columns = [name for name in dataset.columns() if name.startswith("note")]
    rows = f"SELECT id, {', '.join(columns)} FROM @.orders ORDER BY id"
    alone = dataset.sql(rows)
    assert undo(dataset).outcome is Outcome.DONE
    before = dataset.sql("SELECT id, note FROM @.orders ORDER BY id")
    assert apply(dataset, reference, options=replace(options, is_online=True)).outcome is Outcome.DONE

    assert dataset.sql(rows) == alone
    assert len(columns) == {OnUnfit.REFUSE: 1, OnUnfit.EXPAND: 2, OnUnfit.VARIANT: 3}[on_unfit]
    assert left_over(dataset) == []
    report = undo(dataset)
    assert report.outcome is Outcome.DONE, report.blockers
    assert dataset.sql("SELECT id, note FROM @.orders ORDER BY id") == before


def test_what_is_written_after_the_swap_goes_back_or_is_refused(dataset: Dataset) -> None:
    reference = put(ODD, "odd.yaml")
    dataset.sql("UPDATE @.orders SET note = id::text")
    assert apply(dataset, reference).outcome is Outcome.DONE
    dataset.sql("UPDATE @.orders SET note = 1e300 WHERE id = 2")

    report = undo(dataset)

    assert report.outcome is Outcome.REFUSED
    assert [blocker.message for blocker in report.blockers] == ["1 value of `orders.note` would not survive"]
    dataset.sql("UPDATE @.orders SET note = 2.5 WHERE id = 2")
    assert undo(dataset).outcome is Outcome.DONE
    assert dataset.sql("SELECT note FROM @.orders WHERE id < 4 ORDER BY id") == [("1",), ("2.5",), ("3",)]


def test_rows_that_others_hold_are_filled_when_they_can(dataset: Dataset) -> None:
    import psycopg

    reports: list[ApplyReport] = []
    schema = schema_of(ID, column("amount", "decimal"), column("note"), column("old"), before=FIRST)
    reference = put(schema, "wanted.yaml")
    with psycopg.connect(dataset.url.partition("?")[0]) as connection:
        work = threading.Thread(target=lambda: reports.append(apply(dataset, reference)), daemon=True)
        work.start()
        while "amount__new_1" not in dataset.columns():
            assert work.is_alive()
        connection.execute(f"SELECT FROM shop.orders WHERE id = {ROWS} FOR UPDATE".encode())  # the last to be filled
        while dataset.sql("SELECT count(*) FROM @.orders WHERE amount__new_1 IS NULL") > [(1,)]:
            assert work.is_alive()
        connection.rollback()
    work.join()
    assert [report.outcome for report in reports] == [Outcome.DONE]


def test_a_plan_shows_phases_that_nobody_waits_for_as_safe(dataset: Dataset) -> None:
    steps = plan(dataset, WANTED)
    assert {step.risk for step in steps} == {Risk.SAFE}
    assert any(step.risk is not Risk.SAFE for step in plan(dataset, WANTED, replace(ONLINE, is_online=False)))
    # Of a table without rows there is nothing to do ahead.
    dataset.sql("DELETE FROM @.orders")
    assert len(plan(dataset, WANTED)) < len(steps)


@pytest.mark.parametrize("required", [True, False])
def test_values_that_would_not_survive_are_refused_before_the_first_step(dataset: Dataset, required: bool) -> None:
    before = schema_of(
        ID, column("amount", "bigint"), column("note", nullable=not required), column("old"), before=FIRST
    )
    assert apply(dataset, put(before, "before.yaml"), options=PlanOptions()).outcome is Outcome.DONE
    dataset.sql("UPDATE @.orders SET note = CASE id WHEN 2 THEN 'abc' ELSE '1.5' END")
    after = schema_of(
        ID, column("amount", "bigint"), column("note", "double", nullable=not required), column("old"), before=before
    )

    report = apply(dataset, put(after, "after.yaml"))

    assert report.outcome is Outcome.REFUSED
    assert [each.message for each in report.planned.blockers] == ["1 value of `orders.note` would not survive"]
    assert dataset.columns() == ["id", "amount", "note", "old"]


def test_what_hangs_on_a_column_keeps_it_from_being_replaced(dataset: Dataset) -> None:
    dataset.sql("CREATE INDEX by_amount ON @.orders (amount)")
    request = PlanRequest(put(WANTED, "wanted.yaml"), dataset.url, Path("schemas"), ONLINE)
    (blocker,) = plan_migration(request).blockers
    assert "index by_amount" in blocker.message or "by_amount" in blocker.message
    assert "--online" in blocker.hint


def test_engines_without_such_steps_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("duckdb", tmp_path)
    with pytest.raises(InputError, match="`duckdb` does not support `--online`"):
        plan_migration(PlanRequest(put(FIRST, "first.yaml"), made.url, Path("schemas"), ONLINE))
