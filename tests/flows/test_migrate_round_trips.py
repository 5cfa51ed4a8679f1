"""How many statements a migration sends to a PostgreSQL server, which may be far away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from migrated_datasets import ID, Dataset, apply, column, new_dataset, schema_of

from schemactl.migration.reports import Outcome

pytestmark = pytest.mark.destinations

MOST_STATEMENTS = 30
BEFORE = schema_of(ID, column("amount"), column("note"))
AFTER = schema_of(ID, column("amount", "bigint"), column("note"), before=BEFORE)


@pytest.fixture
def dataset(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    dataset = new_dataset("postgresql", tmp_path, postgres_url)
    assert apply(dataset, BEFORE).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, '5', 'first'), (2, '-7', NULL)")
    return dataset


@pytest.fixture
def statements(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The texts that are sent to the server with their values; each is a round trip."""
    sent: list[tuple[str, Any]] = []

    def recorded(method: Any) -> Any:
        def record(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
            text = query.decode() if isinstance(query, bytes) else str(query)
            sent.append((text, arguments[0] if arguments else None))
            return method(self, query, *arguments, **options)

        return record

    for name in ("execute", "executemany", "copy"):
        monkeypatch.setattr(psycopg.Cursor, name, recorded(getattr(psycopg.Cursor, name)))
    return sent


def test_a_change_of_type_takes_few_round_trips(dataset: Dataset, statements: list[tuple[str, Any]]) -> None:
    assert apply(dataset, AFTER).outcome is Outcome.DONE

    assert len(statements) <= MOST_STATEMENTS
    assert dataset.sql("SELECT amount FROM @.orders ORDER BY id") == [(5,), (-7,)]


def test_the_whole_catalog_is_read_once(dataset: Dataset, statements: list[tuple[str, Any]]) -> None:
    dataset.sql("CREATE TABLE @.customers (id bigint)")

    assert apply(dataset, AFTER).outcome is Outcome.DONE

    readings = [values[1] for text, values in statements if "pg_catalog.col_description" in text]
    before_plan, under_lock, after_last_step = readings
    assert before_plan is None
    assert "orders" in under_lock
    assert "customers" not in under_lock
    assert {name for name in after_last_step if not name.startswith("_")} == {"orders"}


def test_a_plan_without_steps_reads_the_catalog_and_the_ledger_alone(
    dataset: Dataset, statements: list[tuple[str, Any]]
) -> None:
    assert apply(dataset, BEFORE).outcome is Outcome.NOTHING

    # The catalog, the versions, the last schema, and the runs.
    assert len(statements) == 4
