"""Descriptions of columns stand in the schemas of the lakes' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import delta, iceberg


def delta_notes(folder: Path) -> dict[str, Any]:
    from deltalake import DeltaTable

    return {each.name: each.metadata.get("comment") for each in DeltaTable(folder / "sales" / "orders").schema().fields}


def iceberg_notes(folder: Path) -> dict[str, Any]:
    from pyiceberg.table import StaticTable

    latest = max((folder / "sales" / "orders" / "metadata").glob("*.metadata.json"))
    return {each.name: each.doc for each in StaticTable.from_metadata(str(latest)).schema().fields}


@pytest.mark.parametrize(("kind", "notes"), [(delta, delta_notes), (iceberg, iceberg_notes)])
def test_descriptions_reach_columns_that_are_made(kind: Any, notes: Any, tmp_path: Path) -> None:
    name = kind.__name__.rpartition(".")[2]
    url = f"{name}:{tmp_path / 'lake'}?dataset=sales"
    first = orders({"note": {"data_type": "text", "description": "what they said"}}, description="All orders")
    kind.load(url, package(tmp_path, shop(first), "1", {"orders": [order(1, note="a")]}), quiet)
    grown = orders({"new": {"data_type": "double", "description": "added"}})
    kind.load(url, package(tmp_path, shop(grown), "2", {"orders": [order(2, "2", new=0.5)]}), quiet)
    found = {column: text for column, text in notes(tmp_path / "lake").items() if text}
    assert found == {"note": "what they said", "new": "added"}
    assert kind.read_catalogue(url).schema.tables["orders"].properties["description"] == "All orders"


def test_metadata_of_columns_reaches_delta(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    stated = {"unit": "kg", "level": 2, "delta.invariants": "1 = 0"}
    table = orders({"note": {"data_type": "text", "description": "what they said", "x-metadata": stated}})
    loaded = package(tmp_path, shop(table), "1", {"orders": [order(1, note="a")]})
    delta.load(f"delta:{tmp_path / 'lake'}?dataset=sales", loaded, quiet)
    fields = {each.name: each.metadata for each in DeltaTable(tmp_path / "lake" / "sales" / "orders").schema().fields}
    text = "what they said"
    assert fields["note"] == {"unit": "kg", "level": "2", "comment": text, "doc": text}
