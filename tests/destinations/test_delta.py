"""Delta tables: what dlt made of them, what schemactl cannot write to, and that dlt goes on after it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import dlt
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake
from dlt.common.libs.deltalake import get_delta_tables
from lake_samples import package, table
from staged_loads import quiet, shop

from schemactl.destinations import delta as destination
from schemactl.errors import DestinationError
from schemactl.formats.dlt import read
from schemactl.installation import install_command
from schemactl.schema.types import Column

Load = Callable[..., Path]
ORDERS = table("orders", {"id": {"data_type": "bigint"}})


def lake(folder: Path) -> Any:
    return dlt.destinations.filesystem(str(folder))


def test_the_catalogue_of_dlts_tables_is_what_its_schema_says(load: Load, tmp_path: Path) -> None:
    file = load(lake(tmp_path / "lake"), table_format="delta", write_disposition="append")
    schema = read(file.read_text(), str(file)).schema
    for url in (f"delta:{tmp_path / 'lake'}", f"delta:{tmp_path / 'lake' / 'sales'}"):
        catalogue = destination.read_catalogue(url)
        assert catalogue.hashes == (schema.version_hash,)
        assert catalogue.schema.name == "shop"
        for name, found in catalogue.schema.tables.items():
            complete = [each for each in schema.tables[name].columns.values() if each.is_complete]
            assert {each.name: each.properties for each in found.columns.values()} == {
                each.name: destination.stored(each) for each in complete
            }


def test_a_dlt_pipeline_goes_on_where_schemactl_has_loaded(tmp_path: Path) -> None:
    def pipeline(name: str) -> dlt.Pipeline:
        return dlt.pipeline(
            "shop", destination=lake(tmp_path / "lake"), dataset_name="sales", pipelines_dir=str(tmp_path / name)
        )

    @dlt.resource(name="orders", table_format="delta", write_disposition="append")
    def orders() -> Iterator[dict[str, Any]]:
        yield {"id": 2, "note": "dlt"}

    destination.load(
        f"delta:{tmp_path / 'lake'}?dataset=sales", package(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS]), quiet
    )
    pipeline("a").run(orders()).raise_on_failed_jobs()
    url = f"delta:{tmp_path / 'lake'}"
    destination.load(url, package(tmp_path, "3", {"orders": [{"id": 3}]}, [ORDERS]), quiet)
    found = (
        DeltaTable(str(tmp_path / "lake" / "sales" / "orders")).to_pyarrow_table().select(["id", "note"]).to_pylist()
    )
    assert sorted((row["id"], row["note"]) for row in found) == [(1, None), (2, "dlt"), (3, None)]
    assert {"1", "3"} < destination.read_past_loads(url, "shop").load_ids
    restored = pipeline("b")
    restored.sync_destination()
    assert get_delta_tables(restored)["orders"].version() > 2
    assert set(restored.default_schema.data_table_names()) == {"orders"}


def make(folder: Path, **options: Any) -> str:
    held = pa.schema([("id", pa.int64()), ("day", pa.string()), ("_dlt_id", pa.string())])
    DeltaTable.create(str(folder / "sales" / "orders"), Schema.from_arrow(held), **options)
    return f"delta:{folder}?dataset=sales"


def test_tables_that_ask_for_more_than_is_done_are_not_loaded(tmp_path: Path) -> None:
    url = make(tmp_path)
    folder = str(tmp_path / "sales" / "orders")
    destination.check_tables(url, shop(ORDERS))
    DeltaTable(folder).alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(DestinationError, match="requires writer features that schemactl does not support"):
        destination.check_tables(url, shop(ORDERS))


def test_parquet_without_a_log_is_no_table_of_ours(tmp_path: Path) -> None:
    folder = tmp_path / "sales" / "orders"
    folder.mkdir(parents=True)
    (folder / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DestinationError, match="contains Parquet files, but is not a Delta table"):
        destination.check_tables(f"delta:{tmp_path}?dataset=sales", shop(ORDERS))


def test_names_that_differ_in_case_alone_are_one_there(tmp_path: Path) -> None:
    both = table("orders", {"Id": {"data_type": "bigint"}, "id": {"data_type": "bigint"}})
    with pytest.raises(DestinationError, match="columns `Id` and `id` of `orders` are the same column"):
        destination.check_tables(f"delta:{tmp_path}", shop(both))


def test_a_log_that_is_broken_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("x")
    with pytest.raises(DestinationError, match="cannot read the Delta table") as caught:
        destination.read_catalogue(f"delta:{tmp_path}")
    # Delta reports it in colors, over many lines, with its stack.
    assert caught.value.message.isprintable()
    assert "pthread" not in caught.value.message


def test_what_dlt_has_no_type_for_keeps_its_own(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"x": pa.array([[1]], pa.list_(pa.int32()))}))
    (column,) = destination.read_catalogue(f"delta:{tmp_path}").schema.tables["t"].columns.values()
    assert "array" in column.properties["x-database-type"].lower()
    assert destination.stored(column) == column.properties


def test_timestamps_without_zone_may_come_later(tmp_path: Path) -> None:
    url = f"delta:{tmp_path / 'lake'}?dataset=sales"
    destination.load(url, package(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS]), quiet)
    later = table("orders", {"at": {"data_type": "timestamp", "timezone": False}})
    destination.load(url, package(tmp_path, "2", {"orders": [{"at": datetime(2026, 1, 1)}]}, [later]), quiet)
    assert destination.read_catalogue(url).schema.tables["orders"].columns["at"] == Column(
        "at", {"data_type": "timestamp", "timezone": False}
    )


def test_a_missing_package_is_reported_with_the_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(DestinationError, match="`deltalake` is not installed") as failure:
        destination.check_tables(f"delta:{tmp_path}", shop(ORDERS))
    assert failure.value.hint == install_command("delta")
