"""A retype behind a rename of its table or column needs no guard in DuckDB where the look finds all plain.

PostgreSQL gives the same by its guarded statement.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import ID, Dataset, apply, column, new_dataset, schema_of, undo

from schemactl.destinations._migration.session import SqlMigration
from schemactl.migration.reports import Outcome
from schemactl.migration.steps import ChangeType, RenameColumn, RenameTable, Step
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema, Table

pytestmark = pytest.mark.destinations

BEFORE = schema_of(ID, column("amount"), column("note"), column("paid"))


@pytest.fixture(params=["duckdb", "postgresql"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    server = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    made = new_dataset(request.param, tmp_path, server)
    assert apply(made, BEFORE).outcome is Outcome.DONE
    made.sql("INSERT INTO @.orders VALUES (1, '5', '1.5', '2024-01-02'), (2, '-7', NULL, NULL)")
    return made


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Step, bool]]:
    """The steps that were run, and whether without a guard and without dlt's coercion."""
    seen: list[tuple[Step, bool]] = []
    real = SqlMigration.run

    def run(self: SqlMigration[Any], step: Step, statements: Any) -> None:
        is_guarded = any("_schemactl_coerced" in each or "does not survive" in each for each in statements)
        seen.append((step, not is_guarded))
        real(self, step, statements)

    monkeypatch.setattr(SqlMigration, "run", run)
    return seen


def renamed() -> Schema:
    """All columns get other names and types, and the table another name."""
    orders = schema_of(
        ID,
        column("sum", "bigint", **{"x-renamed-from": "amount"}),
        column("rate", "double", **{"x-renamed-from": "note"}),
        column("day", "date", **{"x-renamed-from": "paid"}),
        before=BEFORE,
    )
    made = orders.tables["orders"]
    sales = Table("sales", made.columns, {**made.properties, "resource": "sales", "x-renamed-from": "orders"})
    others = {name: table for name, table in orders.tables.items() if name != "orders"}
    return bump(replace(orders, tables={**others, "sales": sales}))


def test_behind_renames_of_table_and_columns_all_retypes_are_quick(
    dataset: Dataset, known: list[tuple[Step, bool]]
) -> None:
    assert apply(dataset, renamed()).outcome is Outcome.DONE

    assert [type(step) for step, _ in known][:4] == [RenameTable, RenameColumn, RenameColumn, RenameColumn]
    retypes = {step.after.name: is_known for step, is_known in known if isinstance(step, ChangeType)}
    assert retypes == dict.fromkeys(("sum", "rate", "day"), dataset.kind == "duckdb")
    rows = 'SELECT sum, rate, CAST("day" AS VARCHAR) FROM @.sales ORDER BY id'
    assert dataset.sql(rows) == [(5, 1.5, "2024-01-02"), (-7, None, None)]


def test_behind_a_rename_an_odd_value_is_converted_with_a_guard(
    dataset: Dataset, known: list[tuple[Step, bool]]
) -> None:
    dataset.sql("INSERT INTO @.orders VALUES (3, ' 1_000 ', NULL, '2024-02-03')")
    wanted = schema_of(
        ID,
        column("sum", "bigint", **{"x-renamed-from": "amount"}),
        column("note"),
        column("day", "date", **{"x-renamed-from": "paid"}),
        before=BEFORE,
    )

    assert apply(dataset, wanted).outcome is Outcome.DONE

    retypes = {step.after.name: is_known for step, is_known in known if isinstance(step, ChangeType)}
    assert retypes == {"sum": False, "day": dataset.kind == "duckdb"}
    assert dataset.sql("SELECT sum FROM @.orders ORDER BY id") == [(5,), (-7,), (1000,)]


def shortened(dataset: Dataset) -> None:
    """Bring the dataset to a schema of numbers, and then to one of texts under other names."""
    numbers = schema_of(ID, column("amount", "bigint"), column("note", "double"), column("paid"), before=BEFORE)
    texts = schema_of(ID, column("sum", **{"x-renamed-from": "amount"}), column("note"), column("paid"), before=numbers)
    assert apply(dataset, numbers).outcome is Outcome.DONE
    assert apply(dataset, texts).outcome is Outcome.DONE


def test_an_undo_needs_no_guard_where_a_look_finds_all_plain(dataset: Dataset, known: list[tuple[Step, bool]]) -> None:
    shortened(dataset)
    known.clear()

    assert undo(dataset).outcome is Outcome.DONE

    retypes = {step.after.name: is_known for step, is_known in known if isinstance(step, ChangeType)}
    assert retypes == dict.fromkeys(("sum", "note"), dataset.kind == "duckdb")
    assert dataset.sql("SELECT amount, note FROM @.orders ORDER BY id") == [(5, 1.5), (-7, None)]


def test_an_undo_looks_again_and_keeps_to_what_was_loaded_since(
    dataset: Dataset, known: list[tuple[Step, bool]]
) -> None:
    shortened(dataset)
    dataset.sql("INSERT INTO @.orders VALUES (3, ' 1_000 ', NULL, '2024-02-03')")
    known.clear()

    assert undo(dataset).outcome is Outcome.DONE

    retypes = {step.after.name: is_known for step, is_known in known if isinstance(step, ChangeType)}
    assert retypes == {"sum": False, "note": dataset.kind == "duckdb"}
    assert dataset.sql("SELECT amount FROM @.orders ORDER BY id") == [(5,), (-7,), (1000,)]


def test_an_undo_is_refused_where_what_was_loaded_since_does_not_fit(dataset: Dataset) -> None:
    shortened(dataset)
    dataset.sql("INSERT INTO @.orders VALUES (3, 'many', NULL, NULL)")

    report = undo(dataset)

    assert report.outcome is Outcome.REFUSED
    assert dataset.sql("SELECT sum FROM @.orders ORDER BY id") == [("5",), ("-7",), ("many",)]
