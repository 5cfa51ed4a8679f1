"""One load or migration at a time writes to a schema of a catalog, from whatever machine and user."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import spark as destination
from schemactl.destinations.spark import commit, lease
from schemactl.destinations.spark.address import read_address
from schemactl.destinations.spark.lease import Lease, leased
from schemactl.errors import DestinationError
from schemactl.migration.records import Patience
from schemactl.migration.steps import CreateTable
from schemactl.schema.types import Column, Table

_COUNT = itertools.count()
load = import_module("schemactl.destinations.spark.load")  # whose name in the package is a function's


@pytest.fixture
def url(spark: Any) -> Iterator[str]:
    name = f"leases{next(_COUNT)}"
    spark.sql(f"CREATE SCHEMA {name}")
    yield f"spark:spark_catalog.{name}"
    spark.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases run out soon."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.1)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have this process look as if it ran on other machines, another one at each call."""
    real, numbers = lease._process, itertools.count()

    def move() -> None:
        number = next(numbers)
        host = {"host": f"host{number}", "system": f"boot{number}"}
        monkeypatch.setattr(lease, "_process", lambda pid: {**real(pid), **host})

    return move


def lease_of(spark: Any, url: str, patience: float = 0.0) -> Lease:
    return Lease(spark, read_address(url), patience)


def tables_there(spark: Any, url: str) -> set[str]:
    return {row.tableName for row in spark.sql(f"SHOW TABLES IN {url.partition(':')[2]}").collect()}


def test_a_lease_is_held_by_one_and_then_by_the_next(spark: Any, url: str) -> None:
    first, second = lease_of(spark, url), lease_of(spark, url)
    first.hold()
    with pytest.raises(DestinationError, match=r"is in use by process \d+ of `.+` on `.+`"):
        second.hold()
    first.check()
    first.release()
    second.hold()
    second.check()
    assert (second.number, tables_there(spark, url)) == (2, {"_schemactl_lease_2"})
    second.release()


def test_of_many_at_once_each_holds_it_alone(spark: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.2)
    inside, most = [], []

    def work(number: int) -> int:
        with leased(spark, read_address(url), 300) as held:
            held.hold()
            inside.append(number)
            most.append(len(inside))
            held.check()
            inside.remove(number)
            return held.number

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(8))) == list(range(1, 9))
    assert set(most) == {1}


def test_the_lease_of_a_process_of_this_machine_that_has_ended_is_free(
    spark: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with monkeypatch.context() as patched:
        patched.setattr(lease.os, "getpid", lambda: ended.pid)
        killed = lease_of(spark, url)
    killed.hold()
    with pytest.raises(DestinationError, match=f"is in use by process {ended.pid} "):
        lease_of(spark, url).hold()
    ended.communicate(b"\n")
    later = lease_of(spark, url)
    later.hold()
    later.release()


@pytest.mark.usefixtures("quick")
def test_a_holder_on_another_machine_that_says_nothing_loses_the_lease(spark: Any, url: str, elsewhere: Any) -> None:
    elsewhere()
    gone = lease_of(spark, url)
    gone.hold()
    elsewhere()
    began = time.monotonic()
    later = lease_of(spark, url)
    later.hold()
    assert time.monotonic() - began >= 1.0
    with pytest.raises(DestinationError, match="lost its lock"):
        gone.check()
    later.release()


def test_a_holder_says_no_more_that_it_is_at_work_once_the_lease_has_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.0)
    held = Lease(None, read_address("spark:spark_catalog.shop"), 0.0)  # type: ignore[arg-type] - it asks nothing
    held._beaten = time.monotonic() - lease.LEASE_SECONDS
    held._beat()


@pytest.mark.usefixtures("quick")
def test_a_holder_on_another_machine_that_is_at_work_keeps_the_lease(
    spark: Any, url: str, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 60.0)
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.1)
    elsewhere()
    held = lease_of(spark, url)
    held.hold()
    elsewhere()
    with pytest.raises(DestinationError, match="on `host0`"):
        lease_of(spark, url).hold()
    held.check()
    held.release()


def test_a_late_one_does_not_take_a_number_that_others_have_passed(spark: Any, url: str) -> None:
    for _ in range(3):
        with leased(spark, read_address(url), 0) as held:
            held.hold()
    late = lease_of(spark, url)
    assert not late._take(2)
    assert tables_there(spark, url) == {"_schemactl_lease_3"}


