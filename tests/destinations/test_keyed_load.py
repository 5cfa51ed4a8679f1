"""Loads go on into tables that a migration has given primary keys and unique columns."""

import time
from pathlib import Path
from typing import Any

import pytest
from staged_loads import line, lines, order, orders, package, quiet, shop

from schemactl.destinations import duckdb, postgresql
from schemactl.errors import DestinationError
from schemactl.migration.steps import AddPrimaryKey, AddUnique, SetNotNull

KINDS = {"duckdb": duckdb, "postgresql": postgresql}
REQUIRED_ID = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}}
MERGED = {
    "delete-insert": {"write_disposition": "merge", "x-merge-strategy": "delete-insert"},
    "upsert": {"write_disposition": "merge", "x-merge-strategy": "upsert"},
    "insert-only": {"write_disposition": "merge", "x-merge-strategy": "insert-only"},
    "replace": {"write_disposition": "replace"},
}


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, str]:
    """A destination's module, and an address without a dataset."""
    if request.param == "postgresql":
        return postgresql, request.getfixturevalue("postgres_url")
    return duckdb, f"duckdb:///{tmp_path / 'file.duckdb'}"


def fresh(url: str) -> str:
    return f"{url}?dataset=d{time.monotonic_ns()}"


def give_keys(kind: Any, url: str) -> None:
    """Do what a migration does for the hints `primary_key` and `unique`."""
    with kind.connect(url, "shop") as session, session.transaction():
        table = session.catalogue().schema.tables["orders"]
        nullable = [SetNotNull("orders", each) for each in (table.columns["id"],) if each.nullable]
        for step in (*nullable, AddPrimaryKey("orders", ("id",)), AddUnique("orders", "_dlt_id")):
            if isinstance(step, AddUnique) and table.columns["_dlt_id"].properties.get("unique"):
                continue  # PostgreSQL has it from the first load
            session.run(step, kind.render(step, table, session.dataset))
            table = step.apply_to(table)


def rows(kind: Any, url: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    with kind.connect(url, "shop", is_read_only=True) as session:
        dataset = session.dataset
        return (
            session.database.query(f'SELECT id, note, _dlt_id FROM "{dataset}"."orders" ORDER BY 1, 2, 3'),
            session.database.query(f'SELECT sku, _dlt_parent_id FROM "{dataset}"."orders__lines" ORDER BY 1, 2'),
        )


def primary_key(kind: Any, url: str) -> set[str]:
    found = kind.read_catalogue(url).schema.tables["orders"].columns.values()
    return {each.name for each in found if each.properties.get("primary_key")}


def loads(folder: Path, properties: dict[str, Any], *, overlaps: bool) -> list[Any]:
    """Three loads; the later ones bring an order that is there, where they may, twice with other values."""
    schema = shop(orders(REQUIRED_ID, **properties), lines())
    first = {
        "orders": [order(1, "1", note="a"), order(2, "1", note="b")],
        "orders__lines": [line("r1.1", 0, "x"), line("r2.1", 0, "y")],
    }
    again = 2 if overlaps else 4
    second = {
        "orders": [order(again, "2", note="c"), order(3, "2", note="d")],
        "orders__lines": [line(f"r{again}.2", 0, "z")],
    }
    third = {"orders": [order(again + 5, "3"), *([order(2, "3"), order(1, "3", note="e")] if overlaps else [])]}
    return [package(folder, schema, load_id, held) for load_id, held in (("1", first), ("2", second), ("3", third))]


@pytest.mark.parametrize("way", MERGED)
def test_rows_that_are_there_already_are_merged_as_without_keys(
    place: tuple[Any, str], way: str, tmp_path: Path
) -> None:
    kind, url = place
    plain, keyed = fresh(url), fresh(url)
    first, *later = loads(tmp_path / "loads", MERGED[way], overlaps=True)
    for each in (plain, keyed):
        kind.load(each, first, quiet)
    give_keys(kind, keyed)
    for made in later:
        kind.load(plain, made, quiet)
        kind.load(keyed, made, quiet)
    assert rows(kind, keyed) == rows(kind, plain)
    assert rows(kind, keyed)[0]
    assert primary_key(kind, keyed) == {"id"}


def test_new_rows_are_appended(place: tuple[Any, str], tmp_path: Path) -> None:
    kind, url = place
    url = fresh(url)
    first, *later = loads(tmp_path / "loads", {}, overlaps=False)
    kind.load(url, first, quiet)
    give_keys(kind, url)
    for made in later:
        kind.load(url, made, quiet)
    assert [key for key, *_ in rows(kind, url)[0]] == [1, 2, 3, 4, 9]


def test_a_load_that_appends_a_key_twice_is_reported_and_keeps_nothing(place: tuple[Any, str], tmp_path: Path) -> None:
    kind, url = place
    url = fresh(url)
    first, second, _ = loads(tmp_path / "loads", {}, overlaps=True)
    kind.load(url, first, quiet)
    give_keys(kind, url)
    before = rows(kind, url)
    with pytest.raises(DestinationError, match=r"(?i)primary key|duplicate key"):
        kind.load(url, second, quiet)
    assert rows(kind, url) == before


def test_a_load_that_lacks_a_value_of_a_required_column_is_reported_with_a_way_out(
    place: tuple[Any, str], tmp_path: Path
) -> None:
    kind, url = place
    made = package(tmp_path, shop(orders(REQUIRED_ID), lines()), "1", {"orders": [{**order(1), "id": None}]})
    with pytest.raises(DestinationError, match=r"(?i)not.null") as caught:
        kind.load(fresh(url), made, quiet)
    assert "allow nulls in the schema" in str(caught.value.hint)


HISTORY = {
    "version": {"data_type": "text", "nullable": False, "x-row-version": True},
    "_dlt_valid_from": {"data_type": "timestamp", "nullable": False, "x-valid-from": True},
    "_dlt_valid_to": {"data_type": "timestamp", "nullable": True, "x-valid-to": True},
}


def test_a_history_keeps_versions_where_they_are_the_key_with_their_start(
    place: tuple[Any, str], tmp_path: Path
) -> None:
    kind, url = place
    plain, keyed = fresh(url), fresh(url)
    schema = shop(orders(HISTORY, **{"write_disposition": "merge", "x-merge-strategy": "scd2"}))
    held = {"1": [(1, "a"), (2, "b")], "2": [(1, "a"), (2, "c")], "3": [(2, "b")]}  # `b` is gone, and comes back
    first, *later = (
        package(
            tmp_path / "loads",
            schema,
            load_id,
            {"orders": [order(key, load_id, note=note, version=f"{key}{note}") for key, note in versions]},
        )
        for load_id, versions in held.items()
    )
    for each in (plain, keyed):
        kind.load(each, first, quiet)
    with kind.connect(keyed, "shop") as session:
        step = AddPrimaryKey("orders", ("version", "_dlt_valid_from"))
        session.run(step, kind.render(step, session.catalogue().schema.tables["orders"], session.dataset))
    for made in later:
        kind.load(plain, made, quiet)
        kind.load(keyed, made, quiet)
    assert history(kind, keyed) == history(kind, plain)
    assert [note for _, note, *_ in history(kind, keyed)] == ["a", "b", "b", "c"]


def history(kind: Any, url: str) -> list[tuple[Any, ...]]:
    with kind.connect(url, "shop", is_read_only=True) as session:
        columns = "id, note, _dlt_valid_from, _dlt_valid_to"
        return session.database.query(f'SELECT {columns} FROM "{session.dataset}"."orders" ORDER BY 1, 2, 3')
