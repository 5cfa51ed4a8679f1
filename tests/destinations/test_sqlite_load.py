"""Loading into a SQLite file."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from staged_loads import order, order_and_lines, orders, package, quiet, shop, staged

from schemactl.destinations import sqlite as destination
from schemactl.errors import DestinationError, InputError
from schemactl.migration.steps import FillColumn
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import table_from_dict
from tests.destinations.conftest import TYPED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def load(path: Path, made: LoadPackage) -> None:
    destination.load(f"sqlite:///{path}", made, quiet)


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_load_makes_the_file_and_its_tables(path: Path, tmp_path: Path) -> None:
    path = path.parent / "new" / "folder" / path.name
    made = order_and_lines(tmp_path)
    destination.check_tables(f"sqlite:///{path}", made.schema)
    load(path, made)
    assert ask(path, "select id, note from orders order by id") == [(1, "a"), (2, None)]
    assert ask(path, "select sku from orders__lines order by sku") == [("x",), ("y",)]
    loads = ask(path, "select load_id, schema_name, status, schema_version_hash, inserted_at from _dlt_loads")
    assert loads == [("1", "shop", 0, made.schema.version_hash, "1970-01-01 00:00:01.000000")]
    catalogue = destination.read_catalogue(f"sqlite:///{path}")
    assert catalogue.hashes == (made.schema.version_hash,)
    assert list(catalogue.schema.tables["orders"].columns) == list(orders().columns)


STORED: dict[str, list[tuple[Any, Any]]] = {
    "a_text": [("", ""), ("a'b\"c\n\r\t\x00ж🐘", "a'b\"c\n\r\t\x00ж🐘")],
    "a_double": [(float("inf"), float("inf")), (5e-324, 5e-324)],
    "a_bool": [(True, 1), (False, 0)],
    "a_timestamp": [
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01 00:00:00.000000"),
        (datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), "9999-12-31 23:59:59.999999"),
    ],
    "naive": [(datetime(2026, 1, 2, 3, 4, 5, 678901), "2026-01-02 03:04:05.678901")],
    "a_bigint": [(-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1)],
    "a_binary": [(b"", b""), (b"\x00\xff\\x41", b"\x00\xff\\x41")],
    "a_json": [('{"b":1,"a":[null,"\\u0001"]}', '{"b": 1, "a": [null, "\\u0001"]}'), ('"x"', '"x"')],
    "a_decimal": [(Decimal("1.5"), 1.5), (Decimal("3"), 3)],
    "a_wei": [(Decimal(10**30), 1e30)],
    "a_date": [(date(1, 1, 1), "0001-01-01")],
    "a_time": [(time(0), "00:00:00.000000"), (time(23, 59, 59, 999999), "23:59:59.999999")],
}
"""Values, and what dlt's loader by SQLAlchemy stores for them."""


@pytest.mark.parametrize("name", STORED)
def test_values_are_stored_as_dlt_stores_them(name: str, path: Path, tmp_path: Path) -> None:
    values = [*STORED[name], (None, None)]
    rows = [order(number, **{name: value}) for number, (value, _) in enumerate(values)]
    load(path, package(tmp_path, shop(orders({name: TYPED[name]})), "1", {"orders": rows}))
    assert [row[0] for row in ask(path, f"select {name} from orders order by id")] == [kept for _, kept in values]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("a_text", "5", "5"),
        ("a_double", 2, 2.0),
        ("a_bool", True, 1),
        ("a_bool", False, 0),
        ("a_timestamp", "2026-01-02T05:04:05+02:00", "2026-01-02 03:04:05.000000"),
        ("naive", "2026-01-02T03:04:05.5", "2026-01-02 03:04:05.500000"),
        ("a_bigint", 2**63 - 1, 2**63 - 1),
        ("a_binary", "YWI=", b"ab"),
        ("a_json", {"b": [1]}, '{"b": [1]}'),
        ("a_decimal", "1.5", 1.5),
        ("a_wei", 10**30, 1e30),
        ("a_date", "2026-01-02", "2026-01-02"),
        ("a_time", "03:04:05", "03:04:05.000000"),
    ],
)
def test_migrations_fill_columns_with_what_loads_would_store(
    name: str, value: Any, kept: Any, path: Path, tmp_path: Path
) -> None:
    made = package(tmp_path, shop(orders({name: TYPED[name]})), "1", {"orders": [order(1, **{name: None})]})
    load(path, made)
    table = made.schema.tables["orders"]
    (statement,) = destination.render(FillColumn("orders", table.columns[name], value), table, "main")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    ((found, kind),) = ask(path, f"select {name}, typeof({name}) from orders")
    assert (found, kind) == (kept, {str: "text", bytes: "blob", float: "real", int: "integer"}[type(kept)])


