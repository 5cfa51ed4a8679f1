"""What dlt made needs no step; what changes in its schema afterwards does, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dlt
import pytest

from schemactl.destinations import duckdb, sqlite
from schemactl.formats.dlt import read
from schemactl.migration.abilities import Abilities
from schemactl.migration.planner import Proposal, plan_steps
from schemactl.migration.steps import AddColumn, ChangeType, DropColumn
from schemactl.schema.types import Column, Schema

ROWS = [{"id": 1, "Paid": "2026-01-31", "price": 1.5, "lines": [{"sku": "a", "tags": ["x"]}]}, {"id": "two"}]

Load = Callable[[Any], Schema]


@pytest.fixture
def load(tmp_path: Path) -> Load:

    def run(destination: Any) -> Schema:
        pipeline = dlt.pipeline(
            "shop",
            destination=destination,
            dataset_name="sales",
            pipelines_dir=str(tmp_path / "pipelines"),
            export_schema_path=str(tmp_path / "export"),
        )
        pipeline.run(ROWS, table_name="orders").raise_on_failed_jobs()
        path = tmp_path / "export" / "shop.schema.yaml"
        return read(path.read_text(), str(path)).schema

    return run


def planned(engine: Any, url: str, schema: Schema, known: Schema) -> Proposal:
    catalogue = engine.read_catalogue(url).schema
    return plan_steps(catalogue, schema, known, stored=engine.stored, abilities=Abilities(names=engine.NAMES))


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_an_untouched_dataset_needs_no_step(kind: str, load: Load, tmp_path: Path) -> None:
    if kind == "duckdb":
        engine, url = duckdb, f"duckdb:///{tmp_path}/shop.duckdb"
        schema = load(dlt.destinations.duckdb(f"{tmp_path}/shop.duckdb"))
    else:
        engine, url = sqlite, f"sqlite:///{tmp_path}/shop.db"
        schema = load(dlt.destinations.sqlalchemy(f"sqlite:///{tmp_path}/shop.db"))

    proposal = planned(engine, url, schema, schema)

    assert {"orders", "orders__lines", "orders__lines__tags", "_dlt_version"} <= set(proposal.tables)
    assert (proposal.steps, proposal.notes) == ((), ())


def test_only_what_changed_in_the_schema_is_planned(load: Load, tmp_path: Path) -> None:
    known = load(dlt.destinations.duckdb(f"{tmp_path}/shop.duckdb"))
    table = known.tables["orders"]
    columns = {
        **{name: column for name, column in table.columns.items() if name != "price"},
        "id": Column("id", {**table.columns["id"].properties, "data_type": "text"}),
        "state": Column("state", {"data_type": "text"}),
    }
    schema = known.with_table(replace(table, columns=columns))

    proposal = planned(duckdb, f"duckdb:///{tmp_path}/shop.duckdb", schema, known)

    assert [type(each.step) for each in proposal.steps] == [AddColumn, ChangeType, DropColumn]
    assert proposal.notes == ()
