"""A migration of a PostgreSQL that others use: it gives way, tries again, and says who is in the way."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import ADDED, FIRST, ID, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.destinations import postgresql
from schemactl.errors import DestinationError, LockNotAvailable
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import PlannedStep
from schemactl.migration.records import Patience
from schemactl.migration.reports import ApplyReport, Outcome, RollbackReport
from schemactl.migration.steps import Prepare
from schemactl.render.console import Look
from schemactl.render.plan import print_plan
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

IMPATIENT = Patience(lock_seconds=0.1, lock_retries=1)
ENDLESS = Patience(lock_seconds=0.1, lock_retries=1000)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> Dataset:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    made = new_dataset("postgresql", tmp_path, postgres_url)
    assert apply(made, put(FIRST, "first.yaml"), []).outcome is Outcome.DONE
    made.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o'), (2, 7, '12', NULL)")
    return made


def apply(dataset: Dataset, reference: str, said: list[str], **changes: Any) -> ApplyReport:
    request = replace(ApplyRequest(reference, dataset.url, Path("schemas"), PlanOptions()), **changes)
    return apply_migration(request, lambda _: True, lambda: nullcontext(lambda text, _: said.append(text)))


def undo(dataset: Dataset, said: list[str], patience: Patience) -> RollbackReport:
    request = RollbackRequest("shop", dataset.url, patience=patience)
    return rollback(request, lambda _: True, lambda: nullcontext(lambda text, _: said.append(text)))


@contextmanager
def reader(dataset: Dataset) -> Iterator[tuple[int, threading.Event]]:
    """Read the table in a transaction that stays open until the event is set; yield its process id."""
    import psycopg

    with psycopg.connect(dataset.url.partition("?")[0]) as connection:
        connection.execute("SELECT id AS read_by_a_report FROM shop.orders").fetchall()
        ended = threading.Event()
        closing = threading.Thread(target=lambda: (ended.wait(), connection.rollback()))
        closing.start()
        try:
            yield connection.info.backend_pid, ended
        finally:
            ended.set()
            closing.join()


@pytest.mark.parametrize("step_by_step", [False, True])
def test_a_step_that_others_lock_out_ends_with_who_they_are_and_nothing_done(
    dataset: Dataset, step_by_step: bool
) -> None:
    said: list[str] = []
    with reader(dataset) as (pid, _), pytest.raises(DestinationError) as caught:
        apply(dataset, put(ADDED, "added.yaml"), said, patience=IMPATIENT, is_step_by_step=step_by_step)

    assert f'"shop"."orders" is locked by session {pid} (idle in transaction for ' in caught.value.message
    assert "SELECT id AS read_by_a_report FROM shop.orders" in caught.value.message
    assert "--lock-retries" in (caught.value.hint or "")
    assert [text.partition(" in ")[0] for text in said if text.startswith("retry")] == ["retry 1 of 1"]
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert apply(dataset, "./added.yaml", []).outcome is Outcome.DONE


def test_others_read_while_a_step_waits_and_it_goes_on_when_it_can(dataset: Dataset) -> None:
    said: list[str] = []
    reports: list[ApplyReport] = []
    reference = put(ADDED, "added.yaml")
    with reader(dataset) as (_, ended):
        work = threading.Thread(
            target=lambda: reports.append(apply(dataset, reference, said, patience=ENDLESS)), daemon=True
        )
        work.start()
        for _ in range(20):
            # Whoever comes after a waiting ALTER waits behind it, but not for longer than that waits.
            assert dataset.sql("SELECT count(*) FROM @.orders") == [(2,)]
        ended.set()
        work.join()

    assert [report.outcome for report in reports] == [Outcome.DONE]
    assert dataset.sql("SELECT id, amount, memo FROM @.orders ORDER BY id") == [(1, 5.0, "x"), (2, 7.0, "12")]


def test_a_rollback_gives_way_too(dataset: Dataset) -> None:
    assert apply(dataset, put(ADDED, "added.yaml"), []).outcome is Outcome.DONE
    said: list[str] = []
    with reader(dataset) as (pid, _), pytest.raises(LockNotAvailable, match=f"session {pid}"):
        undo(dataset, said, IMPATIENT)
    assert "memo" in dataset.columns()

    with reader(dataset) as (_, ended):
        reports: list[RollbackReport] = []
        work = threading.Thread(target=lambda: reports.append(undo(dataset, said, ENDLESS)), daemon=True)
        work.start()
        while not any("of 1000" in text for text in list(said)):
            assert work.is_alive()
        ended.set()
        work.join()

    assert [report.outcome for report in reports] == [Outcome.DONE]
    assert dataset.columns() == ["id", "amount", "note", "old"]


def test_statements_of_others_are_masked_as_values_are(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    from schemactl.examples import Examples, show_examples

    with psycopg.connect(dataset.url.partition("?")[0]) as connection, show_examples(Examples.MASKED):
        connection.execute("SELECT id FROM shop.orders WHERE note = '078-05-1120'").fetchall()
        with pytest.raises(LockNotAvailable) as caught:
            apply(dataset, put(ADDED, "added.yaml"), [], patience=replace(IMPATIENT, lock_retries=0))
    assert "is locked by session" in caught.value.message
    assert "078-05-1120" not in caught.value.message


def test_the_command_takes_the_limits_and_names_who_is_in_the_way(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--step-lock-timeout", "0.1", "--lock-retries", "0"]
    with reader(dataset) as (pid, _):
        call = ["migrate", "apply", put(ADDED, "added.yaml"), "--to", dataset.url, "--yes", *limits]
        assert run(call) == 3
    assert f"is locked by session {pid} (idle in transaction" in " ".join(capsys.readouterr().err.split())
    assert run([*call, "--statement-timeout", "0.001"]) == 3
    assert "statement timeout" in capsys.readouterr().err
    assert run(call) == 0


def test_who_is_in_the_way_may_stay_unknown(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may take no further connection to ask."""

    def no_connection(*_: Any) -> str:
        raise DestinationError("too many connections")

    monkeypatch.setattr("schemactl.destinations.postgresql.migration.lock_holders", no_connection)
    said: list[str] = []
    with reader(dataset), pytest.raises(LockNotAvailable, match="lock timeout"):
        apply(dataset, put(ADDED, "added.yaml"), said, patience=IMPATIENT)
    assert [text for text in said if text.startswith("retry 1 of 1")]