def test_a_dataset_is_a_file_beside_as_with_dlt(path: Path, tmp_path: Path) -> None:
    destination.load(f"sqlite:///{path}?dataset=sales", order_and_lines(tmp_path), quiet)
    beside = path.with_name("shop__sales.db")
    assert not path.exists()
    assert ask(beside, "select count(*) from orders") == [(2,)]
    destination.load(f"sqlite:///{path}", order_and_lines(tmp_path, "2"), quiet)
    assert ask(beside, "select count(*) from orders") == [(4,)]
    destination.load(f"sqlite:///{path}?dataset=more", order_and_lines(tmp_path, "3"), quiet)
    with pytest.raises(InputError, match="contains 2 datasets"):
        destination.load(f"sqlite:///{path}", order_and_lines(tmp_path, "4"), quiet)


def test_rejects_are_appended(path: Path, tmp_path: Path) -> None:
    table = table_from_dict("_rejects", {"columns": {"why": {"data_type": "text"}, "row": {"data_type": "json"}}})
    for load_id in "12":
        rejects = staged(tmp_path, table, [{"why": "frozen", "row": '{"a":1}'}])
        load(path, replace(order_and_lines(tmp_path, load_id), rejects=rejects))
    assert ask(path, "select why, row from _rejects") == [("frozen", '{"a": 1}')] * 2


def test_a_load_that_fails_leaves_the_file_as_it_was(path: Path, tmp_path: Path) -> None:
    bad = order_and_lines(tmp_path)
    bad = replace(bad, tables=(replace(bad.tables[0], rows=7), *bad.tables[1:]))
    with pytest.raises(DestinationError, match="2 of 7 rows"):
        load(path, bad)
    assert not path.exists()
    load(path, order_and_lines(tmp_path, "2"))
    with pytest.raises(DestinationError, match="2 of 7 rows"):
        load(path, bad)
    assert ask(path, "select load_id from _dlt_loads") == [("2",)]
    assert ask(path, "select count(*) from orders") == [(2,)]


def test_values_that_a_column_there_does_not_keep_are_refused(path: Path, tmp_path: Path) -> None:
    load(path, package(tmp_path, shop(orders({"v": {"data_type": "bigint"}})), "1", {"orders": [order(1, v=1)]}))
    schema = shop(orders({"v": {"data_type": "text"}}))
    load(path, package(tmp_path, schema, "2", {"orders": [order(2, "2", v="7")]}))
    with pytest.raises(DestinationError, match="1 value does not fit into column `v`") as caught:
        load(path, package(tmp_path, schema, "3", {"orders": [order(3, "3", v="seven")]}))
    assert "schemactl migrate" in str(caught.value.hint)
    assert ask(path, "select v, typeof(v) from orders order by id") == [(1, "integer"), (7, "integer")]


def test_a_file_that_another_process_writes_is_waited_for_and_then_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["schemactl.destinations.sqlite.load"]  # whose name a function has
    monkeypatch.setattr(module, "_PATIENCE_OF_LOADS_SECONDS", 0.1)
    load(path, order_and_lines(tmp_path))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(DestinationError, match="locked") as caught:
            load(path, order_and_lines(tmp_path, "2"))
    assert "another process has it open" in str(caught.value.hint)
    load(path, order_and_lines(tmp_path, "2"))
    assert ask(path, "select count(*) from orders") == [(4,)]


KILLED = """
import os, pickle, sys
sys.path[:0] = {paths!r}
from schemactl.destinations import sqlite as destination
from schemactl.destinations import _sql_load
def kill(*_):
    os.kill(os.getpid(), 9)
_sql_load.write_bookkeeping = kill
made = pickle.load(open({made!r}, "rb"))
destination.load({url!r}, made, lambda *_: None)
"""


def test_a_killed_load_leaves_nothing_and_readers_see_what_was_there(path: Path, tmp_path: Path) -> None:
    import pickle

    load(path, order_and_lines(tmp_path))
    many = [order(number, "2", note="x" * 1000) for number in range(20_000)]  # more than SQLite keeps in memory
    (tmp_path / "made").write_bytes(pickle.dumps(package(tmp_path, shop(orders()), "2", {"orders": many})))
    code = KILLED.format(paths=sys.path, made=str(tmp_path / "made"), url=f"sqlite:///{path}")
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == -signal.SIGKILL
    assert Path(f"{path}-journal").exists()
    assert destination.read_catalogue(f"sqlite:///{path}").schema.name == "shop"
    assert destination.read_past_loads(f"sqlite:///{path}", "shop").load_ids == {"1"}
    assert ask(path, "select count(*) from orders") == [(2,)]
    load(path, order_and_lines(tmp_path, "2"))
    assert ask(path, "select count(*) from orders") == [(4,)]
