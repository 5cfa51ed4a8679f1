"""Types that dlt does not know become texts where each value has one of its own, and come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated_datasets import ID, Dataset, apply, column, new_dataset, put, schema_of, undo

from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.migration.steps import ChangeType
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
SHARED = [("uuid", UUID)]
MADE = {
    "duckdb": [*SHARED, ("mood", "it's"), ("ENUM('x', 'y')", "y"), ("UBIGINT", str(2**64 - 1)), ("UHUGEINT", "7")],
    "postgresql": [
        *SHARED,
        ("shop.mood", "it's"),
        ('shop."A mood"', "x"),
        ("inet", "1.2.3.4"),
        ("inet", "10.0.0.1/8"),
        ("inet", "::1"),
        ("cidr", "10.0.0.0/8"),
        ("macaddr", "08:00:2b:01:02:03"),
        ("macaddr8", "08:00:2b:01:02:03:04:05"),
        ("character(5)", "ab"),
        ("name", "x y"),
        ("shop.mail", "a.b"),
        ("shop.count", "5"),
        ("shop.key", UUID),
    ],
}
"""Types with a value of each."""

TYPES = {
    "duckdb": ["CREATE TYPE mood AS ENUM ('x', 'it''s')"],
    "postgresql": [
        "CREATE TYPE @.mood AS ENUM ('x', 'it''s')",
        "CREATE TYPE @.\"A mood\" AS ENUM ('x')",
        "CREATE DOMAIN @.mail AS text CHECK (length(value) > 2)",
        "CREATE DOMAIN @.count AS integer CHECK (value > 0)",
        "CREATE DOMAIN @.key AS uuid",
    ],
}


@pytest.fixture(params=list(MADE))
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    server = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    made = new_dataset(request.param, tmp_path, server)
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(MADE[request.param]))
    table = f"CREATE TABLE @.orders (id BIGINT NOT NULL, {columns})"
    for statement in ("CREATE SCHEMA @", *TYPES[request.param], table):
        made.sql(statement)
    values = ", ".join("'" + value.replace("'", "''") + "'" for _, value in MADE[request.param])
    made.sql(f"INSERT INTO @.orders VALUES (1, {values})")
    made.sql("INSERT INTO @.orders (id) VALUES (2)")
    return made


def wanted(dataset: Dataset, **hints: int) -> Schema:
    return schema_of(ID, *(column(f"c{number}", **hints) for number in range(len(MADE[dataset.kind]))))


def rows(dataset: Dataset) -> list[tuple[object, ...]]:
    return dataset.sql("SELECT * FROM @.orders ORDER BY id")


def test_each_value_becomes_its_text_and_comes_back(dataset: Dataset) -> None:
    before = rows(dataset)
    assert apply(dataset, wanted(dataset)).outcome is Outcome.DONE
    texts = tuple(value for _, value in MADE[dataset.kind])
    assert rows(dataset) == [(1, *texts), (2, *(None for _ in texts))]
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert rows(dataset) == before
    assert apply(dataset, wanted(dataset)).outcome is Outcome.DONE  # the types are the same again


@pytest.mark.parametrize("value", ["zz", UUID.upper(), "{" + UUID + "}"])
def test_a_text_that_is_no_such_value_stays(dataset: Dataset, value: str) -> None:
    assert apply(dataset, wanted(dataset)).outcome is Outcome.DONE
    dataset.sql(f"UPDATE @.orders SET c0 = '{value}' WHERE id = 2")
    assert undo(dataset, allows_destructive=True).outcome is Outcome.REFUSED
    assert rows(dataset)[1][1] == value


def test_texts_that_are_longer_than_the_column_are_counted(dataset: Dataset) -> None:
    request = PlanRequest(put(wanted(dataset, precision=30), "w.yaml"), dataset.url, Path("schemas"), PlanOptions())
    report = plan_migration(request)
    assert report.blockers
    first = next(number for number, each in enumerate(report.plan.steps, 1) if isinstance(each.step, ChangeType))
    assert {each.number: each.count for each in report.counted}[first] == 1
