"""Decimals with the scale is larger than the precision are refused by the plan, not by the first statement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.api import InputError, build, plan
from schemactl.cli.app import run
from schemactl.flows.target import find_destination
from schemactl.formats import dlt as dlt_format
from schemactl.schema.types import Column


@pytest.mark.parametrize("address", ["duckdb:///file.duckdb", "delta:folder", "iceberg:folder", "parquet:folder"])
def test_the_plan_refuses_them(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema = build("shop").table("orders").column("total", "decimal", 2, 10).schema()
    with pytest.raises(InputError, match=r"no decimal\(2,10\) \(`total`\)"):
        plan(schema, address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sizes", "counted", "places"), [({"precision": 20}, 1, 0), ({"precision": 20, "scale": 1}, 0, 1)]
)
@pytest.mark.parametrize("address", ["delta:lake", "iceberg:lake", "parquet:lake"])
def test_a_decimal_without_a_scale_has_no_decimal_places_in_files(
    address: str,
    sizes: dict[str, int],
    counted: int,
    places: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    local_commands: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("orders.jsonl").write_text('{"id": 1, "total": "1.5"}\n{"id": 2, "total": "2"}\n{"id": 3}\n')
    load = ("normalize", "orders.jsonl", "--name", "shop", "--to", address, "--column", "orders.total:decimal")
    assert run([*load, "--schemas", "schemas", "--quiet"]) == 0
    path = Path("schemas/export/shop.schema.yaml")
    loaded = dlt_format.read(path.read_text(), str(path)).schema
    orders = loaded.tables["orders"]
    total = Column("total", {"data_type": "decimal", **sizes})
    wanted = loaded.with_table(replace(orders, columns={**orders.columns, "total": total}))

    report = plan(wanted, address)

    assert [step.count for step in report.counted] == [1] * counted
    stored = find_destination(address).destination.stored(total)
    assert (stored["precision"], stored["scale"]) == (20, places)
    (step,) = [planned.step for planned in report.plan.steps]
    assert f"-> decimal(20, {places})" in step.title
