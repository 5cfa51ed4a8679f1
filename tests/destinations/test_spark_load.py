"""Loads into a schema of Spark's own catalog, in memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from staged_loads import (
    TEXT,
    an_input,
    ledger_files,
    line,
    lines,
    order,
    orders,
    package,
    quiet,
    shop,
    staged,
)

from schemactl.destinations import spark as destination
from schemactl.destinations.spark import commit
from schemactl.destinations.spark.merge import configured
from schemactl.errors import CommandWarning, DestinationError, InputError
from schemactl.normalization.package import ConcurrentLoadError, LoadedInput
from schemactl.schema.types import Column, table_from_dict

_COUNT = itertools.count()
load = import_module("schemactl.destinations.spark.load")  # whose name in the package is a function's


@pytest.fixture
def url(spark: Any) -> Iterator[str]:
    name = f"loads{next(_COUNT)}"
    yield f"spark:spark_catalog.{name}"
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def rows(spark: Any, url: str) -> Callable[..., list[tuple[Any, ...]]]:
    def read(table: str, *columns: str) -> list[tuple[Any, ...]]:
        with configured(spark):  # times of day
            held = spark.table(f"{url.partition(':')[2]}.{table}").select(*columns).collect()
        return sorted((tuple(row) for row in held), key=repr)

    return read


def test_loads_one_after_the_other(tmp_path: Path, url: str, rows: Any) -> None:
    assert destination.read_past_loads(url, "shop").load_ids == frozenset()
    schema = shop(orders(), lines())
    held = {"orders": [order(1), order(2)], "orders__lines": [line("r1.1", 0, "a")]}
    first = package(tmp_path, schema, "1", held, inputs=(an_input("/a"),))
    destination.check_tables(url, schema)
    destination.load(url, first, quiet)
    assert rows("orders", "id") == [(1,), (2,)]
    assert rows("orders__lines", "sku", "_dlt_parent_id") == [("a", "r1.1")]
    assert rows("_dlt_loads", "load_id", "schema_name", "status", "inserted_at", "schema_version_hash") == [
        ("1", "shop", 0, datetime(1970, 1, 1, 0, 0, 1), schema.version_hash)
    ]
    # A second time nothing happens,
    destination.load(url, first, quiet)
    # a new column is null in older rows, and rows that bring a key that is there are rows all the same.
    wide = shop(orders({"paid": {"data_type": "bool"}}), lines())
    again = [order(3, "2", paid=True), {**order(1, "1"), "id": 10}]
    bad = staged(tmp_path, table_from_dict("_rejects", {"columns": {"load_id": TEXT, "value": TEXT}}), [{"value": "x"}])
    second = package(tmp_path, wide, "2", {"orders": again}, inputs=(an_input("/a", 5), an_input("/b")), rejects=bad)
    destination.load(url, second, quiet)
    assert rows("orders", "id", "paid") == [(1, None), (10, None), (2, None), (3, True)]
    assert rows("_rejects", "value") == [("x",)]
    past = destination.read_past_loads(url, "shop")
    assert past.load_ids == {"1", "2"}
    assert ledger_files(destination, url) == {"/a": an_input("/a", 5), "/b": an_input("/b")}
    catalogue = destination.read_catalogue(url)
    assert catalogue.hashes == (wide.version_hash, schema.version_hash)
    assert {"orders", "orders__lines", "_rejects", "_dlt_loads"} <= set(catalogue.schema.tables)
    assert not any(name.startswith("_schemactl") for name in catalogue.schema.tables)


def test_replaced_and_merged_tables(tmp_path: Path, url: str, rows: Any) -> None:
    schema = shop(orders(write_disposition="replace"), lines())
    held = {"orders": [order(1)], "orders__lines": [line("r1.1", 0, "a")]}
    destination.load(url, package(tmp_path, schema, "1", held), quiet)
    destination.load(url, package(tmp_path, schema, "2", {"orders": [order(2), order(3)]}), quiet)
    assert rows("orders", "id") == [(2,), (3,)]
    assert rows("orders__lines", "sku") == []
    key = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}}
    merged = shop(orders(key, write_disposition="merge"), lines())
    held = {"orders": [order(2, "3", note="new"), order(4, "3")], "orders__lines": [line("r4.3", 0, "b")]}
    destination.load(url, package(tmp_path, merged, "3", held), quiet)
    assert rows("orders", "id", "note") == [(2, "new"), (3, None), (4, None)]
    assert rows("orders__lines", "sku") == [("b",)]


def test_all_types(tmp_path: Path, url: str, rows: Any) -> None:
    values: dict[str, Any] = {
        "text": "ä",
        "json": "{}",
        "bigint": 2**62,
        "double": 1.5,
        "bool": True,
        "timestamp": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
        "date": date(2026, 1, 2),
        "time": time(1, 2, 3, 4),
        "binary": b"\x00\xff",
        "decimal": Decimal("1.500000000"),
        "wei": Decimal(10**30),
    }
    columns = {f"a_{name}": {"data_type": name} for name in values}
    naive = {"naive": {"data_type": "timestamp", "timezone": False}, "odd `name. x": {"data_type": "text"}}
    schema = shop(orders({**columns, **naive}))
    row = order(1, naive=datetime(2026, 1, 2), **{f"a_{name}": value for name, value in values.items()})
    row["odd `name. x"] = "odd"
    destination.load(url, package(tmp_path, schema, "1", {"orders": [row]}), quiet)
    quoted = [*(f"a_{name}" for name in values if name != "timestamp"), "naive", "`odd ``name. x`"]
    expected = [*(value for name, value in values.items() if name != "timestamp"), datetime(2026, 1, 2), "odd"]
    assert [tuple(row) for row in rows("orders", *quoted)] == [tuple(expected)]
    found = destination.read_catalogue(url).schema.tables["orders"].columns
    for name, column in schema.tables["orders"].columns.items():
        assert found[name].properties == destination.stored(column), name
        assert destination.stored(found[name]) == found[name].properties


class Killed(BaseException):
    """Stands for the end of the process: nobody cleans up."""


def test_a_load_that_is_killed_is_forgotten_or_finished(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = replace(orders(), name="stock", properties={"write_disposition": "replace", "resource": "stock"})
    schema = shop(orders(), stock)
    destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)], "stock": [order(5)]}), quiet)
    # Killed before the journal, with tables that were staged:
    with monkeypatch.context() as patched:
        patched.setattr(commit, "create_table", _until(commit.create_table, 1))
        patched.setattr(load, "forget", lambda target: None)
        with pytest.raises(Killed):
            destination.load(url, package(tmp_path, schema, "9", {"orders": [order(9)], "stock": []}), quiet)
    assert destination.read_past_loads(url, "shop").load_ids == {"1"}
    assert rows("orders", "id") == [(1,)]
    # and after it, with one step taken and others not.
    held = {"orders": [order(2, "2")], "stock": [order(6, "2")]}
    at, schema_url = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC), url.partition(":")[2]
    seen = LoadedInput("/a", 2**40, at)
    with monkeypatch.context() as patched:
        patched.setattr(commit, "_take", _until(commit._take, 2))
        made = package(tmp_path, schema, "2", held, inputs=(seen,), inserted_at=at)
        with pytest.raises(Killed):
            destination.load(url, made, quiet)
    # What says that it was loaded is in the table of its steps.
    there = {row.tableName for row in spark.sql(f"SHOW TABLES IN {schema_url} LIKE '_schemactl_*_3*'").collect()}
    assert there == {f"_schemactl_{name}" for name in ("lease_3", "new_3_orders", "new_3_stock", "pending_3")}
    past = destination.read_past_loads(url, "shop")
    assert past.load_ids == {"1", "2"}
    assert ledger_files(destination, url) == {"/a": seen}
    with pytest.warns(CommandWarning, match="finished load `2`, which was interrupted"):
        destination.load(url, package(tmp_path, schema, "3", {"orders": [order(3, "3")]}), quiet)
    assert rows("orders", "id") == [(1,), (2,), (3,)]
    assert rows("stock", "id") == [(6,)]
    assert rows("_dlt_loads", "load_id", "inserted_at") == [
        ("1", datetime(1970, 1, 1, 0, 0, 1)),
        ("2", at.replace(tzinfo=None)),
        ("3", datetime(1970, 1, 1, 0, 0, 3)),
    ]
    assert ledger_files(destination, url) == {"/a": seen}


def _step(**fields: Any) -> dict[str, Any]:
    return {"table": "orders", "source": "_schemactl_new_1_orders", **fields}


HOSTILE_STEPS: dict[str, Any] = {
    "rows of another table": _step(source="payroll"),
    "rows that another load has staged": _step(source="_schemactl_new_2_orders"),
    "rows that are staged for another table": _step(source="_schemactl_new_1_orders_x"),
    "another table takes the place": _step(source="payroll", takes_place=True),
    "a table is emptied by a step that appends": _step(source=None),
    "a table of ours is emptied": _step(table="_schemactl_migrations", source=None, overwrites=True),
    "rows of a table that keeps no loads": _step(source=None, rows=[{"id": 7, "_dlt_id": "x"}]),
    "rows that overwrite the loads": _step(table="_dlt_loads", source=None, overwrites=True, rows=[{"load_id": "7"}]),
    "a column that is not there": _step(table="_dlt_loads", source=None, rows=[{"load_id": "7", "sum": 1}]),
    "rows of several forms": _step(table="_dlt_loads", source=None, rows=[{"load_id": "7"}, {"status": 0}]),
    "a source that is a number": _step(source=7),
    "no step": "DROP TABLE payroll",
}


@pytest.mark.parametrize("attack", HOSTILE_STEPS)
def test_steps_that_no_load_takes_are_refused(tmp_path: Path, url: str, rows: Any, spark: Any, attack: str) -> None:
    schema, name = shop(orders()), url.partition(":")[2]
    destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)]}), quiet)
    spark.sql(f"CREATE TABLE {name}.payroll AS SELECT * FROM {name}.orders")
    journal = {"load_id": "9", "schema_name": "shop", "steps": [HOSTILE_STEPS[attack]], "table": "x"}
    frame = spark.createDataFrame([(json.dumps(journal),)], "load STRING")
    frame.write.saveAsTable(f"{name}._schemactl_pending_1")
    with pytest.raises(DestinationError, match=r"cannot read the journal .*_schemactl_pending_1"):
        destination.load(url, package(tmp_path, schema, "2", {"orders": [order(2, "2")]}), quiet)
    for table in ("orders", "payroll"):
        assert rows(table, "id") == [(1,)]
    assert rows("_dlt_loads", "load_id") == [("1",)]


@pytest.mark.parametrize("view", ["_schemactl_new_1_orders", "_schemactl_pending_1"])
def test_a_load_that_is_certain_reads_no_views(tmp_path: Path, url: str, rows: Any, spark: Any, view: str) -> None:
    schema, name = shop(orders()), url.partition(":")[2]
    destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)]}), quiet)
    spark.sql(f"CREATE TABLE {name}.payroll AS SELECT 9 AS id, '9' AS _dlt_load_id, 'r9' AS _dlt_id")
    journal = {"load_id": "9", "schema_name": "shop", "steps": [_step()], "table": "x"}
    frame = spark.createDataFrame([(json.dumps(journal),)], "load STRING")
    if view == "_schemactl_pending_1":
        frame.write.saveAsTable(f"{name}.held")
        spark.sql(f"CREATE VIEW {name}.{view} AS SELECT * FROM {name}.held")
    else:
        frame.write.saveAsTable(f"{name}._schemactl_pending_1")
        spark.sql(f"CREATE VIEW {name}.{view} AS SELECT * FROM {name}.payroll")
    with pytest.raises(DestinationError, match="is a view"):
        destination.load(url, package(tmp_path, schema, "2", {"orders": [order(2, "2")]}), quiet)
    assert rows("orders", "id") == [(1,)]


@pytest.mark.parametrize("columns", ["load BIGINT", "journal STRING", "load STRING, more STRING"])
def test_a_table_of_other_columns_holds_no_journal(tmp_path: Path, url: str, spark: Any, columns: str) -> None:
    name = url.partition(":")[2]
    spark.sql(f"CREATE SCHEMA {name}")
    spark.sql(f"CREATE TABLE {name}._schemactl_pending_1 ({columns}) USING parquet")
    with pytest.raises(DestinationError, match="its only column is not `load`"):
        destination.load(url, package(tmp_path, shop(orders()), "2", {"orders": [order(2, "2")]}), quiet)


@pytest.mark.parametrize("moment", ["before", "after", "others have made it"])
def test_a_table_that_a_load_makes_is_written_once(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    real, schema, name = commit._take, shop(orders()), url.partition(":")[2]

    def take(target: Any, step: Any, **options: Any) -> None:
        assert not spark.catalog.tableExists(f"{name}.orders")
        if moment == "after":
            real(target, step, **options)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "_take", take)
        with pytest.raises(Killed):
            destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)]}), quiet)
    if moment == "others have made it":
        spark.sql(f"CREATE TABLE {name}.orders LIKE {name}._schemactl_new_1_orders")
        spark.sql(f"INSERT INTO {name}.orders VALUES (7, 'theirs', '0', 'r7')")
    destination.load(url, package(tmp_path, schema, "2", {"orders": [order(2, "2")]}), quiet)
    theirs = [(7, "theirs")] if moment == "others have made it" else []
    assert rows("orders", "id", "note") == [(1, None), (2, None), *theirs]
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2"}


def test_rows_that_others_put_into_a_table_that_a_load_makes_stay(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit_late(target: Any, pending: Any) -> None:
        spark.sql(f"INSERT INTO {url.partition(':')[2]}.orders VALUES (7, 'theirs', '0', 'r7')")
        commit.commit(target, pending)

    monkeypatch.setattr(load, "commit", commit_late)
    destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    assert rows("orders", "id", "note") == [(1, None), (7, "theirs")]


def test_a_merge_that_removes_no_row_appends(tmp_path: Path, url: str, rows: Any, monkeypatch: Any) -> None:
    key = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}}
    schema = shop(orders(key, write_disposition="merge", **{"x-merge-strategy": "insert-only"}), lines())
    held = {"orders": [order(1, note="old")], "orders__lines": [line("r1.1", 0, "a")]}
    destination.load(url, package(tmp_path, schema, "1", held), quiet)
    taken, real = [], commit._take

    def watched(target: Any, step: Any, **options: Any) -> None:
        taken.append((step.table, step.overwrites))
        real(target, step, **options)

    monkeypatch.setattr(commit, "_take", watched)
    held = {"orders": [order(1, "2", note="new"), order(2, "2")], "orders__lines": [line("r2.2", 0, "b")]}
    destination.load(url, package(tmp_path, schema, "2", held), quiet)
    assert taken == [("orders__lines", False), ("orders", False), ("_dlt_loads", False)]
    assert rows("orders", "id", "note") == [(1, "old"), (2, None)]
    assert rows("orders__lines", "sku") == [("a",), ("b",)]


def _until(real: Callable[..., None], step: int) -> Callable[..., None]:
    taken = itertools.count(1)

    def run(*arguments: Any, **options: Any) -> None:
        if next(taken) == step:
            raise Killed
        real(*arguments, **options)

    return run


def test_files_that_a_killed_load_left_without_a_table_are_not_in_the_way(
    tmp_path: Path, url: str, rows: Any, spark: Any
) -> None:
    schema = url.partition(":")[2]
    destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE SCHEMA {schema}").collect()}
    for name in ("_schemactl_new_2_orders", "_schemactl_pending_2"):
        left = Path(unquote(urlparse(described["Location"]).path), name, "_temporary")
        left.mkdir(parents=True)
        (left / "part-0.parquet").write_bytes(b"half")
    made = package(tmp_path, shop(orders()), "2", {"orders": [order(2, "2")]}, inputs=(an_input("/a"),))
    destination.load(url, made, quiet)
    assert rows("orders", "id") == [(1,), (2,)]
    assert set(ledger_files(destination, url)) == {"/a"}
    assert not [row for row in spark.sql(f"SHOW TABLES IN {schema}").collect() if "_new_" in row.tableName]


def test_what_a_killed_load_writes_belongs_to_a_table_that_the_next_one_drops(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(writer: Any, table: str, *given: Any, **options: Any) -> None:
        assert spark.catalog.tableExists(table)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(load, "forget", lambda target: None)
        for name in ("insertInto", "saveAsTable"):
            patched.setattr(type(spark.range(1).write), name, die)
        with pytest.raises(Killed):
            destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    assert rows("orders", "id") == [(1,)]


def test_a_load_that_is_certain_and_has_lost_a_table_is_reported(
    tmp_path: Path, url: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = package(tmp_path, shop(orders()), "1", {"orders": [order(1)]})
    with monkeypatch.context() as patched:
        patched.setattr(commit, "_take", _until(commit._take, 1))
        with pytest.raises(Killed):
            destination.load(url, made, quiet)
    spark.sql(f"DROP TABLE {url.partition(':')[2]}._schemactl_new_1_orders")
    for _ in range(2):
        with pytest.raises(
            DestinationError, match=r"load `1` .* its table `_schemactl_new_1_orders` is missing"
        ) as caught:
            destination.load(url, made, quiet)
        assert "`_schemactl_pending_1`" in str(caught.value.hint)


def test_rows_come_after_those_that_are_nested_in_them(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    real = commit._take

    def watched(target: Any, step: Any, **options: Any) -> None:
        taken.append(step.table)
        real(target, step, **options)

    monkeypatch.setattr(commit, "_take", watched)
    held = {"orders": [order(1)], "orders__lines": [line("r1.1", 0, "x")]}
    destination.load(url, package(tmp_path, shop(orders(), lines()), "1", held), quiet)
    assert taken == ["orders__lines", "orders", "_dlt_version", "_dlt_loads"]


def test_what_is_there_and_does_not_fit_is_reported(tmp_path: Path, url: str, spark: Any) -> None:
    name = url.partition(":")[2]
    schema = shop(orders())
    spark.sql(f"CREATE SCHEMA {name}")
    spark.sql(f"CREATE VIEW {name}.orders AS SELECT 1 AS id")

    def refused() -> str:
        with pytest.raises(DestinationError) as checked:
            destination.check_tables(url, schema)
        with pytest.raises(DestinationError):
            destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)]}), quiet)
        return checked.value.message

    assert refused() == "`orders` is a view"
    spark.sql(f"DROP VIEW {name}.orders")
    spark.sql(f"CREATE TABLE {name}.orders (id BIGINT) USING parquet")
    assert refused() == "`orders` was not created by dlt or schemactl: it has no `_dlt_id`"
    spark.sql(f"ALTER TABLE {name}.orders ADD COLUMNS (_dlt_id STRING, note DOUBLE)")
    assert refused() == "`orders.note` is double there, and string in the schema"
    there = spark.sql(f"SHOW TABLES IN {name}").collect()
    assert [row.tableName for row in there if not row.tableName.startswith("_schemactl_lease_")] == ["orders"]


def test_a_load_asks_the_catalogue_for_the_tables_that_it_writes_alone(
    tmp_path: Path, url: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, asked = url.partition(":")[2], []
    destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    spark.sql(f"CREATE TABLE {name}.other (id BIGINT) USING parquet")
    real = type(spark).table
    monkeypatch.setattr(type(spark), "table", lambda held, table: (asked.append(table), real(held, table))[1])
    destination.load(url, package(tmp_path, shop(orders()), "2", {"orders": [order(2, "2")]}), quiet)
    assert {each.rpartition(".")[2].strip("`") for each in asked} == {
        "orders",
        "_schemactl_new_2_orders",
        "_schemactl_inputs",
        "_dlt_version",
        "_dlt_loads",
    }


def test_names_that_the_catalogue_cannot_keep_are_reported(url: str, spark: Any) -> None:
    with pytest.raises(DestinationError, match="does not allow the table name `żółw`"):
        destination.check_tables(url, shop(replace(orders(), name="żółw")))
    with pytest.raises(DestinationError, match="`orders` and `ORDERS` are the same table"):
        destination.check_tables(url, shop(orders(), replace(orders(), name="ORDERS")))


@pytest.mark.parametrize("address", ["spark:", "spark:one", "spark:a.b.c", "spark:a.b?dataset=c", "spark:a.1b"])
def test_addresses_that_name_no_schema(address: str) -> None:
    with pytest.raises(InputError, match="does not name a schema"):
        destination.read_catalogue(address)


def test_catalogues_that_are_not_there(spark: Any) -> None:
    with pytest.raises(InputError, match="there are no tables in `spark_catalog"):
        destination.read_catalogue("spark:spark_catalog.nothing")
    with pytest.raises(InputError, match="there are no tables in `nowhere"):
        destination.read_catalogue("spark:nowhere?dataset=nothing")


def test_a_type_that_dlt_lacks_is_kept_as_it_is(spark: Any, url: str) -> None:
    name = url.partition(":")[2]
    spark.sql(f"CREATE SCHEMA {name}")
    spark.sql(f"CREATE TABLE {name}.t (a ARRAY<INT>, b VARCHAR(5), c DECIMAL(10,2)) USING parquet")
    found = destination.read_catalogue(url).schema.tables["t"].columns
    assert found["a"] == Column("a", {"x-database-type": "array<int>"})
    assert found["b"].properties == {"data_type": "text"}
    assert found["c"].properties == {"data_type": "decimal", "precision": 10, "scale": 2}


def test_files_are_forgotten_by_a_load_without_rows(url: str, tmp_path: Path) -> None:
    schema = shop(orders())
    destination.load(url, package(tmp_path, schema, "1", {"orders": [order(1)]}, inputs=(an_input("/a"),)), quiet)
    forgets = package(tmp_path, schema, "2", {}, inputs=(an_input("/a"),))
    destination.load(url, replace(forgets, forgets=True), quiet)
    entries = destination.read_ledger(url, "shop")
    assert {entry.load_id: entry.is_forgotten for entry in entries} == {"1": False, "2": True}
    again = replace(package(tmp_path, schema, "3", {"orders": [order(2, "3")]}), inputs=(an_input("/a"),))
    destination.load(url, replace(again, compared_loads=frozenset("1")), quiet)
    with pytest.raises(ConcurrentLoadError, match="load `3` has loaded `/a` meanwhile"):
        destination.load(url, replace(again, load_id="4", compared_loads=frozenset("12")), quiet)
