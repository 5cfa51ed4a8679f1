"""The facts that each kind of step owns: its effect, its undo and its names agree with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from schemactl.migration import steps
from schemactl.migration.abilities import Abilities
from schemactl.migration.effects import place_before
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.migration.ways import Risk, Way
from schemactl.schema.types import Column, Table

ID = Column("id", {"data_type": "bigint", "nullable": False})
KEY = Column("key", {"data_type": "bigint", "nullable": False, "primary_key": True})
NAME = Column("name", {"data_type": "text", "unique": True, "description": "a name"})
AMOUNT = Column("amount", {"data_type": "text"})
NEW_AMOUNT = Column("amount__new_1", {"data_type": "bigint"})
ORDERS = Table("orders", {column.name: column for column in (ID, KEY, NAME, AMOUNT, NEW_AMOUNT)}, {"description": "x"})
WITHOUT_KEY = replace(
    ORDERS, columns={**ORDERS.columns, "key": Column("key", {"data_type": "bigint", "nullable": False})}
)
BACKFILL = steps.Backfill("orders", AMOUNT, NEW_AMOUNT)
SWAP = steps.SwapColumns(BACKFILL, "amount__before_1")

SAMPLES: list[tuple[steps.Step, Table | None]] = [
    (steps.CreateTable(ORDERS), None),
    (steps.CreateTable(ORDERS, "_schemactl_old_1_orders"), None),
    (steps.DropTable(ORDERS), ORDERS),
    (steps.DropTable(ORDERS, "_schemactl_old_1_orders"), ORDERS),
    (steps.RenameTable("orders", "sales"), ORDERS),
    (steps.DescribeTable("orders", {"": "x", "name": "a name"}, {"": None, "name": "another"}), ORDERS),
    (steps.AddColumn("orders", Column("note", {"data_type": "text"})), ORDERS),
    (steps.DropColumn("orders", NAME), ORDERS),
    (steps.RenameColumn("orders", "name", "title"), ORDERS),
    (steps.ChangeType("orders", AMOUNT, Column("amount", {"data_type": "bigint"})), ORDERS),
    (BACKFILL, ORDERS),
    (steps.FoldVariant("orders", NAME, AMOUNT), ORDERS),
    (steps.UnfoldVariant("orders", NAME, AMOUNT), ORDERS),
    (steps.FillColumn("orders", AMOUNT, "0"), ORDERS),
    (steps.SetNotNull("orders", AMOUNT), ORDERS),
    (steps.DropNotNull("orders", ID), ORDERS),
    (steps.AddUnique("orders", "amount"), ORDERS),
    (steps.DropUnique("orders", "name"), ORDERS),
    (steps.AddPrimaryKey("orders", ("id", "key")), WITHOUT_KEY),
    (steps.DropPrimaryKey("orders", ("key",)), ORDERS),
    (steps.Prepare(BACKFILL, steps.Phase.START_SYNC), ORDERS),
    (SWAP, ORDERS),
    (steps.RestoreColumn(SWAP), SWAP.apply_to(ORDERS)),
]

each_sample = pytest.mark.parametrize(
    ("step", "table"), SAMPLES, ids=[f"{type(step).__name__}-{index}" for index, (step, _) in enumerate(SAMPLES)]
)


def test_every_kind_of_step_has_a_sample() -> None:
    assert {type(step) for step, _ in SAMPLES} == set(get_args(steps.Step))


@each_sample
def test_the_undo_of_a_step_restores_its_table(step: steps.Step, table: Table | None) -> None:
    if not step.undo.is_possible:
        assert step.undo.note
        assert step.undo.steps == ()
        return
    restored = step.apply_to(table)
    for undo_step in step.undo.steps:
        restored = undo_step.apply_to(restored)
    assert restored == table


@each_sample
def test_a_step_in_the_names_that_it_has_is_the_same_step(step: steps.Step, table: Table | None) -> None:
    assert step.with_names(step.table_name, step.column_before or "") == step
    renamed = step.with_names("other", step.column_before or "")
    assert renamed.table_name == "other"
    assert table is None or renamed.apply_to(replace(table, name="other")) != table


@each_sample
def test_each_column_after_a_step_is_traced_to_one_before_it(step: steps.Step, table: Table | None) -> None:
    after = step.apply_to(table)
    for column in after.columns if after is not None else ():
        assert after is not None
        first_place = place_before((after.name, column), [step])
        if first_place is None:
            assert table is None or column not in table.columns
        else:
            assert table is not None
            assert first_place[0] == table.name
            assert first_place[1] in table.columns


@each_sample
def test_a_step_that_finds_no_table_does_not_fit(step: steps.Step, table: Table | None) -> None:
    wrong_table = None if table is not None else ORDERS
    with pytest.raises(StepDoesNotFit, match=r"there is no table `orders`|table `orders` already exists"):
        step.apply_to(wrong_table)


@each_sample
def test_a_title_names_the_table_and_a_way_follows_from_the_destination(step: steps.Step, table: Table | None) -> None:
    assert "`orders" in step.title
    online = Abilities(is_online=True, describe_table=Way.IN_PLACE)
    assert step.way(online) is not Way.NONE
    loses = step.risk(step.way(online), None) is Risk.LOSES_DATA
    assert loses is isinstance(step, steps.DropTable | steps.DropColumn | steps.UnfoldVariant)


def test_an_undo_that_a_destination_cannot_run_is_impossible() -> None:
    step = steps.AddUnique("orders", "amount")
    undo = step.undo_at(Abilities(drop_unique=Way.NONE))
    assert (undo.steps, undo.is_possible) == ((), False)
    assert undo.note == "the destination does not support its undo"
    assert step.undo_at(Abilities()) == step.undo
