"""Iceberg tables: what dlt made of them, catalogs of others, and what schemactl cannot write to."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import dlt
import pyarrow as pa
import pytest
from lake_samples import package, table
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform
from staged_loads import quiet, shop

from schemactl.destinations import iceberg as destination
from schemactl.destinations.iceberg.address import lock_folder, read_address
from schemactl.errors import DestinationError, InputError
from schemactl.formats.dlt import read
from schemactl.installation import install_command

Load = Callable[..., Path]
ORDERS = table("orders", {"id": {"data_type": "bigint"}})


def catalog_in(folder: Path, name: str = "default") -> SqlCatalog:
    folder.mkdir(parents=True, exist_ok=True)
    return SqlCatalog(name, uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))


def test_the_catalogue_of_dlts_tables_is_what_its_schema_says(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    file = load(dlt.destinations.filesystem(str(folder)), table_format="iceberg", write_disposition="append")
    schema = read(file.read_text(), str(file)).schema
    for url in (f"iceberg:{folder}", f"iceberg:{folder}?dataset=sales", f"iceberg:{folder / 'sales'}"):
        catalogue = destination.read_catalogue(url)
        assert catalogue.hashes == (schema.version_hash,)
        for name, found in catalogue.schema.tables.items():
            complete = [each for each in schema.tables[name].columns.values() if each.is_complete]
            assert {each.name: each.properties for each in found.columns.values()} == {
                each.name: destination.stored(each) for each in complete
            }
    # Without a catalog nobody would learn of new commits.
    with pytest.raises(DestinationError, match="were created by dlt without a catalog"):
        destination.check_tables(f"iceberg:{folder}?dataset=sales", shop(ORDERS))


@pytest.mark.parametrize("kind", ["exclusive", "immediate"])
def test_a_catalogue_that_another_program_locks_is_reported(kind: str, tmp_path: Path) -> None:
    url = f"iceberg:{tmp_path / 'lake'}?dataset=sales"
    destination.load(url, package(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS]), quiet)
    second = package(tmp_path, "2", {"orders": [{"id": 2}]}, [ORDERS])
    with closing(sqlite3.connect(tmp_path / "lake" / "catalog.db", isolation_level=None)) as other:
        other.execute(f"begin {kind}")
        with pytest.raises(DestinationError, match=r"cannot .*database is locked") as caught:
            destination.load(url, second, quiet)
        assert "another process writes to the catalog" in str(caught.value.hint)
        assert "is not an Iceberg catalog" not in caught.value.message
    destination.load(url, second, quiet)
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2"}


def test_a_configured_catalogue_is_loaded_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = tmp_path / "elsewhere"
    warehouse.mkdir()
    for key, value in (("TYPE", "sql"), ("URI", f"sqlite:///{warehouse}/any.db"), ("WAREHOUSE", f"file://{warehouse}")):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{key}", value)
    url = "iceberg:prod?dataset=sales"
    for load_id in ("1", "2"):
        destination.load(url, package(tmp_path, load_id, {"orders": [{"id": 1}]}, [ORDERS]), quiet)
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2"}
    assert "orders" in destination.read_catalogue("iceberg:prod").schema.tables
    held = SqlCatalog("prod", uri=f"sqlite:///{warehouse}/any.db").load_table(("sales", "orders")).scan().to_arrow()
    assert held.num_rows == 2


def test_loads_into_a_configured_catalogue_go_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PROD", "SAME"):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name}__TYPE", "sql")
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name}__URI", f"sqlite:///{tmp_path}/any.db")
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name}__WAREHOUSE", f"file://{tmp_path}")
    first, second = (package(tmp_path, each, {"orders": [{"id": int(each)}]}, [ORDERS]) for each in "12")
    others: list[Future[None]] = []
    with ThreadPoolExecutor(1) as pool:

        def load_another(what: str, share: float | None) -> None:
            quiet(what, share)
            if what == "completing the load":
                others.append(pool.submit(destination.load, "iceberg:prod?dataset=sales", second, quiet))
                wait(others, timeout=1)

        destination.load("iceberg:prod?dataset=sales", first, load_another)
        others[0].result()
    assert destination.read_past_loads("iceberg:prod?dataset=sales", "shop").load_ids == {"1", "2"}
    held = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/any.db").load_table(("sales", "orders")).scan().to_arrow()
    assert sorted(held["id"].to_pylist()) == [1, 2]
    assert lock_folder(read_address("iceberg:prod")) == lock_folder(read_address("iceberg:same"))


def test_a_folder_whose_catalogue_has_another_name_is_gone_on_with(tmp_path: Path) -> None:
    held = pa.table({"id": pa.array([1]), "_dlt_id": ["a"], "_dlt_load_id": ["0"]})
    other = catalog_in(tmp_path / "lake", "warehouse")
    other.create_namespace("sales")
    other.create_table(("sales", "orders"), held.schema).append(held)
    url = f"iceberg:{tmp_path / 'lake'}?dataset=sales"
    destination.load(url, package(tmp_path, "1", {"orders": [{"id": 2}]}, [ORDERS]), quiet)
    assert sorted(other.load_table(("sales", "orders")).scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_tables_partitioned_by_more_than_plain_values_are_not_loaded(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    catalog.create_namespace("sales")
    made = catalog.create_table(("sales", "orders"), pa.schema([("id", pa.int64()), ("_dlt_id", pa.string())]))
    with made.update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "id_bucket")
    with pytest.raises(DestinationError, match=r"is partitioned by `bucket\[4\]` of `id`"):
        destination.check_tables(f"iceberg:{tmp_path}?dataset=sales", shop(ORDERS))


def test_reading_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no tables"):
        destination.read_catalogue(f"iceberg:{tmp_path}")
    destination.check_tables(f"iceberg:{tmp_path}", shop(ORDERS))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_catalogue_is_reported(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("something else, and long enough to be no header of a database")
    with pytest.raises(DestinationError, match="is not an Iceberg catalog"):
        destination.read_catalogue(f"iceberg:{tmp_path}")


def test_odd_names_of_tables_and_folders_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c%20d"
    odd = table("odd / name's", {"id": {"data_type": "bigint"}}, resource="odd")
    url = f"iceberg:{folder}"
    for load_id in ("1", "2"):
        destination.load(url, package(tmp_path, load_id, {odd.name: [{"id": 1}]}, [odd]), quiet)
    assert odd.name in destination.read_catalogue(url).schema.tables
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2"}


def test_what_dlt_has_no_type_for_keeps_its_own(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    catalog.create_namespace("sales")
    catalog.create_table(("sales", "t"), pa.schema([("x", pa.list_(pa.int32()))]))
    (column,) = destination.read_catalogue(f"iceberg:{tmp_path}").schema.tables["t"].columns.values()
    assert column.properties == {"x-database-type": "array<int>"}
    assert destination.stored(column) == column.properties


def test_a_missing_package_is_reported_with_the_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing: dict[str, Any] = {"pyiceberg.utils.config": None}
    for name, module in missing.items():
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(DestinationError, match="`pyiceberg` is not installed") as failure:
        destination.check_tables(f"iceberg:{tmp_path}", shop(ORDERS))
    assert failure.value.hint == install_command("iceberg")
