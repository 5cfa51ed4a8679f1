"""A plan reports what hangs on a column whose name another one takes: it goes with the old one."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated_datasets import ID, Dataset, apply, column, put, schema_of

from schemactl.cli.app import run
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

FIRST = schema_of(ID, column("amount"))
NARROWED = schema_of(ID, column("amount", "bigint"), before=FIRST)
RENAMED = schema_of(ID, column("sum", "bigint", **{"x-renamed-from": "amount"}), before=FIRST)
EXPAND = PlanOptions(on_unfit=OnUnfit.EXPAND)


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    assert apply(dataset, FIRST).outcome is Outcome.DONE
    return dataset


def reported(dataset: Dataset, schema: Schema) -> list[Note]:
    request = PlanRequest(put(schema, "wanted.yaml"), dataset.url, Path("schemas"), EXPAND)
    return [note for note in plan_migration(request).plan.notes if note.kind is NoteKind.STAYS]


def test_a_column_alone_leaves_nothing_behind(dataset: Dataset) -> None:
    assert reported(dataset, NARROWED) == []


@pytest.mark.parametrize("schema", [NARROWED, RENAMED])
def test_what_stays_with_the_old_column_is_reported(dataset: Dataset, schema: Schema) -> None:
    dataset.sql("CREATE VIEW @.seen AS SELECT amount FROM orders".replace("orders", dataset.qualified))
    if dataset.kind == "duckdb":
        dataset.sql("ALTER TABLE @.orders ALTER amount SET DEFAULT '5'")
    else:
        dataset.sql(f"CREATE INDEX {'@.' if dataset.kind == 'sqlite' else ''}quick ON {indexed(dataset)} (amount)")
    (note,) = reported(dataset, schema)
    name = "amount" if schema is NARROWED else "sum"
    assert (note.table, note.column) == ("orders", name)
    assert f"is renamed to `{name}__before_1`" in note.message
    parts = ("its default",) if dataset.kind == "duckdb" else ("seen", "quick")
    assert all(part in note.message for part in parts)
    assert apply(dataset, schema, EXPAND).outcome is Outcome.DONE
    if dataset.kind == "duckdb":
        assert dataset.sql("SELECT column_name FROM duckdb_columns() WHERE column_default IS NOT NULL") == [
            (f"{name}__before_1",)
        ]


def indexed(dataset: Dataset) -> str:
    return "orders" if dataset.kind == "sqlite" else dataset.qualified


def test_what_stays_is_shown_and_kept_in_a_plans_file(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    made = "COMMENT ON COLUMN @.orders.amount IS 'what was paid'"
    if dataset.kind == "sqlite":
        made = "CREATE TRIGGER @.seen AFTER UPDATE ON orders BEGIN SELECT new.amount; END"
    dataset.sql(made)
    plan = ("migrate", "plan", put(NARROWED, "wanted.yaml"), "--to", dataset.url, "--on-unfit", "expand")
    assert run([*plan, "--out", "kept.plan.json"]) == 0
    assert "and keeps its dependents:" in " ".join(capsys.readouterr().out.split())
    assert run(["migrate", "apply", "kept.plan.json", "--to", dataset.url, "--yes", "--quiet"]) == 0
