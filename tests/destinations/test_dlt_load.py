"""Loading by dlt's own loader: DuckDB, a folder of files, and SQLite by SQLAlchemy."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from staged_loads import an_input, ledger_files, line, lines, order, orders, package, quiet, shop, staged

from schemactl.destinations import dlt as destination
from schemactl.destinations import duckdb as own_duckdb
from schemactl.errors import DestinationError, InputError
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import table_from_dict
from tests.destinations.conftest import TYPED

KINDS = ("duckdb", "filesystem", "sqlalchemy")
KEYED = {"id": {"data_type": "bigint", "primary_key": True}}


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DESTINATION__DUCKDB__CREDENTIALS", str(tmp_path / "there.duckdb"))
    monkeypatch.setenv("DESTINATION__FILESYSTEM__BUCKET_URL", str(tmp_path / "bucket"))
    monkeypatch.setenv("DESTINATION__SQLALCHEMY__CREDENTIALS", f"sqlite:///{tmp_path}/there.db")


def url(kind: str) -> str:
    return f"dlt:{kind}?dataset=sales"


def load(kind: str, made: LoadPackage) -> None:
    destination.load(url(kind), made, quiet)


def rows(kind: str, folder: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table by their columns, sorted."""
    listed = ", ".join(columns)
    if kind == "sqlalchemy":
        with closing(sqlite3.connect(folder / "there__sales.db")) as connection:
            return sorted(connection.execute(f"select {listed} from {table}").fetchall(), key=repr)
    place, file = f"sales.{table}", folder / "there.duckdb"
    if kind == "filesystem":
        ending = "parquet" if list((folder / "bucket" / "sales" / table).glob("*.parquet")) else "jsonl"
        found = folder / "bucket" / "sales" / table / f"*.{ending}"
        if not list(found.parent.glob(found.name)):
            return []
        place, file = f"read_{'parquet' if ending == 'parquet' else 'json'}('{found}', union_by_name=true)", Path()
    with duckdb.connect(str(file) if file.name else ":memory:", read_only=bool(file.name)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return sorted(connection.execute(f"select {listed} from {place}").fetchall(), key=repr)


def two(folder: Path, load_id: str = "1", **properties: Any) -> LoadPackage:
    """A load of orders 1 and 2 with two lines."""
    held = {
        "orders": [order(1, load_id, note="a"), order(2, load_id)],
        "orders__lines": [line(f"r1.{load_id}", 0, "x"), line(f"r2.{load_id}", 0, "y")],
    }
    return package(folder, shop(orders(**properties), lines()), load_id, held)


@pytest.mark.parametrize("kind", KINDS)
def test_a_load_arrives_with_its_keys_its_load_and_the_files_schema(kind: str, tmp_path: Path) -> None:
    made = two(tmp_path)
    load(kind, made)
    assert rows(kind, tmp_path, "orders", "id", "note", "_dlt_id") == [(1, "a", "r1.1"), (2, None, "r2.1")]
    assert rows(kind, tmp_path, "orders__lines", "sku", "_dlt_parent_id") == [("x", "r1.1"), ("y", "r2.1")]
    loads = rows(kind, tmp_path, "_dlt_loads", "load_id", "schema_name", "status", "schema_version_hash")
    assert [tuple(map(str, row)) for row in loads] == [("1", "shop", "0", made.schema.version_hash)]
    versions = rows(kind, tmp_path, "_dlt_version", "schema_name", "version_hash", "schema")
    assert [row[:2] for row in versions] == [("shop", made.schema.version_hash)]
    written = versions[0][2] if isinstance(versions[0][2], str) else json.dumps(versions[0][2])
    assert json.loads(written) == json.loads(json.dumps(made.schema.to_dict()))
    catalogue = destination.read_catalogue(url(kind))
    assert catalogue.hashes == (made.schema.version_hash,)
    assert catalogue.schema.tables == made.schema.tables


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_load_again_does_nothing(kind: str, tmp_path: Path) -> None:
    assert destination.read_past_loads(url(kind), "shop").load_ids == frozenset()
    load(kind, two(tmp_path))
    load(kind, two(tmp_path))
    load(kind, two(tmp_path, "2"))
    assert len(rows(kind, tmp_path, "orders", "id")) == 4
    assert destination.read_past_loads(url(kind), "shop").load_ids == {"1", "2"}
    assert destination.read_past_loads(url(kind), "other").load_ids == frozenset()


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_rejects_are_kept_beside_the_tables(kind: str, tmp_path: Path) -> None:
    table = table_from_dict(
        "_rejects",
        {"columns": {"why": {"data_type": "text"}, "row": {"data_type": "json"}}, "write_disposition": "append"},
    )
    for load_id, size in (("1", 1), ("2", 3)):
        rejects = staged(tmp_path, table, [{"why": "frozen", "row": '{"a":1}'}])
        made = replace(two(tmp_path, load_id), rejects=rejects, inputs=(an_input("/a", size),))
        load(kind, made)
    assert len(rows(kind, tmp_path, "_rejects", "why")) == 2
    found = destination.read_past_loads(url(kind), "shop")
    assert found.load_ids == {"1", "2"}
    assert ledger_files(destination, url(kind)) == {"/a": an_input("/a", 3)}
    assert destination.read_catalogue(url(kind)).hashes == (made.schema.version_hash,)
    if kind == "duckdb":
        catalogue = own_duckdb.read_catalogue(f"duckdb:///{tmp_path}/there.duckdb?dataset=sales")
        assert (catalogue.schema.name, catalogue.hashes) == ("shop", (made.schema.version_hash,))


@pytest.mark.parametrize("kind", KINDS)
def test_new_columns_and_tables_are_added(kind: str, tmp_path: Path) -> None:
    first = package(tmp_path, shop(orders(), lines()), "1", {"orders": [order(1)]})
    load(kind, first)
    grown = shop(orders({"new": {"data_type": "double"}}), lines())
    held = {"orders": [order(3, "2", new=0.5)], "orders__lines": [line("r3.2", 0, "z")]}
    load(kind, package(tmp_path, grown, "2", held))
    assert rows(kind, tmp_path, "orders", "id", "new") == [(1, None), (3, 0.5)]
    assert rows(kind, tmp_path, "orders__lines", "sku") == [("z",)]
    assert len(rows(kind, tmp_path, "_dlt_version", "version_hash")) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_replaced_loses_its_nested_rows_too(kind: str, tmp_path: Path) -> None:
    load(kind, two(tmp_path, write_disposition="replace"))
    schema = shop(orders(write_disposition="replace"), lines())
    load(kind, package(tmp_path, schema, "2", {"orders": [order(7, "2")]}))
    assert rows(kind, tmp_path, "orders", "id") == [(7,)]
    assert rows(kind, tmp_path, "orders__lines", "sku") == []


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "insert-only"])
@pytest.mark.parametrize("kind", ["duckdb", "sqlalchemy"])
def test_rows_are_merged_by_their_primary_key(kind: str, strategy: str, tmp_path: Path) -> None:
    merged = {"write_disposition": "merge", "x-merge-strategy": strategy}
    for load_id, numbers in (("1", (1, 2)), ("2", (2, 3))):
        held = {
            "orders": [{**order(n, load_id), "_dlt_id": f"r{n}"} for n in numbers],
            "orders__lines": [line(f"r{n}", 0, load_id) for n in numbers],
        }
        made = package(tmp_path, shop(orders(KEYED, **merged), lines()), load_id, held)
        if strategy != "delete-insert" and kind == "sqlalchemy":
            with pytest.raises(DestinationError, match=f"`{strategy}` merge strategy not supported"):
                destination.check_tables(url(kind), made.schema)
            return
        destination.check_tables(url(kind), made.schema)
        load(kind, made)
    kept = "1" if strategy == "insert-only" else "2"
    assert rows(kind, tmp_path, "orders", "id", "_dlt_load_id") == [(1, "1"), (2, kept), (3, "2")]
    assert rows(kind, tmp_path, "orders__lines", "_dlt_root_id", "sku") == [("r1", "1"), ("r2", kept), ("r3", "2")]


