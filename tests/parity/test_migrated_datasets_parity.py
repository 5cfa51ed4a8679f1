"""A dlt pipeline goes on after a migration: it finds its schema, changes nothing, and loads."""

import time
from dataclasses import replace
from functools import partial

import dlt
import pytest

from schemactl.destinations import duckdb, postgresql, sqlite
from schemactl.formats import dlt as dlt_format
from schemactl.migration.migration_plan import Place, make_plan
from schemactl.migration.planner import plan_steps
from schemactl.schema.hash import bump
from schemactl.schema.types import Column

pytestmark = pytest.mark.parity

KINDS = {"duckdb": duckdb, "postgresql": postgresql, "sqlite": sqlite}


@pytest.fixture(params=KINDS)
def place(request, tmp_path):
    """A destination's module, its address, and dlt's destination with the name of the dataset."""
    word = request.param
    if word == "postgresql":
        url, dataset = request.getfixturevalue("postgres_database"), f"sales{time.monotonic_ns()}"
        return KINDS[word], f"{url}?dataset={dataset}", dlt.destinations.postgres(url), dataset
    path = tmp_path / "shop.db"
    made = dlt.destinations.duckdb(str(path)) if word == "duckdb" else dlt.destinations.sqlalchemy(f"sqlite:///{path}")
    return KINDS[word], f"{word}:///{path}?dataset=sales", made, "sales"


def load(destination, dataset, folder, rows, imports=None):
    """Run a pipeline on a machine of its own: it knows only what the destination knows."""
    pipeline = dlt.pipeline(
        "shop",
        destination=destination,
        dataset_name=dataset,
        pipelines_dir=str(folder / "pipelines"),
        import_schema_path=str(imports) if imports else None,
    )
    pipeline.run(rows, table_name="orders").raise_on_failed_jobs()
    return pipeline


def migrated(schema):
    """Return the schema with a column more, one retyped, one renamed, one dropped."""
    orders = schema.tables["orders"]
    columns = {name: column for name, column in orders.columns.items() if name not in ("old", "note", "total")}
    columns["total"] = Column("total", {"data_type": "bigint", "nullable": True})
    columns["remark"] = Column("remark", {"data_type": "text", "nullable": True, "x-renamed-from": "note"})
    columns["added"] = Column("added", {"data_type": "double", "nullable": True})
    return bump(schema.with_table(replace(orders, columns=columns)))


def test_a_pipeline_finds_its_schema_after_a_migration_and_loads(place, tmp_path):
    kind, url, destination, dataset = place
    load(
        destination, dataset, tmp_path / "a", [{"id": 1, "total": "12", "old": 1.5, "note": "n", "when": "2024-01-02"}]
    )
    with kind.connect(url, "shop") as session:
        newest = session.versions("shop")[0]
        known = session.schema_of(newest.version_hash)
        assert known.version_hash == newest.version_hash
        catalogue = session.catalogue().schema
        schema = migrated(known)
        proposal = plan_steps(catalogue, schema, known, stored=kind.stored, abilities=kind.ABILITIES)
        where = Place("any", session.origin, session.dataset)
        plan = make_plan(proposal, catalogue, schema, where, partial(kind.render, dataset=session.dataset))
        assert {type(each.step).__name__ for each in plan.steps} == {
            "RenameColumn",
            "AddColumn",
            "ChangeType",
            "DropColumn",
        }
        assert all(
            session.unfit(each.step).count == 0 for each in plan.steps if type(each.step).__name__ == "ChangeType"
        )
        with session.transaction():
            for each in plan.steps:
                session.run(each.step, each.statements)
            session.write_version(schema)
        after = plan_steps(session.catalogue().schema, schema, schema, stored=kind.stored, abilities=kind.ABILITIES)
        assert after.steps == ()

    imports = tmp_path / "imports"
    imports.mkdir()
    (imports / "shop.schema.yaml").write_text(dlt_format.write(schema))
    pipeline = load(destination, dataset, tmp_path / "b", [{"id": 2, "total": 7, "added": 0.5, "remark": "r"}], imports)

    assert pipeline.default_schema.version_hash == schema.version_hash
    with pipeline.sql_client() as client:
        rows = client.execute_sql("SELECT id, total, added, remark FROM orders ORDER BY id")
    assert [tuple(row) for row in rows] == [(1, 12, None, "n"), (2, 7, 0.5, "r")]
    with kind.connect(url, "shop") as session:
        assert session.versions("shop")[0].version_hash == schema.version_hash
        assert [*session.catalogue().schema.tables["orders"].columns].count("total") == 1
