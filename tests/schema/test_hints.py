"""Hints from the command line and from files."""

from __future__ import annotations

import re
from typing import Any

import pytest

from schemactl.errors import InputError
from schemactl.formats.dlt import read
from schemactl.schema.hints import ColumnHint, Hints, parse_column, with_hints
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


@pytest.mark.parametrize(
    ("text", "place", "properties"),
    [
        ("id:bigint,primary_key", (None, "id"), {"data_type": "bigint", "primary_key": True, "nullable": False}),
        ("o__l.p:decimal(10,2)", ("o__l", "p"), {"data_type": "decimal", "precision": 10, "scale": 2}),
        ("id: unique, not_null", (None, "id"), {"unique": True, "nullable": False}),
        ("at:timestamp(3),nullable", (None, "at"), {"data_type": "timestamp", "precision": 3, "nullable": True}),
        ("a:text,x-unit=ms,x-pii=true", (None, "a"), {"data_type": "text", "x-unit": "ms", "x-pii": True}),
    ],
)
def test_a_column_is_read(text, place, properties):
    hint = parse_column(text)
    assert ((hint.table, hint.name), hint.properties) == (place, properties)


@pytest.mark.parametrize("text", ["id", ":text", "id:", "id:bigin", "id:decimal(x)", "id:primarykey"])
def test_what_no_column_can_have_is_refused_with_the_nearest(text):
    with pytest.raises(InputError) as reported:
        parse_column(text)
    assert reported.value.hint


def test_hints_are_stated_of_the_root_table_or_the_one_they_name():
    hints = Hints((parse_column("userId:bigint"), parse_column("orders__lines.sku:text")), "merge")
    schema = with_hints(new_schema("shop"), hints, "orders")
    assert schema.tables["orders"].columns["user_id"].properties == {"data_type": "bigint"}
    assert schema.tables["orders"].properties == {"write_disposition": "merge", "resource": "orders"}
    assert schema.tables["orders__lines"].columns["sku"].properties == {"data_type": "text"}
    with pytest.raises(InputError, match="`userId` does not name a table"):
        with_hints(new_schema("shop"), hints, None)


@pytest.mark.parametrize("place", ["lines", "orders__lines", "Lines"])
def test_tables_are_nested_in_the_root_table_whether_it_is_named_or_not(place):
    hints = Hints((parse_column(f"{place}.sku:text"), parse_column(f"{place}__tags.value:text")))
    known = new_schema("shop").with_table(Table("orders", {}, {"resource": "orders"}))
    for schema in (new_schema("shop"), known):
        tables = with_hints(schema, hints, "orders").tables
        parents = {name: table.parent for name, table in tables.items() if not name.startswith("_dlt")}
        assert parents == {"orders": None, "orders__lines": "orders", "orders__lines__tags": "orders__lines"}
        assert tables["orders__lines"].columns["sku"].properties == {"data_type": "text"}


def test_a_table_that_stands_by_itself_is_no_nested_one():
    known = new_schema("shop").with_table(Table("lines", {}, {"resource": "lines"}))
    schema = with_hints(known, Hints((parse_column("lines.sku:text"),)), "orders")
    assert schema.tables["lines"].parent is None
    assert "orders__lines" not in schema.tables
    alone = with_hints(new_schema("shop"), Hints((parse_column("lines.sku:text"),)), None)
    assert alone.tables["lines"].parent is None


def test_a_file_adds_to_what_is_known():
    known = new_schema("shop").with_table(Table("orders", {"id": Column("id", {"data_type": "bigint"})}))
    text = "settings: {preferred_types: {at: date}}\ntables: {orders: {columns: {id: {unique: true}, note: {}}}}\n"
    schema = with_hints(known, Hints(schema=read(text, "hints.yaml").schema), "orders")
    assert schema.name == "shop"
    assert schema.settings == {**known.settings, "preferred_types": {"at": "date"}}
    assert schema.tables["orders"].columns["id"].properties == {"data_type": "bigint", "unique": True}
    assert "note" in schema.tables["orders"].columns


def test_another_type_does_not_keep_the_sizes_of_the_one_before():
    decimal = Column("total", {"data_type": "decimal", "precision": 10, "scale": 2, "description": "paid"})
    schema = new_schema("shop").with_table(Table("orders", {"total": decimal}))

    def after(hint: str) -> dict[str, Any]:
        stated = with_hints(schema, Hints((parse_column(hint),)), "orders")
        return dict(stated.tables["orders"].columns["total"].properties)

    assert after("total:text") == {"data_type": "text", "description": "paid"}
    assert after("total:bigint(32)") == {"data_type": "bigint", "precision": 32, "description": "paid"}
    assert after("total:not_null") == {**decimal.properties, "nullable": False}


@pytest.mark.parametrize(("stored", "hint", "stated"), [
    ({"data_type": "text", "precision": 80}, "c:text", {"data_type": "text"}),
    ({"data_type": "text", "precision": 80}, "c:text(20)", {"data_type": "text", "precision": 20}),
    ({"data_type": "text", "precision": 80}, "c:text,not_null", {"data_type": "text", "nullable": False}),
    ({"data_type": "text", "precision": 80}, "c:unique", {"data_type": "text", "precision": 80, "unique": True}),
    ({"data_type": "bigint", "precision": 32}, "c:bigint", {"data_type": "bigint"}),
    ({"data_type": "binary", "precision": 16}, "c:binary", {"data_type": "binary"}),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, "c:decimal", {"data_type": "decimal"}),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, "c:decimal(12)", {"data_type": "decimal", "precision": 12}),
    ({"data_type": "timestamp", "precision": 3, "timezone": False}, "c:timestamp",
     {"data_type": "timestamp", "timezone": False}),
])  # fmt: skip
def test_a_type_without_a_size_is_the_type_without_a_size(stored, hint, stated):
    schema = new_schema("shop").with_table(Table("orders", {"c": Column("c", stored)}))
    (column,) = with_hints(schema, Hints((parse_column(hint),)), "orders").tables["orders"].columns.values()
    assert column.properties == stated


def test_hints_of_a_model_or_a_file_keep_the_sizes_that_they_do_not_state():
    stored = Column("c", {"data_type": "text", "precision": 80})
    schema = new_schema("shop").with_table(Table("orders", {"c": stored}))
    file = Hints(schema=new_schema("shop").with_table(Table("orders", {"c": Column("c", {"data_type": "text"})})))
    for hints in (file, Hints((ColumnHint(None, "c", {"data_type": "text"}),))):
        assert with_hints(schema, hints, "orders").tables["orders"].columns["c"] == stored


def test_values_of_an_enum_are_a_list():
    assert parse_column("a:text,x-enum=[open, closed],unique").properties == {
        "data_type": "text", "x-enum": ["open", "closed"], "unique": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("a:bool(3)", "`bool` has no size"),
        ("a:text(3,1)", "`text` has no scale"),
        ("a:decimal(2,10)", "`decimal(2,10)` has a scale larger than its precision"),
        ("a:text,x-enum=open", "`x-enum=open` is not a list of values"),
        ("a:text,x-enum=[open", "`[open` is neither a list nor a mapping"),
    ],
)
def test_sizes_and_values_that_no_column_has_are_refused(stated, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_column(stated)
