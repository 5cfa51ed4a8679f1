"""The declared readers that the steps of a plan break."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.flows.migrate.step_readers import find_step_readers
from schemactl.flows.reader_sources import parse_reader_source
from schemactl.migration.migration_plan import MigrationPlan, Place
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
    Undo,
)
from schemactl.migration.ways import Risk, Way
from schemactl.schema.changes import ColumnsReordered
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

QUERIES = {
    "passes": "select amount from raw.orders",
    "computes": "select amount + 1 from raw.orders",
    "other": "select id from raw.orders where id > 1",
    "fixed": "insert into copies select * from raw.orders",
    "elsewhere": "select amount + 1 from shop.orders",
    "parent": "select id from raw.carts",
}
AMOUNT = Column("amount", {"data_type": "bigint"})
NEW = Column("amount__new", {"data_type": "text"})
ORDERS = Table("orders", {"id": Column("id", {"data_type": "bigint"}), "amount": AMOUNT})
BACKFILL = Backfill("orders", AMOUNT, NEW)

BROKEN: dict[str, tuple[tuple[Step, ...], list[str]]] = {
    "a dropped table": ((DropTable(ORDERS),), ["computes", "fixed", "other", "passes"]),
    "a renamed table": ((RenameTable("orders", "sales"),), ["computes", "fixed", "other", "passes"]),
    "a dropped column": ((DropColumn("orders", AMOUNT),), ["computes", "fixed", "passes"]),
    "a renamed column": ((RenameColumn("orders", "amount", "total"),), ["computes", "fixed", "passes"]),
    "a new column": ((AddColumn("orders", NEW),), ["fixed"]),
    "another type": ((ChangeType("orders", AMOUNT, Column("amount", {"data_type": "text"})),), ["computes", "fixed"]),
    "another column under the name": ((SwapColumns(BACKFILL, "amount__before_1"),), ["computes", "fixed"]),
    "the old column under its name again": ((RestoreColumn(SwapColumns(BACKFILL, "amount__before_1")),),
        ["computes", "fixed"]),
    "new nulls": ((DropNotNull("orders", AMOUNT),), ["computes"]),
    "values that repeat": ((DropUnique("orders", "amount"),), ["computes"]),
    "no key": ((DropPrimaryKey("orders", ("id", "amount")),), ["computes", "other"]),
    "no key of a renamed column": ((RenameColumn("orders", "id", "number"), DropPrimaryKey("orders", ("number",))),
        ["other"]),
    "a column of a new table": ((CreateTable(Table("stock", {})), AddColumn("stock", NEW)), []),
    "a dropped column of a renamed table": ((RenameTable("orders", "sales"), DropColumn("sales", AMOUNT)),
        ["computes", "fixed", "passes"]),
    "another type of a renamed column": (
        (RenameColumn("orders", "amount", "total"), ChangeType("orders", Column("total"), Column("total"))),
        ["computes", "fixed"]),
    "a table that takes a free name": (
        (RenameTable("orders", "sales"), RenameTable("carts", "orders"), DropColumn("orders", ORDERS.columns["id"])),
        ["parent"]),
    "a new table": ((CreateTable(ORDERS),), []),
    "a backfill": ((BACKFILL,), []),
    "a value for nulls": ((FillColumn("orders", AMOUNT, 0),), []),
    "no nulls": ((SetNotNull("orders", AMOUNT),), []),
    "values that are unique": ((AddUnique("orders", "amount"),), []),
}  # fmt: skip


def plan_of(*steps: Step) -> MigrationPlan:
    """Return a plan of a schema that still has all columns; its steps have a reason that says nothing."""
    schema = new_schema("shop").with_table(ORDERS)
    reason = ColumnsReordered("orders", (), ())
    planned = tuple(PlannedStep(step, reason, Way.IN_PLACE, Risk.SAFE, Undo(())) for step in steps)
    return MigrationPlan(Place("duckdb", "duckdb:///x", "raw"), schema.to_dict(), (), "", planned)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, sql in QUERIES.items():
        Path(f"{name}.sql").write_text(sql)


def broken_by_last_step(*steps: Step, source: str = "sql:*.sql") -> list[str]:
    step_readers = find_step_readers((parse_reader_source(source),), plan_of(*steps))
    readers = next((item.readers for item in step_readers if item.number == len(steps)), ())
    return sorted(broken.reader.name.removesuffix(".sql") for broken in readers)


@pytest.mark.parametrize(("steps", "readers"), BROKEN.values(), ids=BROKEN)
def test_a_step_breaks_the_readers_of_what_it_changes(steps: tuple[Step, ...], readers: list[str]) -> None:
    assert broken_by_last_step(*steps) == readers


def test_a_table_that_the_schema_no_longer_has_is_known() -> None:
    assert broken_by_last_step(DropTable(Table("carts", {}))) == ["parent"]


def test_a_source_can_name_another_dataset() -> None:
    assert broken_by_last_step(DropColumn("orders", AMOUNT), source="sql:*.sql?dataset=shop") == ["elsewhere"]