VALUES: dict[str, Any] = {
    "a_text": "a'b\"c\n\r\tж🐘\\.",
    "a_double": 5e-324,
    "a_bool": True,
    "a_timestamp": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    "a_bigint": -(2**63),
    "a_binary": b"\x00\xff\\x41",
    "a_json": '{"b":1,"a":[null]}',
    "a_decimal": Decimal("-12345678901234567890123456789.123456789"),
    "a_wei": Decimal(10**37),
    "a_date": date(2, 1, 1),
    "a_time": time(23, 59, 59, 999999),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_arrive_as_they_are(kind: str, tmp_path: Path) -> None:
    columns = {name: TYPED[name] for name in VALUES}
    load(kind, package(tmp_path, shop(orders(columns)), "1", {"orders": [order(1, **VALUES), order(2)]}))
    found = rows(kind, tmp_path, "orders", "id", *VALUES)
    if kind == "sqlalchemy":  # as dlt's loader stores them in SQLite
        stored = {name: str(value) for name, value in VALUES.items() if name in ("a_date", "a_time")}
        stored |= {"a_timestamp": "9999-12-31 23:59:59.999999", "a_json": '{"b": 1, "a": [null]}'}
        stored |= {name: float(VALUES[name]) for name in ("a_decimal", "a_wei")}
        assert found == [(1, *({**VALUES, **stored}.values())), (2, *(None for _ in VALUES))]
    else:
        assert found == [(1, *VALUES.values()), (2, *(None for _ in VALUES))]


KILLED = """
import os, pickle, sys
sys.path[:0] = {paths!r}
from schemactl.destinations import dlt as destination
from dlt.common.storages.load_package import PackageStorage
complete = PackageStorage.complete_job
left = [{files}]
def complete_job(self, load_id, name):
    complete(self, load_id, name)
    left[0] -= 1
    if left[0] <= 0:
        os._exit(9)
PackageStorage.complete_job = complete_job
destination.load({url!r}, pickle.load(open({made!r}, "rb")), lambda *_: None)
"""


def kill_after(files: int, kind: str, made: LoadPackage, folder: Path) -> None:
    """Load in a process that ends once so many of its files are loaded."""
    import pickle

    saved = folder / "made.pickle"
    saved.write_bytes(pickle.dumps(made))
    code = KILLED.format(paths=sys.path, files=files, url=url(kind), made=str(saved))
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 9


@pytest.mark.parametrize(("kind", "files"), [("duckdb", 1), ("duckdb", 3), ("filesystem", 1), ("sqlalchemy", 2)])
def test_the_next_load_goes_on_with_what_a_killed_one_has_left(kind: str, files: int, tmp_path: Path) -> None:
    kill_after(files, kind, two(tmp_path), tmp_path)
    assert destination.read_past_loads(url(kind), "shop").load_ids == frozenset()
    load(kind, two(tmp_path, "2"))
    assert destination.read_past_loads(url(kind), "shop").load_ids == {"1", "2"}
    assert len(rows(kind, tmp_path, "orders", "id")) == 4
    assert len(rows(kind, tmp_path, "orders__lines", "sku")) == 4


def test_a_killed_load_that_is_repeated_is_loaded_once(tmp_path: Path) -> None:
    kill_after(1, "duckdb", two(tmp_path), tmp_path)
    load("duckdb", two(tmp_path))
    assert len(rows("duckdb", tmp_path, "orders", "id")) == 2


def test_a_load_that_fails_before_rows_arrive_does_not_stand_in_the_way_of_others(tmp_path: Path) -> None:
    load("duckdb", package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}))
    wrong = orders({"note": {"data_type": "date"}})
    bad = package(tmp_path, shop(wrong), "2", {"orders": [order(2, "2", note=date(2026, 1, 2))]})
    with duckdb.connect(str(tmp_path / "there.duckdb")) as connection:
        connection.execute("alter table sales.orders alter note type double using 1.5")
    with pytest.raises(DestinationError, match="cannot load in `dlt:duckdb`"):
        load("duckdb", bad)
    with duckdb.connect(str(tmp_path / "there.duckdb")) as connection:
        connection.execute("alter table sales.orders alter note type varchar")
    load("duckdb", package(tmp_path, shop(orders()), "3", {"orders": [order(3, "3", note="x")]}))
    assert destination.read_past_loads(url("duckdb"), "shop").load_ids == {"1", "3"}


