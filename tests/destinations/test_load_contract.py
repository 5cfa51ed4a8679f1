"""A load does the same everywhere: in databases, folders of Parquet, Delta lakes and Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from loaded_datasets import KINDS, SQL_KINDS, Dataset, new_dataset
from staged_loads import an_input, ledger_files, lines, order, order_and_lines, orders, package, quiet, shop, staged

from schemactl.errors import DestinationError, InputError
from schemactl.schema.hash import bump
from schemactl.schema.types import table_from_dict
from tests.destinations.conftest import TYPED


@pytest.fixture(params=KINDS)
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Dataset]:
    with new_dataset(request.param, tmp_path, request) as made:
        yield made


def load_ids(dataset: Dataset) -> frozenset[str]:
    return dataset.destination.read_past_loads(dataset.url, "shop").load_ids


def test_a_load_creates_tables_that_the_catalogue_reads_back(dataset: Dataset, tmp_path: Path) -> None:
    loaded = order_and_lines(tmp_path)
    dataset.load(loaded)
    assert dataset.rows("orders", "id", "note", "_dlt_load_id") == [(1, "a", "1"), (2, None, "1")]
    assert dataset.rows("orders__lines", "sku", "_dlt_parent_id") == [("x", "r1.1"), ("y", "r2.1")]
    catalogue = dataset.destination.read_catalogue(dataset.url)
    assert catalogue.hashes == (loaded.schema.version_hash,)
    for table in (orders(), lines()):
        columns = catalogue.schema.tables[table.name].columns
        assert list(columns) == list(table.columns)
        for name, column in table.columns.items():
            assert dataset.destination.stored(columns[name]) == dataset.destination.stored(column)


def test_columns_of_every_type_are_created_as_the_catalogue_reads_them(dataset: Dataset, tmp_path: Path) -> None:
    columns = {name: properties for name, properties in TYPED.items() if "data_type" in properties}
    loaded = package(tmp_path, shop(orders(columns)), "1", {"orders": [order(1, needed=1)]})
    dataset.load(loaded)
    created = dataset.destination.read_catalogue(dataset.url).schema.tables["orders"].columns
    for name, column in loaded.schema.tables["orders"].columns.items():
        assert dataset.destination.stored(created[name]) == dataset.destination.stored(column), name


def test_a_repeated_load_changes_nothing(dataset: Dataset, tmp_path: Path) -> None:
    for load_id in ("1", "1", "2"):
        dataset.load(order_and_lines(tmp_path, load_id))
    assert dataset.rows("orders", "id") == [(1,), (1,), (2,), (2,)]
    assert load_ids(dataset) == {"1", "2"}
    assert len(dataset.destination.read_catalogue(dataset.url).hashes) == 1
    if dataset.kind in SQL_KINDS:
        assert len(dataset.rows("_dlt_version", "version_hash")) == 1


def test_past_loads_are_remembered_with_their_files(dataset: Dataset, tmp_path: Path) -> None:
    assert load_ids(dataset) == frozenset()
    odd = replace(an_input("/a\u2028é"), modified=datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC))
    # The ledger orders loads by their moments, which are those of their IDs here: "10" comes after "9".
    dataset.load(replace(order_and_lines(tmp_path, "9"), inputs=(odd, an_input("/b", 2))))
    dataset.load(replace(order_and_lines(tmp_path, "10"), inputs=(an_input("/b", 3),)))
    assert load_ids(dataset) == {"9", "10"}
    assert ledger_files(dataset.destination, dataset.url) == {odd.path: odd, "/b": an_input("/b", 3)}
    assert dataset.destination.read_past_loads(dataset.url, "other").load_ids == frozenset()
    assert ledger_files(dataset.destination, dataset.url, "other") == {}


def test_an_address_without_a_dataset_means_the_one_loaded_before(dataset: Dataset, tmp_path: Path) -> None:
    dataset.load(order_and_lines(tmp_path))
    dataset.destination.load(dataset.address, order_and_lines(tmp_path, "2"), quiet)
    assert len(dataset.rows("orders", "id")) == 4
    assert dataset.destination.read_catalogue(dataset.address).schema.name == "shop"
    dataset.destination.load(dataset.url_of("more"), order_and_lines(tmp_path), quiet)
    with pytest.raises(InputError, match=r"contains 2 datasets(?: of schema `shop`)?: `more`, `sales`") as refusal:
        dataset.destination.load(dataset.address, order_and_lines(tmp_path, "3"), quiet)
    assert "dataset=more" in str(refusal.value.hint)


@pytest.mark.parametrize("dataset", sorted({*KINDS} - {"sqlite", "parquet"}), indirect=True)
def test_a_first_load_without_a_dataset_goes_to_the_one_named_as_the_schema(dataset: Dataset, tmp_path: Path) -> None:
    dataset.destination.load(dataset.address, order_and_lines(tmp_path), quiet)
    assert "orders" in dataset.destination.read_catalogue(dataset.url_of("shop")).schema.tables


def test_a_replaced_table_loses_its_nested_rows(dataset: Dataset, tmp_path: Path) -> None:
    returns = replace(orders(), name="returns", properties={"write_disposition": "replace", "resource": "orders"})
    schema = shop(orders(write_disposition="replace"), lines(), returns)
    first = order_and_lines(tmp_path)
    dataset.load(
        replace(first, schema=schema, tables=(*first.tables, staged(tmp_path, returns, [order(5, note="back")])))
    )
    dataset.load(package(tmp_path, schema, "2", {"orders": [order(7, "2")]}))
    assert dataset.rows("orders", "id") == [(7,)]
    assert dataset.rows("orders__lines", "sku") == dataset.rows("returns", "id") == []
    dataset.load(package(tmp_path, schema, "3", {"orders": []}))
    assert dataset.rows("orders", "id") == []


def test_a_skipped_table_is_not_created(dataset: Dataset, tmp_path: Path) -> None:
    skipped = replace(orders(write_disposition="skip"), name="skipped")
    dataset.load(package(tmp_path, shop(orders(), skipped), "1", {"orders": [order(1)], "skipped": [order(2)]}))
    tables = dataset.destination.read_catalogue(dataset.url).schema.tables
    assert [name for name in tables if not name.startswith("_")] == ["orders"]
    assert load_ids(dataset) == {"1"}


def test_a_new_column_is_null_in_older_rows(dataset: Dataset, tmp_path: Path) -> None:
    dataset.load(order_and_lines(tmp_path))
    schema = shop(orders({"new": {"data_type": "double"}}), lines())
    dataset.load(package(tmp_path, schema, "2", {"orders": [order(3, "2", new=0.5)]}))
    assert dataset.rows("orders", "id", "new") == [(1, None), (2, None), (3, 0.5)]
    assert len(dataset.destination.read_catalogue(dataset.url).hashes) == 2


def test_rejects_are_appended(dataset: Dataset, tmp_path: Path) -> None:
    table = table_from_dict("_rejects", {"columns": {"why": {"data_type": "text"}, "id": {"data_type": "bigint"}}})
    for load_id in ("1", "2"):
        rejects = staged(tmp_path, table, [{"why": "frozen", "id": int(load_id)}])
        dataset.load(replace(order_and_lines(tmp_path, load_id, write_disposition="replace"), rejects=rejects))
    assert dataset.rows("_rejects", "why", "id") == [("frozen", 1), ("frozen", 2)]
    assert dataset.rows("orders", "id") == [(1,), (2,)]


@pytest.mark.parametrize("disposition", ["append", "merge", "replace"])
def test_rows_that_do_not_arrive_stop_the_load(disposition: str, dataset: Dataset, tmp_path: Path) -> None:
    dataset.load(order_and_lines(tmp_path))
    loaded = order_and_lines(tmp_path, "2", write_disposition=disposition)
    short = replace(loaded, tables=(loaded.tables[0], replace(loaded.tables[1], rows=7)))
    with pytest.raises(DestinationError, match="table `orders__lines`: 2 of 7 rows arrived"):
        dataset.load(short)
    assert dataset.rows("orders", "id", "_dlt_load_id") == [(1, "1"), (2, "1")]
    assert dataset.rows("orders__lines", "sku") == [("x",), ("y",)]
    assert load_ids(dataset) == {"1"}
    dataset.load(loaded)
    assert load_ids(dataset) == {"1", "2"}


def merged(strategy: str, **more: Any) -> dict[str, Any]:
    return {"write_disposition": "merge", "x-merge-strategy": strategy, **more}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (merged("cdc"), "the merge strategy `cdc` is not supported"),
        (merged("upsert"), "its strategy `upsert` needs a primary key"),
        (merged("scd2"), "needs a column with the hint `x-valid-from`"),
        (merged("upsert", **{"x-merge-source-filter": "id > 1"}), "`x-merge-source-filter` is not supported"),
    ],
)
def test_a_merge_that_cannot_be_done_is_refused(
    properties: dict[str, Any], message: str, dataset: Dataset, tmp_path: Path
) -> None:
    loaded = order_and_lines(tmp_path, "2", **properties)

    def refuse() -> None:
        with pytest.raises(DestinationError, match=message):
            dataset.destination.check_tables(dataset.url, loaded.schema)
        with pytest.raises(DestinationError, match=message):
            dataset.destination.load(dataset.url, loaded, quiet)

    refuse()
    assert load_ids(dataset) == frozenset()
    dataset.load(order_and_lines(tmp_path))
    refuse()
    assert load_ids(dataset) == {"1"}


@pytest.mark.parametrize("dataset", SQL_KINDS, indirect=True)
def test_the_row_of_a_load_is_the_row_that_dlt_writes(dataset: Dataset, tmp_path: Path) -> None:
    loaded = order_and_lines(tmp_path)
    dataset.load(loaded)
    ((*row, inserted_at),) = dataset.rows(
        "_dlt_loads", "load_id", "schema_name", "status", "schema_version_hash", "inserted_at"
    )
    assert row == ["1", "shop", 0, loaded.schema.version_hash]
    if not isinstance(inserted_at, str):  # SQLite has no type of moments
        inserted_at = inserted_at.replace(tzinfo=None).isoformat(" ", "microseconds")
    assert inserted_at == "1970-01-01 00:00:01.000000"


@pytest.mark.parametrize(("first", "second"), [("5", "9"), ("9", "5")])
def test_the_schema_of_the_load_that_ends_last_is_the_newest(
    dataset: Dataset, tmp_path: Path, first: str, second: str
) -> None:
    before, after = shop(orders()), shop(orders({"new": {"data_type": "double"}}))
    dataset.load(package(tmp_path, before, first, {"orders": [order(1, first)]}))
    dataset.load(package(tmp_path, after, second, {"orders": [order(2, second)]}))

    assert dataset.destination.read_catalogue(dataset.url).hashes == (after.version_hash, before.version_hash)


@pytest.mark.parametrize(("first", "second"), [("5", "9"), ("9", "5")])
def test_a_schema_that_the_newest_one_continues_does_not_become_the_newest(
    dataset: Dataset, tmp_path: Path, first: str, second: str
) -> None:
    before = shop(orders())
    after = bump(before.with_table(orders({"new": {"data_type": "double"}})))
    assert after.previous_hashes == (before.version_hash,)
    dataset.load(package(tmp_path, after, first, {"orders": [order(1, first)]}))
    dataset.load(package(tmp_path, before, second, {"orders": [order(2, second)]}))

    assert dataset.destination.read_catalogue(dataset.url).hashes == (after.version_hash, before.version_hash)


def test_names_that_the_destination_does_not_distinguish_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    schema = shop(orders({"Note": {"data_type": "text"}}))
    if dataset.kind in ("postgresql", "parquet", "iceberg"):
        dataset.load(package(tmp_path, schema, "1", {"orders": [order(1, Note="a")]}))
        assert dataset.rows("orders", "note", "Note") == [(None, "a")]
        return
    with pytest.raises(DestinationError, match=r"`note`.*`Note`"):
        dataset.destination.check_tables(dataset.url, schema)
    with pytest.raises(DestinationError, match=r"`note`.*`Note`"):
        dataset.destination.load(dataset.url, package(tmp_path, schema, "1", {"orders": []}), quiet)
    assert load_ids(dataset) == frozenset()
