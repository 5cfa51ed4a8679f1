"""Which dataset a migration goes to where the address names none."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from migrated_datasets import FIRST, apply

from schemactl.destinations import DESTINATIONS, is_migrator
from schemactl.destinations._catalogue import choose_migrated
from schemactl.errors import InputError

_COUNT = count()


@pytest.fixture(params=["duckdb", "delta", "iceberg", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address where a migration has made the dataset ``shop``."""
    monkeypatch.chdir(tmp_path)
    match request.param:
        case "duckdb":
            found = "duckdb:///shop.duckdb"
        case "postgresql":
            import psycopg

            server, name = request.getfixturevalue("postgres_url"), f"chosen{next(_COUNT)}"
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            found = f"{server.rpartition('/')[0]}/{name}"
        case kind:
            Path("lake").mkdir()
            found = f"{kind}:lake"
    apply(found, FIRST)
    return found


def dataset_of(address: str, schema_name: str) -> str:
    destination = DESTINATIONS[address.partition(":")[0]]
    assert is_migrator(destination)
    with destination.connect(address, schema_name) as session:
        return session.dataset


def test_another_schema_gets_a_dataset_of_its_own(address: str) -> None:
    assert dataset_of(address, "shop") == "shop"
    assert dataset_of(address, "other") == "other"


def choose(ours: set[str], unclaimed: set[str], others: set[str]) -> str:
    return choose_migrated(ours, unclaimed, others, "crm", "the database")


def test_the_dataset_of_the_schema_goes_before_all_others() -> None:
    assert choose({"sales"}, {"public"}, {"one", "two"}) == "sales"
    with pytest.raises(InputError, match="contains 2 datasets: `east`, `west`"):
        choose({"west", "east"}, set(), set())


def test_tables_that_no_schema_was_loaded_into_are_meant_where_nothing_else_is_there() -> None:
    assert choose(set(), {"public"}, set()) == "public"
    assert choose(set(), {"public", "public_staging"}, set()) == "public"
    for others in (set(), {"one"}):
        with pytest.raises(InputError, match="datasets") as caught:
            choose(set(), {"public", *(() if others else ("more",))}, others)
        assert "?dataset=crm" in str(caught.value.hint)


def test_datasets_of_other_schemas_are_never_meant() -> None:
    assert choose(set(), set(), {"one"}) == "crm"
    assert choose(set(), set(), {"one", "two"}) == "crm"
    assert choose(set(), set(), set()) == "crm"
