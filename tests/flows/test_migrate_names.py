"""Names that change places, and names that differ in case alone, from the plan to the rollback."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.types import Schema

FIRST = schema_of(ID, column("a"), column("b"))
SWAPPED = schema_of(
    ID, column("a", **{"x-renamed-from": "b"}), column("b", "bigint", **{"x-renamed-from": "a"}), before=FIRST
)
UPPER = schema_of(ID, column("A"), column("b"), before=FIRST)


@pytest.fixture(params=["duckdb", "sqlite"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset(request.param, tmp_path)
    apply(made, FIRST)
    made.sql("INSERT INTO @.orders (id, a, b) VALUES (1, '5', 'x')")
    return made


def apply(dataset: Dataset, schema: Schema) -> None:
    request = ApplyRequest(put(schema, "wanted.yaml"), dataset.url, Path("schemas"), PlanOptions())
    done = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    assert done.outcome in (Outcome.DONE, Outcome.NOTHING)


def test_values_follow_names_that_are_swapped(dataset: Dataset) -> None:
    apply(dataset, SWAPPED)
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "x", 5)]
    assert run(["migrate", "plan", "./wanted.yaml", "--to", dataset.url, "--check", "--quiet"]) == 0  # once is enough
    assert run(["migrate", "verify", "./wanted.yaml", "--to", dataset.url, "--quiet"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "5", "x")]


def test_a_name_of_another_case_is_no_drift(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    apply(dataset, UPPER)
    assert run(["migrate", "verify", "./wanted.yaml", "--to", dataset.url]) == 0
    assert run(["migrate", "status", "./wanted.yaml", "--to", dataset.url, "--check"]) == 0
    assert "drift" not in capsys.readouterr().out


def test_a_schema_in_the_ledger_may_hold_any_letters(dataset: Dataset) -> None:
    described = schema_of(ID, column("a", description="Größe, 大きさ"), column("b"), column("größe"), before=FIRST)
    apply(dataset, described)
    apply(dataset, schema_of(ID, column("a"), column("b"), column("größe", "bigint"), before=described))
    assert run(["migrate", "verify", "--to", dataset.url, "--quiet"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert run(["export", dataset.url, "--to", "dlt", "--output", "there.yaml"]) == 0
    assert "大きさ" in Path("there.yaml").read_text()
