"""Whatever is renamed together, the steps move each column to where ``x-renamed-from`` says that it goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from stated_renames import Renames, stated_renames

from schemactl.destinations import duckdb
from schemactl.destinations.duckdb.migration import ABILITIES
from schemactl.flows.migrate.drift import misplaced_after, origin_of
from schemactl.migration.effects import apply_to_model
from schemactl.migration.planner import plan_steps
from schemactl.migration.reports import Misplaced
from schemactl.migration.steps import RenameColumn, RenameTable
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table


def marked(case: Renames) -> dict[str, Table]:
    """The tables before, where each column says where it stood."""
    return {
        name: Table(name, {each: Column(each, {"x-stood": (name, each)}) for each in table.columns})
        for name, table in case.before.tables.items()
        if not name.startswith("_")
    }


def sales(**origins: str) -> Schema:
    """A schema whose table `sales` was called `orders`; its columns had these names."""
    columns = {name: Column(name, {"data_type": "text", "x-renamed-from": origin}) for name, origin in origins.items()}
    table = Table("sales", columns, {"resource": "sales", "x-renamed-from": "orders"})
    return new_schema("shop").with_table(table)


ORDERS = new_schema("shop").with_table(
    Table("orders", {name: Column(name, {"data_type": "text"}) for name in ("a", "b")}, {"resource": "orders"})
)


@pytest.mark.parametrize(
    "origins", [{"a": "b", "b": "a"}, {"b": "a", "c": "b"}], ids=["two columns swap their names", "a chain"]
)
def test_columns_take_each_others_names_in_a_table_that_gets_another_name(origins: dict[str, str]) -> None:
    found = plan_steps(ORDERS, sales(**origins), ORDERS, stored=duckdb.stored, abilities=ABILITIES)
    steps = [planned.step for planned in found.steps]
    assert {
        (name, column): origin_of((name, column), steps) for name, column in [("sales", each) for each in origins]
    } == {("sales", name): ("orders", origin) for name, origin in origins.items()}
    assert not any(planned.is_destructive for planned in found.steps)
    assert found.notes == ()


def test_a_rename_that_the_steps_did_not_make_is_found_and_goes_on_with_its_column() -> None:
    after = sales(a="b", b="a")
    found = misplaced_after({}, ORDERS, after, [RenameTable("orders", "sales")])
    assert found == {
        ("sales", "a"): Misplaced("sales", "a", "b"),
        ("sales", "b"): Misplaced("sales", "b", "a"),
    }
    for stated in ({}, {"x-renamed-from": "a"}):
        later = after.with_table(Table("sales", {"c": Column("c", {"data_type": "text", **stated})}))
        carried = misplaced_after(found, after, later, [RenameColumn("sales", "a", "c")])
        assert carried == {("sales", "c"): Misplaced("sales", "c", "b")}


def test_values_that_are_moved_later_are_found_no_more() -> None:
    found = {("sales", "a"): Misplaced("sales", "a", "b"), ("sales", "b"): Misplaced("sales", "b", "a")}
    swap = [RenameColumn("sales", "a", "x"), RenameColumn("sales", "b", "a"), RenameColumn("sales", "x", "b")]
    assert misplaced_after(found, sales(a="b", b="a"), sales(a="b", b="a"), swap) == {}


def test_tables_that_wait_for_their_first_rows_have_no_misplaced_values() -> None:
    assert misplaced_after({}, ORDERS, sales(a="b", b="a"), []) == {}


@given(stated_renames())
def test_any_set_of_renames_moves_each_column_as_stated(case: Renames) -> None:
    found = plan_steps(case.before, case.after, case.before, stored=duckdb.stored, abilities=ABILITIES)
    tables = marked(case)
    steps = [planned.step for planned in found.steps]
    apply_to_model(tables, steps)
    stood = {
        (name, column): table.columns[column].properties.get("x-stood")
        for name, table in tables.items()
        for column in table.columns
        if (name, column) in case.origins
    }
    assert stood == case.origins
    assert misplaced_after({}, case.before, case.after, steps) == {}
