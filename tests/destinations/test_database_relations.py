"""Looks tables up in real databases: all of them, or one by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, schema_of

from schemactl.flows.migrate.plan import Goal, plan_from_state
from schemactl.flows.migrate.state import read_state
from schemactl.flows.target import migratable
from schemactl.migration.records import Patience
from schemactl.schema.types import Column, Table

TABLES = {
    "orders": '"id" BIGINT, "price" DECIMAL(10, 2), "note" VARCHAR(20)',
    "Mixed Case": '"Id" BIGINT, "ÄÖ" TEXT',
    'quo"te.d': '"a""b" BIGINT',
    "ÄÖÜ": '"x" BIGINT',
}


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    if dataset.kind != "sqlite":
        dataset.sql("CREATE SCHEMA @")
    for name, columns in TABLES.items():
        quoted = name.replace('"', '""')
        dataset.sql(f'CREATE TABLE @."{quoted}" ({columns})')
    dataset.sql('CREATE VIEW @."seen" AS SELECT "id" FROM @."orders"')
    return dataset


def test_one_relation_by_its_name_is_the_same_as_among_all(dataset: Dataset) -> None:
    with migratable(dataset.url).open_for_reading("shop") as session:
        database, place = session.database, session.schema or session.dataset
        everything = database.relations(place)

        assert {each.name for each in everything.values()} == {*TABLES, "seen"}
        assert sorted(database.relation_names(place)) == sorted([*TABLES, "seen"])
        for relation in everything.values():
            assert list(database.relations(place, relation.name).values()) == [relation]
            assert database.relation(place, relation.name) == relation
        assert database.relations(place, "orders").keys() == {"orders"}
        assert not database.relations(place, "none")
        assert database.relation(place, "none") is None
        assert not database.relation_names("none") or dataset.kind == "sqlite"


def _statements_of_a_plan(folder: Path, tables: int) -> list[str]:
    folder.mkdir()
    made = new_dataset("sqlite", folder)
    for number in range(tables):
        made.sql(f"CREATE TABLE t{number} (id BIGINT NOT NULL)")
    more = {
        f"t{number}": Table(f"t{number}", {"id": ID, "note": Column("note", {"data_type": "text"})})
        for number in range(tables)
    }
    asked: list[str] = []
    target = migratable(made.url)
    with target.open_for_reading("shop") as session:
        session.database.connection.set_trace_callback(asked.append)
        report = plan_from_state(Goal(target, schema_of(ID, column("x"), **more)), read_state(session, target, "shop"))
    assert len([each for each in report.plan.steps if "note" in str(each.step)]) == tables
    return [statement for statement in asked if not statement.startswith("--")]  # those are parts of others


def test_a_plan_asks_no_more_queries_of_more_tables(tmp_path: Path) -> None:
    few, many = (_statements_of_a_plan(tmp_path / str(tables), tables) for tables in (2, 150))

    assert len(few) > 1
    assert len(many) == len(few)


def test_to_look_for_what_is_not_there_leaves_a_transaction_alone(dataset: Dataset) -> None:
    with migratable(dataset.url).open_for_writing("shop", Patience()) as session, session.transaction():
        database, place = session.database, session.schema or session.dataset
        assert not database.relations(place, "none")
        assert database.query("SELECT 1") == [(1,)]
