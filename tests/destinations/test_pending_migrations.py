"""Loads wait for migrations: for renames, so that no values end up in two columns, and for types that respell."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from staged_loads import ROW_KEY, TEXT, order, orders, package, quiet, shop

from schemactl.destinations import DESTINATIONS, is_loader
from schemactl.errors import DestinationError
from schemactl.flows.migrate.ledger_schemas import check_swaps
from schemactl.flows.target import Target
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import Schema, Table, table_from_dict

KINDS = ("duckdb", "sqlite", "postgresql", "parquet", "delta", "iceberg")
ROWS = {"orders": [order(1, note="a")]}
_COUNT = count()


@pytest.fixture(params=[*KINDS, pytest.param("spark", marks=pytest.mark.spark)])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A destination's name, and an address where nothing is yet."""
    match request.param:
        case "postgresql":
            address = f"{request.getfixturevalue('postgres_url')}?dataset=renames{next(_COUNT)}"
        case "spark":
            request.getfixturevalue("spark")
            address = f"spark:spark_catalog.renames{next(_COUNT)}"
        case "duckdb" | "sqlite":
            address = f"{request.param}:///{tmp_path}/shop.db"
        case _:
            address = f"{request.param}:{tmp_path}/shop"
    return request.param, address


def load(destination: tuple[str, str], loaded: LoadPackage) -> None:
    kind, address = destination
    module = DESTINATIONS[kind]
    assert is_loader(module)
    module.check_tables(address, loaded.schema)
    module.load(address, loaded, quiet)


def renamed(origin: Any, *more: str, **properties: Any) -> Schema:
    """The schema whose column ``note`` is called ``memo``."""
    columns = {"id": {"data_type": "bigint"}, "memo": {**TEXT, "x-renamed-from": origin}}
    columns |= dict.fromkeys(more, TEXT) | {"_dlt_load_id": TEXT, "_dlt_id": ROW_KEY}
    held = {"columns": columns, "write_disposition": "append", "resource": "orders", **properties}
    return shop(table_from_dict("orders", held))


def second(folder: Path, schema: Schema, table: str = "orders") -> LoadPackage:
    return package(folder / "second", schema, "2", {table: [order(2, "2", memo="b")]})


@pytest.fixture
def loaded(destination: tuple[str, str], tmp_path: Path) -> tuple[str, str]:
    """The destination, with a first load under the old names."""
    load(destination, package(tmp_path / "first", shop(orders()), "1", ROWS))
    return destination


def test_a_column_with_its_old_name_ends_the_load_before_anything_is_written(
    loaded: tuple[str, str], tmp_path: Path
) -> None:
    kind, address = loaded
    module = DESTINATIONS[kind]
    assert is_loader(module)
    made = second(tmp_path, renamed("note"))
    for refused in (
        lambda: module.check_tables(address, made.schema),
        lambda: module.load(address, made, quiet),
    ):
        with pytest.raises(DestinationError, match="old names") as caught:
            refused()
        assert [each.message for each in caught.value.problems] == ["`orders.note` must be renamed to `orders.memo`"]
        assert "schemactl migrate apply shop" in str(caught.value.hint)
    assert module.read_past_loads(address, "shop").load_ids == {"1"}


def test_a_table_with_its_old_name_ends_the_load(loaded: tuple[str, str], tmp_path: Path) -> None:
    table = orders(**{"x-renamed-from": "orders"})
    made = package(tmp_path, shop(Table("sales", table.columns, table.properties)), "2", {"sales": [order(2, "2")]})
    with pytest.raises(DestinationError, match="old names") as caught:
        load(loaded, made)
    assert [each.message for each in caught.value.problems] == ["`orders` must be renamed to `sales`"]


@pytest.mark.parametrize(
    ("origin", "more", "properties"),
    [
        pytest.param([], (), {}, id="stated to be new"),
        pytest.param("remark", (), {}, id="no such column there"),
        pytest.param("note", ("note",), {}, id="the old name is another column's"),
        pytest.param("note", (), {"write_disposition": "replace"}, id="old rows go"),
    ],
)
def test_where_no_value_would_be_left_behind_a_load_goes_on(
    loaded: tuple[str, str], origin: Any, more: tuple[str, ...], properties: dict[str, Any], tmp_path: Path
) -> None:
    kind, address = loaded
    load(loaded, second(tmp_path, renamed(origin, *more, **properties)))
    module = DESTINATIONS[kind]
    assert is_loader(module)
    assert module.read_past_loads(address, "shop").load_ids == {"1", "2"}


def test_a_column_that_has_its_new_name_is_loaded(destination: tuple[str, str], tmp_path: Path) -> None:
    load(destination, package(tmp_path / "first", renamed("note"), "1", {"orders": [order(1, memo="a")]}))
    load(destination, second(tmp_path, renamed("note")))
    kind, address = destination
    module = DESTINATIONS[kind]
    assert is_loader(module)
    assert module.read_past_loads(address, "shop").load_ids == {"1", "2"}


def test_columns_that_are_to_change_names_wait_for_the_migration(loaded: tuple[str, str], tmp_path: Path) -> None:
    kind, address = loaded
    target = Target(kind, DESTINATIONS[kind], address)
    both = orders({"note": {**TEXT, "x-renamed-from": "memo"}, "memo": {**TEXT, "x-renamed-from": "note"}})
    first = shop(orders({"memo": TEXT}))
    load(loaded, package(tmp_path / "both", first, "2", {"orders": [order(2, "2", note="a", memo="b")]}))
    replaced = shop(Table(both.name, both.columns, {**both.properties, "write_disposition": "replace"}))

    for allowed in (first, replaced, shop(orders({"memo": {**TEXT, "x-renamed-from": "gone"}}))):
        check_swaps(allowed, target)
    with pytest.raises(DestinationError, match="still has old names") as caught:
        check_swaps(shop(both), target)
    messages = [each.message for each in caught.value.problems]
    assert messages == [
        "`orders.memo` must be renamed to `orders.note`",
        "`orders.note` must be renamed to `orders.memo`",
    ]

    load(loaded, package(tmp_path / "later", shop(both), "3", {"orders": [order(3, "3", note="a", memo="b")]}))
    check_swaps(shop(both), target)  # by now it is history


@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "postgresql"])
def test_numbers_are_not_loaded_into_a_column_of_texts(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = f"{kind}:///{tmp_path}/shop.db"
    if kind == "postgresql":
        where = f"{request.getfixturevalue('postgres_url')}?dataset=texts{next(_COUNT)}"
    load((kind, where), package(tmp_path / "first", shop(orders()), "1", {"orders": [order(1, note="01234")]}))
    as_number = shop(orders({"note": {"data_type": "bigint"}}))
    with pytest.raises(DestinationError, match="does not fit into column `note`") as caught:
        load((kind, where), package(tmp_path, as_number, "2", {"orders": [order(2, "2", note=9999)]}))
    assert "schemactl migrate" in str(caught.value.hint)