def test_a_migration_keeps_loads_out_and_a_load_migrations(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(load, "LOAD_PATIENCE_SECONDS", 0.0)
    made = package(tmp_path, shop(orders()), "1", {"orders": [order(1)]})
    with destination.connect(url, "shop"), pytest.raises(DestinationError, match="is in use by"):
        destination.load(url, made, quiet)

    def while_loading(*_: Any) -> None:
        with pytest.raises(DestinationError, match="is in use by"), destination.connect(url, "shop"):
            pass
        with destination.connect(url, "shop", is_read_only=True) as session:
            assert session.dataset == url.partition(":")[2]
        looked.append(True)

    looked: list[bool] = []
    monkeypatch.setattr(load, "recover", lambda target: (while_loading(), commit.recover(target))[1])
    destination.load(url, made, quiet)
    assert looked == [True]


def test_a_schema_that_is_not_there_is_made_and_held_with_the_first_change(spark: Any) -> None:
    name = f"leases{next(_COUNT)}"
    orders_table = Table("orders", {"id": Column("id", {"data_type": "bigint"})})
    step = CreateTable(orders_table)
    with destination.connect(f"spark:spark_catalog.{name}", "shop", patience=Patience(0.0)) as session:
        assert not spark.catalog.databaseExists(name)
        session.run(step, destination.render(step, None, session.dataset))
        with (
            pytest.raises(DestinationError, match="is in use by"),
            destination.connect(session.origin + session.dataset, "s"),
        ):
            pass
    spark.sql(f"DROP SCHEMA {name} CASCADE")


def test_tables_of_a_load_that_is_at_work_are_no_leftovers(
    spark: Any, tmp_path: Path, url: str, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load of another machine is overtaken as it stands still, and must neither lose rows nor bring rows twice."""
    elsewhere()
    slow, quick = (package(tmp_path / each, shop(orders()), each, {"orders": [order(int(each))]}) for each in "12")
    real = load.commit

    def overtaken(target: Any, pending: Any) -> None:
        elsewhere()
        monkeypatch.setattr(load, "commit", real)
        with monkeypatch.context() as patched:
            patched.setattr(lease, "_has_ended", lambda holder: True)  # it was watched for long
            destination.load(url, quick, quiet)
        real(target, pending)

    monkeypatch.setattr(load, "commit", overtaken)
    with pytest.raises(DestinationError, match="lost its lock"):
        destination.load(url, slow, quiet)
    where = url.partition(":")[2]
    assert [row.id for row in spark.table(f"{where}.orders").collect()] == [2]
    assert not [name for name in tables_there(spark, url) if "_new_" in name or "_pending_" in name]
    destination.load(url, slow, quiet)
    assert sorted(row.id for row in spark.table(f"{where}.orders").collect()) == [1, 2]


def test_only_tables_of_earlier_holders_are_dropped(spark: Any, tmp_path: Path, url: str) -> None:
    where = url.partition(":")[2]
    for name in ("_schemactl_new_1_orders", "_schemactl_new_99_orders", "_schemactl_new_orders"):
        spark.sql(f"CREATE TABLE {where}.{name} (id BIGINT) USING parquet")
    destination.load(url, package(tmp_path, shop(orders()), "1", {"orders": [order(1)]}), quiet)
    assert {name for name in tables_there(spark, url) if "_new_" in name} == {
        "_schemactl_new_99_orders",
        "_schemactl_new_orders",
    }


def test_a_holder_whose_name_looks_like_a_secret_is_named(
    spark: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease.socket, "gethostname", lambda: "token-service")
    with leased(spark, read_address(url), 0) as held:
        held.hold()
        with pytest.raises(DestinationError, match="on `token-service`"):
            lease_of(spark, url).hold()


@pytest.mark.parametrize(
    "written", ["", "zz", "5b5d", b'{"pid": "../../x"}'.hex(), b'{"host": 1}'.hex(), "5b" * 99_999]
)
def test_a_table_that_says_nothing_of_its_holder_is_no_lease(spark: Any, url: str, written: str) -> None:
    name = url.partition(":")[2]
    stated = f" TBLPROPERTIES ('schemactl.lease' = '{written}')" if written else ""
    spark.sql(f"CREATE TABLE {name}._schemactl_lease_1 (holder STRING) USING parquet{stated}")
    with (
        leased(spark, read_address(url), 0.0) as held,
        pytest.raises(DestinationError, match="is not a lease of schemactl"),
    ):
        held.hold()
