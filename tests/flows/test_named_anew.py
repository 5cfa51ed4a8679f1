"""Another naming convention for a schema with data: files, destination and later loads."""

from __future__ import annotations

import json

import duckdb
from loading_shop import Shop

from schemactl.cli.app import run
from schemactl.normalization.report import Outcome

URL = "duckdb:///lake.duckdb?dataset=shop"
FIRST = {"orderId": 1, "shipTo": {"zipCode": "x"}, "lineItems": [{"skuNo": "a"}]}
LATER = {"orderId": 2, "shipTo": {"zipCode": "y"}, "lineItems": [{"skuNo": "b"}]}


def rows(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect("lake.duckdb", read_only=True) as database:
        return database.execute(sql).fetchall()


def tables() -> list[object]:
    found = rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1")
    return [name for (name,) in found if not str(name).startswith("_")]


def test_a_destination_is_renamed_takes_later_data_and_is_taken_back(shop: Shop) -> None:
    assert shop.load(shop.write("orders.jsonl", FIRST), to=URL).outcome is Outcome.LOADED
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    lineage = json.loads((shop.folder / "schemas/export/shop.lineage.json").read_text())
    assert list(lineage["tables"]) == ["orders", "orders▶lineItems"]
    assert run(["diff"]) == 0

    assert run(["migrate", "apply", "shop", "--to", URL, "--yes", "--quiet"]) == 0
    assert tables() == ["orders", "orders▶lineItems"]

    later = shop.load(shop.write("orders.jsonl", LATER), to=URL, load_id="later")
    assert later.outcome is Outcome.LOADED
    assert later.inference is not None
    assert later.inference.tables == ()
    assert rows('SELECT "orderId", "shipTo▶zipCode" FROM shop.orders ORDER BY 1') == [(1, "x"), (2, "y")]
    assert rows('SELECT "skuNo" FROM shop."orders▶lineItems" ORDER BY 1') == [("a",), ("b",)]

    assert run(["migrate", "rollback", "shop", "--to", URL, "--yes", "--quiet"]) == 0
    assert tables() == ["orders", "orders__line_items"]
    assert rows("SELECT order_id, ship_to__zip_code FROM shop.orders ORDER BY 1") == [(1, "x"), (2, "y")]
