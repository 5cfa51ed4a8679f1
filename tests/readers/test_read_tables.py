"""The tables that a text mentions."""

from __future__ import annotations

import pytest

from schemactl.readers.tables import ReadTables

TABLES = ReadTables({"orders": (), "orders__items": (), "my-orders": (), "Bestellungen_ä": (), "___": ()}, "raw")

TEXTS = {
    "select * from orders": ("orders",),
    "SELECT * FROM RAW.ORDERS;": ("orders",),
    'select * from "raw"."orders__items"': ("orders__items",),
    "select * from reorders, orders_2, xorders__items": (),
    "select * from `my-orders`": ("orders", "my-orders"),
    "select * from bestellungen_Ä": ("Bestellungen_ä",),
    "select * from `raw.ord*`": ("orders", "orders__items"),
    "select a*b, count(*) from t": (),
    "select * from raw.orders*": ("orders", "orders__items"),
    "select 2*orders__* from t": ("orders__items",),
    "select ord*items": (),
    "select ord *": (),
    "select ___ from t": ("___",),
    "": (),
}


@pytest.mark.parametrize(("text", "tables"), TEXTS.items())
def test_tables_are_mentioned_by_whole_words_in_any_case(text: str, tables: tuple[str, ...]) -> None:
    assert TABLES.mentioned_in(text) == tables
