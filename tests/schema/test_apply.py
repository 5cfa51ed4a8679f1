from __future__ import annotations

import pytest
from growth import LINEAR, growth

from schemactl.schema.apply import apply
from schemactl.schema.changes import (
    ABSENT,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    HeaderChanged,
    NullabilityChanged,
    SettingChanged,
    TableAdded,
    TablePropertyChanged,
    TableRemoved,
    TableRenamed,
)
from schemactl.schema.types import Column, Schema, Table

NOTE = Column("note", {"data_type": "text"})


def shop(*tables):
    return Schema(name="shop", tables={table.name: table for table in tables})


def orders(*columns, name="orders", **properties):
    return Table(name, {name: Column(name) for name in columns}, properties)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (TableRemoved(orders(name="carts")), "carts"),
        (TableRenamed("carts", "baskets"), "carts"),
        (TablePropertyChanged("carts", "description", ABSENT, "a"), "carts"),
        (ColumnAdded("carts", NOTE), "carts"),
        (ColumnRemoved("orders", NOTE), "note"),
        (ColumnRenamed("orders", "note", "remark"), "note"),
        (ColumnRetyped("orders", "note", {}, {"data_type": "text"}), "note"),
        (NullabilityChanged("orders", "note", ABSENT, False), "note"),
        (ColumnPropertyChanged("orders", "note", "unique", ABSENT, True), "note"),
        (ColumnsReordered("orders", ("id",), ("note", "id")), "note"),
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change, missing):
    with pytest.raises(KeyError, match=rf"there is no .*`{missing}`"):
        apply(shop(orders("id")), [change])


@pytest.mark.parametrize(
    "change",
    [
        TableAdded(orders(name="carts")),
        TableRenamed("orders", "carts"),
        ColumnAdded("orders", Column("id")),
        ColumnRenamed("orders", "total", "id"),
    ],
)
def test_nothing_is_overwritten(change):
    with pytest.raises(KeyError, match="already"):
        apply(shop(orders("id", "total"), orders(name="carts")), [change])


def test_the_schema_itself_stays_as_it_is():
    before = Schema(name="shop", tables={"orders": orders("id", "note")}, settings={"detections": []})
    changes = (
        SettingChanged("detections", [], ABSENT),
        HeaderChanged("x-owner", ABSENT, "me"),
        TablePropertyChanged("orders", "description", ABSENT, "a"),
        ColumnPropertyChanged("orders", "id", "unique", ABSENT, True),
        ColumnRemoved("orders", Column("note")),
    )
    after = apply(before, changes)
    assert after == Schema(
        name="shop",
        tables={"orders": Table("orders", {"id": Column("id", {"unique": True})}, {"description": "a"})},
        extensions={"x-owner": "me"},
    )
    assert before == Schema(name="shop", tables={"orders": orders("id", "note")}, settings={"detections": []})


def test_a_renamed_column_keeps_its_place_and_an_added_one_is_last():
    changes = (ColumnRenamed("orders", "a", "z"), ColumnAdded("orders", Column("a")), ColumnRemoved("orders", NOTE))
    after = apply(shop(orders("a", "note", "b")), changes)
    assert [*after.tables["orders"].columns] == ["z", "b", "a"]
    assert [column.name for column in after.tables["orders"].columns.values()] == ["z", "b", "a"]


def test_tables_nested_in_a_renamed_one_name_their_new_parent():
    nested = orders("value", name="orders__items", parent="orders")
    deeper = orders("value", name="orders__items__tags", parent="orders__items")
    after = apply(shop(orders("id"), nested, deeper), [TableRenamed("orders", "sales"), TableRenamed("sales", "deals")])
    parents = {name: table.parent for name, table in after.tables.items()}
    assert parents == {"deals": None, "orders__items": "deals", "orders__items__tags": "orders__items"}


def test_only_tables_that_are_nested_at_the_time_of_a_rename_take_part_in_it():
    nested = orders("value", name="items", parent="orders")
    changes = (
        TablePropertyChanged("items", "parent", "orders", "carts"),
        TableAdded(orders("value", name="lines", parent="orders")),
        TableRenamed("orders", "sales"),
    )
    after = apply(shop(orders("id"), orders("id", name="carts"), nested), changes)
    assert {name: table.parent for name, table in after.tables.items()} == {
        "carts": None,
        "items": "carts",
        "lines": "sales",
        "sales": None,
    }


def test_changes_take_time_in_proportion_to_their_number_wherever_they_are():
    assert growth(apply_everywhere, 1000) < LINEAR


def apply_everywhere(count: int):
    names = [f"c{number}" for number in range(count)]
    wide = [ColumnRenamed("orders", name, f"{name}_") for name in names]
    hints = [TablePropertyChanged("orders", f"x-{name}", ABSENT, 1) for name in names]
    many = shop(orders(*names), *(orders(name=name, parent="orders") for name in names))
    moved = [TableRenamed(name, f"{name}_") for name in names]
    after = apply(many, (*wide, *hints, *moved, TableRenamed("orders", "sales")))
    assert after.tables["c7_"].parent == "sales"
    assert list(after.tables["sales"].columns)[-1] == f"c{count - 1}_"
