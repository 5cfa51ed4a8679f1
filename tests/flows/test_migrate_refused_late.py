"""Values that come between a plan and its run stand in its way as those that the plan has counted do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, schema_of

from schemactl.destinations._migration.session import SqlMigration
from schemactl.errors import DestinationError
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.migration.steps import ChangeType, SetNotNull
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

BEFORE = schema_of(ID, column("amount"), column("note"), column("paid"))
AFTER = schema_of(
    ID, column("amount", "bigint"), column("note", nullable=False), column("paid", "timestamp"), before=BEFORE
)


def filled(dataset: Dataset) -> Dataset:
    assert apply(dataset, BEFORE).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, '5', 'x', '2024-01-02'), (2, '-7', 'y', NULL)")
    return dataset


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    return filled(dataset)


@pytest.fixture
def on_postgres(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    return filled(new_dataset("postgresql", tmp_path, postgres_url))


def apply(dataset: Dataset, schema: Schema, meanwhile: Callable[[], object] = lambda: None, **asked: bool) -> Any:
    """Apply a schema; something else happens between what is shown and what is run."""

    def agree(_: Any) -> bool:
        meanwhile()
        return True

    return migrated_datasets.apply(dataset, bump(schema), agree=agree, **asked)


def kinds(dataset: Dataset) -> dict[str, str]:
    from schemactl.destinations import DESTINATIONS

    found = DESTINATIONS[dataset.kind].read_catalogue(dataset.url).schema.tables["orders"].columns
    return {name: str(each.data_type) for name, each in found.items()}


@pytest.mark.parametrize("is_step_by_step", [False, True])
def test_all_of_them_are_counted_with_examples_and_nothing_is_changed(
    dataset: Dataset, *, is_step_by_step: bool
) -> None:
    before = kinds(dataset)
    rows = "INSERT INTO @.orders VALUES (3, 'five', NULL, 'noon'), (4, '6', NULL, 'night')"

    report = apply(dataset, AFTER, lambda: dataset.sql(rows), is_step_by_step=is_step_by_step)

    assert report.outcome is Outcome.REFUSED
    assert {each.kind for each in report.planned.blockers} == {BlockerKind.UNFIT}
    steps = [each.step for each in report.planned.plan.steps]
    counted = {(type(steps[each.number - 1]), each.count): each.examples for each in report.planned.counted}
    assert {key for key, _ in counted.items() if key[0] is ChangeType} == {(ChangeType, 1), (ChangeType, 2)}
    assert (SetNotNull, 2) in counted
    assert counted[ChangeType, 1] == ('"five"',)
    assert set(counted[ChangeType, 2]) == {'"noon"', '"night"'}
    messages = [each.message for each in report.planned.blockers]
    assert "1 value of `orders.amount` would not survive" in messages
    assert kinds(dataset) == before
    assert dataset.sql("SELECT count(*) FROM @.orders") == [(4,)]


def test_postgresql_counts_the_values_of_a_retype_only_where_its_statement_has_failed(
    on_postgres: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[type] = []
    real = SqlMigration.unfit

    def unfit(self: SqlMigration[Any], step: Any, *names: Any) -> Any:
        if not self.is_read_only:
            asked.append(type(step))
        return real(self, step, *names)

    monkeypatch.setattr(SqlMigration, "unfit", unfit)

    assert apply(on_postgres, AFTER).outcome is Outcome.DONE
    assert asked == [SetNotNull]

    assert kinds(on_postgres)["amount"] == "bigint"
    asked.clear()
    back = schema_of(ID, column("amount", "bool"), column("note", nullable=False), column("paid"), before=AFTER)
    on_postgres.sql("UPDATE @.orders SET amount = 1")
    report = apply(on_postgres, back, lambda: on_postgres.sql("UPDATE @.orders SET amount = 2 WHERE id = 2"))
    assert report.outcome is Outcome.REFUSED
    assert [each.examples for each in report.planned.counted] == [('"2"',)]
    assert ChangeType in asked
    assert kinds(on_postgres)["amount"] == "bigint"


def test_a_retype_that_fails_for_another_reason_is_reported_as_it_failed(on_postgres: Dataset) -> None:
    before = kinds(on_postgres)
    view = "CREATE VIEW @.seen AS SELECT amount FROM @.orders"

    with pytest.raises(DestinationError, match="used by a view"):
        apply(on_postgres, AFTER, lambda: on_postgres.sql(view))

    assert kinds(on_postgres) == before


def test_a_value_that_is_mended_before_it_is_counted_leaves_what_the_statement_said(
    on_postgres: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SqlMigration._roll_back

    def mended(self: SqlMigration[Any]) -> None:
        real(self)
        on_postgres.sql("UPDATE @.orders SET amount = '6' WHERE id = 2")

    monkeypatch.setattr(SqlMigration, "_roll_back", mended)

    with pytest.raises(DestinationError, match="a value does not survive: six"):
        apply(on_postgres, AFTER, lambda: on_postgres.sql("UPDATE @.orders SET amount = 'six' WHERE id = 2"))


def test_a_lost_connection_is_reported_as_such(on_postgres: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SqlMigration.run

    def cut(self: SqlMigration[Any], step: Any, statements: Any) -> None:
        if isinstance(step, ChangeType):
            pid = self.database.query("SELECT pg_backend_pid()")[0][0]
            on_postgres.sql(f"SELECT pg_terminate_backend({pid})")
        real(self, step, statements)

    before = kinds(on_postgres)
    monkeypatch.setattr(SqlMigration, "run", cut)
    with pytest.raises(DestinationError, match="terminat"):
        apply(on_postgres, AFTER)
    assert kinds(on_postgres) == before