def test_a_destination_that_takes_no_parquet_gets_another_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dlt.destinations.impl.duckdb import factory

    raw = factory.duckdb._raw_capabilities

    def without_parquet(self: Any) -> Any:
        found = raw(self)
        found.supported_loader_file_formats = ["insert_values"]
        return found

    monkeypatch.setattr(factory.duckdb, "_raw_capabilities", without_parquet)
    columns = {name: TYPED[name] for name in VALUES}
    load("duckdb", package(tmp_path, shop(orders(columns)), "1", {"orders": [order(1, **VALUES)]}))
    assert rows("duckdb", tmp_path, "orders", *VALUES) == [tuple(VALUES.values())]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("dlt:", "does not name a destination"),
        ("dlt:nowhere?dataset=x", "dlt has no destination `nowhere`"),
        ("dlt:duckdb?dataset=", "does not name a dataset"),
        ("dlt:duckdb?host=x", "`host` is not a parameter of `dlt`"),
        ("dlt:duckdb", "does not name a dataset"),
        ("dlt:duckdb?dataset=none", "dlt has loaded no dataset `none`"),
    ],
)
def test_an_address_that_says_nothing_is_refused(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        destination.read_catalogue(address)


def test_what_dlts_configuration_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DESTINATION__FILESYSTEM__BUCKET_URL")
    with pytest.raises(DestinationError, match="is missing `bucket_url`") as caught:
        destination.check_tables(url("filesystem"), shop(orders()))
    assert "secrets.toml" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "limit"), [("duckdb", 65536), ("postgres", 63), ("snowflake", 255), ("bigquery", 300), ("mssql", 128)]
)
def test_names_are_as_long_as_dlt_lets_them_be(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Callable[[str], Any] = destination.name_limits
    assert found(f"dlt:{name}").max_bytes == limit