def test_a_statement_that_takes_too_long_is_given_up(dataset: Dataset) -> None:
    dataset.sql("INSERT INTO @.orders SELECT g, g, 'n', 'o' FROM generate_series(10, 400000) g")
    hurried = Patience(statement_seconds=0.001)
    with pytest.raises(DestinationError, match="statement timeout") as caught:
        apply(dataset, put(ADDED, "added.yaml"), [], patience=hurried)
    assert "--statement-timeout" in (caught.value.hint or "")
    assert dataset.columns() == ["id", "amount", "note", "old"]


MORE = schema_of(
    ID,
    column("amount", "decimal"),
    column("memo", **{"x-renamed-from": "note"}),
    column("old", nullable=False, unique=True),
    column("paid", "timestamp"),
    column("state", nullable=False, **{"x-backfill": "new"}),
    before=FIRST,
)
LESS = schema_of(
    column("id", "bigint", nullable=False, primary_key=True),
    column("memo"),
    column("old"),
    column("paid", "timestamp"),
    before=MORE,
)
"""From the first schema to these each kind of step about stored rows is taken."""


@pytest.mark.parametrize("is_online", [False, True])
def test_the_locks_of_a_plan_are_those_that_the_server_holds_while_its_steps_run(
    dataset: Dataset, is_online: bool
) -> None:
    dataset.sql("UPDATE @.orders SET old = 'p' || id")
    seen: set[str] = set()
    for number, schema in enumerate((MORE, LESS)):
        options = PlanOptions(
            compares_unique=True, compares_primary_keys=True, drops_kept=not is_online, is_online=is_online
        )
        reference = put(schema, f"wanted{number}.yaml")
        request = PlanRequest(reference, dataset.url, Path("schemas"), options, allows_destructive=True)
        plan = plan_migration(request).plan
        for planned in plan.steps:
            seen.add(planned.step.phase if isinstance(planned.step, Prepare) else type(planned.step).__name__)
            if planned.step.is_outside_transaction:
                with postgresql.connect(dataset.url, "shop") as session:
                    session.run_outside(planned.step, planned.statements, None, 1, lambda *_: None)
            else:
                stated = planned.lock.mode if planned.lock else None
                assert held(dataset, planned) == stated, planned.step
        report = apply(dataset, reference, [], options=options, allows_destructive=True)
        assert report.outcome is Outcome.DONE
    assert seen >= {
        "AddColumn",
        "RenameColumn",
        "SetNotNull",
        "AddUnique",
        "AddPrimaryKey",
        "DropNotNull",
        "DropUnique",
        "DropColumn",
        *(("add check", "validate check", "start sync", "SwapColumns") if is_online else ("ChangeType",)),
    }


def held(dataset: Dataset, planned: PlannedStep) -> str | None:
    """Run a step, keep it in a session of its own, and return the strongest lock that it held on its table."""
    with postgresql.connect(dataset.url, "shop") as session, session.transaction():
        session.run(planned.step, planned.statements)
        table = f'"shop"."{planned.step.table_name}"'
        rows = session.database.query(
            f"SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND granted AND relation = to_regclass('{table}')"
        )
    order = ["", "AccessShare", "RowExclusive", "ShareUpdateExclusive", "Share", "ShareRowExclusive", "AccessExclusive"]
    strongest = max((mode.removesuffix("Lock") for (mode,) in rows), key=order.index, default="")
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", strongest).upper() or None


def test_a_plan_shows_who_waits_for_it_and_how_long(dataset: Dataset) -> None:
    text = print_plan(planned_for(dataset, MORE), Look(120))

    assert "lock ACCESS EXCLUSIVE for a moment: readers and writers wait" in text
    assert "lock ACCESS EXCLUSIVE while all rows are read: readers and writers wait" in text
    assert "lock ACCESS EXCLUSIVE while all rows are written: readers and writers wait" in text
    assert "risk blocks readers and writers" in text
    assert "holds each lock until the last step ends" in " ".join(text.split())

    text = print_plan(planned_for(dataset, MORE, PlanOptions(is_online=True)), Look(120))

    assert "lock ROW EXCLUSIVE while all rows are written: writers of the same rows wait for a batch" in text
    assert "lock SHARE UPDATE EXCLUSIVE while all rows are read: no one waits" in text
    assert "lock SHARE ROW EXCLUSIVE for a moment: writers wait" in text
    assert "risk blocks" not in text


def planned_for(dataset: Dataset, schema: Schema, options: PlanOptions | None = None) -> Any:
    request = PlanRequest(put(schema, "shown.yaml"), dataset.url, Path("schemas"), options or PlanOptions())
    return plan_migration(request).plan
