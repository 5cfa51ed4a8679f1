"""Steps next to each other that copy their table do so once, forth and back, and leave what they would one by one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, put, schema_of

from schemactl.destinations import DESTINATIONS
from schemactl.destinations.duckdb._session import DuckDbSession
from schemactl.destinations.sqlite._session import SqliteDatabase
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.migrate.status import StatusRequest, find_status
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import ApplyReport, Outcome
from schemactl.schema.types import Schema

BEFORE = schema_of(
    ID,
    column("code", unique=True),
    column("tag", unique=True),
    column("amount"),
    column("note", nullable=False),
    column("memo"),
    column("extra"),
)
AFTER = schema_of(
    ID,
    column("code"),
    column("tag"),
    column("amount", "bigint"),
    column("note", unique=True),
    column("memo", nullable=False, unique=True),
    column("extra"),
    column("paid", "date"),
    column("seen", "date"),
    before=BEFORE,
)
ROWS = [(1, "a", "p", "5", "n1", "m1"), (2, "b", "q", None, "n2", "m2"), (3, None, "r", "-7", "n3", "m3")]
COPIES = {"duckdb": (2, 2), "sqlite": (2, 2)}
"""How often the table is copied, forth and back."""
ALONE = {"duckdb": 4, "sqlite": 5}
"""How often it is copied forth where each step is kept by its own."""


@pytest.fixture(params=COPIES)
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset(request.param, tmp_path)
    assert apply(made, BEFORE).outcome is Outcome.DONE
    for row in ROWS:
        listed = ", ".join("NULL" if value is None else repr(value) for value in row)
        made.sql(f"INSERT INTO @.orders VALUES ({listed}, 'e')")
    return made


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that made a table for a copy."""
    seen: list[str] = []
    for kind in (DuckDbSession, SqliteDatabase):

        def execute(self: Any, statement: str, real: Any = kind.execute) -> Any:
            if statement.startswith("CREATE TABLE") and "_schemactl_copy_" in statement:
                seen.append(statement)
            return real(self, statement)

        monkeypatch.setattr(kind, "execute", execute)
    return seen


def apply(dataset: Dataset, schema: Schema, *, is_step_by_step: bool = False) -> ApplyReport:
    options = PlanOptions(compares_unique=True)
    request = ApplyRequest(put(schema, "wanted.yaml"), dataset.url, Path("schemas"), options)
    return apply_migration(
        ApplyRequest(request.reference, request.to, request.schemas, options, is_step_by_step=is_step_by_step),
        lambda _: True,
        lambda: nullcontext(None),
    )


def told(dataset: Dataset) -> dict[str, tuple[Any, ...]]:
    columns = DESTINATIONS[dataset.kind].read_catalogue(dataset.url).schema.tables["orders"].columns
    return {
        name: (each.data_type, each.nullable, bool(each.properties.get("unique"))) for name, each in columns.items()
    }


def rows(dataset: Dataset) -> list[tuple[Any, ...]]:
    return dataset.sql("SELECT id, code, tag, amount, note, memo, extra FROM @.orders ORDER BY id")


def test_a_table_is_copied_once_for_all_neighbours_forth_and_back(dataset: Dataset, copies: list[str]) -> None:
    before, stored = told(dataset), rows(dataset)

    assert apply(dataset, AFTER).outcome is Outcome.DONE

    assert len(copies) == COPIES[dataset.kind][0]
    assert {name: unique for name, (_, _, unique) in told(dataset).items() if unique} == {"note": True, "memo": True}
    assert [row[3] for row in rows(dataset)] == [5, None, -7]
    copies.clear()
    request = RollbackRequest("shop", dataset.url)
    assert rollback(request, lambda _: True, lambda: nullcontext(None)).outcome is Outcome.DONE
    assert len(copies) == COPIES[dataset.kind][1]
    assert (told(dataset), rows(dataset)) == (before, stored)
    assert find_status(StatusRequest(None, dataset.url, Path("schemas"), PlanOptions())).is_settled


def test_steps_done_by_one_copy_leave_what_each_by_its_own_leaves(dataset: Dataset, copies: list[str]) -> None:
    assert apply(dataset, AFTER, is_step_by_step=True).outcome is Outcome.DONE
    alone, one_by_one = (told(dataset), rows(dataset)), len(copies)
    request = RollbackRequest("shop", dataset.url)
    assert rollback(request, lambda _: True, lambda: nullcontext(None)).outcome is Outcome.DONE
    copies.clear()

    assert apply(dataset, AFTER).outcome is Outcome.DONE

    assert (told(dataset), rows(dataset)) == alone
    assert (one_by_one, len(copies)) == (ALONE[dataset.kind], COPIES[dataset.kind][0])


def test_a_value_that_does_not_survive_the_copy_leaves_all_as_it_was(dataset: Dataset) -> None:
    dataset.sql("INSERT INTO @.orders VALUES (4, 'd', 's', 'many', 'n4', 'm4', 'e')")
    before, stored = told(dataset), rows(dataset)

    report = apply(dataset, AFTER)

    assert report.outcome is Outcome.REFUSED
    assert (told(dataset), rows(dataset)) == (before, stored)


def test_indexes_triggers_and_views_of_sqlite_stay_and_none_is_of_a_column_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    assert apply(made, BEFORE).outcome is Outcome.DONE
    made.sql("INSERT INTO orders VALUES (1, 'a', 'p', '5', 'n', 'm', 'e')")
    made.sql("CREATE INDEX theirs ON orders (extra, id)")
    made.sql("CREATE VIEW seen AS SELECT id FROM orders")
    made.sql("CREATE TABLE log (id)")
    made.sql("CREATE TRIGGER noted AFTER INSERT ON orders BEGIN INSERT INTO log VALUES (new.id); END")

    assert apply(made, AFTER).outcome is Outcome.DONE

    names = {row[0] for row in made.sql("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger', 'view')")}
    assert {"theirs", "noted", "seen"} <= names
    made.sql("INSERT INTO orders (id, note, memo) VALUES (2, 'o', 'l')")
    assert made.sql("SELECT id FROM log") == [(2,)]
    assert sorted(made.sql("SELECT id FROM seen")) == [(1,), (2,)]
