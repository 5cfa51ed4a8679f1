"""Migrations of Iceberg tables: each step on real tables, whole runs by the flows, kills, and loads afterwards."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import migrated_datasets
import pyarrow as pa
import pytest
from forked_commands import MIGRATION, Commands, forked_commands
from lake_samples import package, table
from migrated_datasets import put
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform, IdentityTransform
from schema_parts import column
from staged_loads import quiet, shop

from schemactl.destinations import iceberg as destination
from schemactl.destinations.iceberg import migration_session as iceberg_session
from schemactl.destinations.iceberg.migration_session import IcebergMigration
from schemactl.errors import CommandWarning, DestinationError, InputError
from schemactl.flows.migrate.inspection import find_status
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Patience
from schemactl.migration.reports import ApplyReport, BlockerKind, Outcome, PlanReport
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.conversions import Conversion
from schemactl.schema.hash import bump
from schemactl.schema.types import Column, Schema, Table

URL = "iceberg:lake?dataset=shop"
BIGINT = {"data_type": "bigint"}
STRUCT = {"data_type": "json", "x-spark-type": "struct<a:bigint>"}
TEXT = {"data_type": "text"}
FIRST = table("orders", {"id": BIGINT, "amount": BIGINT, "note": TEXT, "old": TEXT})
SECOND = table(
    "orders",
    {
        "id": BIGINT,
        "amount": {"data_type": "double"},
        "memo": {**TEXT, "x-renamed-from": "note"},
        "old": TEXT,
        "paid": {"data_type": "timestamp"},
    },
)
ROWS = [{"id": 1, "amount": 5, "note": "x", "old": "o"}, {"id": 2, "amount": 7, "note": "12"}]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A dataset with two orders, as a load of schemactl makes it: its files say columns by name."""
    monkeypatch.chdir(tmp_path)
    load(FIRST, "1", ROWS)
    return URL


def load(orders: Table, load_id: str, rows: list[dict[str, Any]]) -> None:
    destination.load(URL, package(Path(tempfile.mkdtemp(dir=".")), load_id, {"orders": rows}, [orders]), quiet)


def catalog() -> SqlCatalog:
    folder = Path("lake").absolute()
    return SqlCatalog("default", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))


def opened(name: str = "orders") -> Any:
    return catalog().load_table(("shop", name))


def rows(*columns: str, name: str = "orders") -> list[tuple[Any, ...]]:
    found = opened(name).scan(selected_fields=columns).to_arrow().select(columns)
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=str)


def columns() -> list[str]:
    return [each.name for each in opened().schema().fields]


def files() -> set[str]:
    return {task.file.file_path for task in opened().scan().plan_files()}


def test_some_tables_are_read_without_the_others(url: str) -> None:
    run(url, CreateTable(table("lines", {"id": BIGINT})))
    with destination.connect(url, "shop", is_read_only=True) as session:
        tables = session.catalogue().schema.tables
        assert {"lines", "orders"} <= tables.keys()
        assert session.catalogue(("lines", "missing")).schema.tables == {"lines": tables["lines"]}


def run(url: str, *steps: Step) -> None:
    with destination.connect(url, "shop") as session:
        for step in steps:
            session.run(step, destination.render(step, None, "shop"))


def wanted(orders: Table, before: Table = FIRST) -> Schema:
    return bump(replace(shop(before), tables=shop(orders).tables))


def plan(url: str, orders: Table, **options: Any) -> PlanReport:
    return migrated_datasets.plan(url, wanted(orders), **options)


def apply(url: str, orders: Table, *, allows: bool = False, patience: float = 10.0, **options: Any) -> ApplyReport:
    choices = {"allows_destructive": allows, "patience": Patience(patience), **options}
    return migrated_datasets.apply(url, wanted(orders), **choices)


def status(url: str) -> Any:
    return find_status(None, url, Path("schemas"), PlanOptions())


AMOUNT = column("amount", "bigint")


@pytest.mark.parametrize(("forward", "back", "seen"), [
    (AddColumn("orders", column("paid", "timestamp")), DropColumn("orders", column("paid", "timestamp")), ("paid",)),
    (RenameColumn("orders", "note", "memo"), RenameColumn("orders", "memo", "note"), ("memo",)),
    (SetNotNull("orders", column("note")), DropNotNull("orders", column("note", nullable=False)), ("note",)),
    (ChangeType("orders", AMOUNT, column("amount", "text"), Conversion.WHOLE),
     ChangeType("orders", column("amount", "text"), AMOUNT, Conversion.DEPENDS), ("amount",)),
])  # fmt: skip
def test_a_step_and_its_undo_leave_rows_and_columns_as_they_were(
    url: str, forward: Step, back: Step, seen: tuple[str, ...]
) -> None:
    before = (destination.read_catalogue(url).schema.tables["orders"], rows("id", "amount", "note", "old"))

    run(url, forward)

    assert destination.read_catalogue(url).schema.tables["orders"] != before[0]
    assert set(seen) <= set(columns())
    run(url, back)
    assert (destination.read_catalogue(url).schema.tables["orders"], rows("id", "amount", "note", "old")) == before


def test_what_changes_the_catalogue_alone_writes_no_rows(url: str) -> None:
    load(table("orders", {"price": {"data_type": "decimal", "precision": 10, "scale": 2}}), "2", [])
    before = files()
    price = column("price", "decimal", precision=10, scale=2)
    wider = column("price", "decimal", precision=20, scale=2)

    run(
        url,
        AddColumn("orders", column("small", "bigint", precision=32)),
        ChangeType("orders", column("small", "bigint", precision=32), column("small", "bigint")),
        ChangeType("orders", price, wider),
        RenameColumn("orders", "note", "memo"),
        RenameColumn("orders", "memo", "note"),
        RenameColumn("orders", "note", "memo"),
        DropColumn("orders", column("old")),
        SetNotNull("orders", column("id", "bigint")),
        RenameTable("orders", "sales"),
        RenameTable("sales", "orders"),
    )

    assert files() == before
    assert rows("id", "memo") == [(1, "x"), (2, "12")]
    assert {each.name: str(each.field_type) for each in opened().schema().fields}["price"] == "decimal(20, 2)"
    assert opened().schema().find_field("small").field_type == opened().schema().find_field("amount").field_type


def test_an_integer_that_is_widened_is_found_by_its_value(url: str) -> None:
    small = column("n", "bigint", precision=32)
    run(url, CreateTable(Table("numbers", {"n": small}, {})))
    opened("numbers").append(pa.table({"n": pa.array([1, 2**31 - 1], pa.int32())}))

    run(url, ChangeType("numbers", small, column("n", "bigint")))

    opened("numbers").append(pa.table({"n": pa.array([2**40], pa.int64())}))
    assert opened("numbers").scan(row_filter=f"n >= {2**31 - 1}").to_arrow()["n"].to_pylist() == [2**40, 2**31 - 1]


@pytest.mark.parametrize(("before", "after", "way"), [
    ({"data_type": "bigint", "precision": 32}, BIGINT, Way.IN_PLACE),
    (BIGINT, {"data_type": "bigint", "precision": 32}, Way.REWRITE),
    (TEXT, {"data_type": "json"}, Way.IN_PLACE),
    (BIGINT, {"data_type": "double"}, Way.REWRITE),
    (TEXT, STRUCT, Way.REWRITE),
    (STRUCT, TEXT, Way.REWRITE),
    (STRUCT, {**STRUCT, "description": "of goods"}, Way.IN_PLACE),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, {"data_type": "decimal", "precision": 12, "scale": 2},
     Way.IN_PLACE),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, {"data_type": "decimal", "precision": 12, "scale": 3},
     Way.REWRITE),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, {"data_type": "decimal", "precision": 9, "scale": 2},
     Way.REWRITE),
])  # fmt: skip
def test_only_widening_is_done_in_place(before: dict[str, Any], after: dict[str, Any], way: Way) -> None:
    step = ChangeType("orders", Column("c", before), Column("c", after))
    assert step.way(destination.ABILITIES) is way


def test_a_retyped_column_keeps_what_is_said_of_it(url: str) -> None:
    with opened().update_schema() as update:
        update.update_column(("amount",), doc="in cents")
        update.update_column(("note",), doc="by hand")
    run(url, ChangeType("orders", AMOUNT, column("amount", "text")), RenameColumn("orders", "note", "memo"))
    assert {each.name: each.doc for each in opened().schema().fields if each.doc} == {
        "amount": "in cents",
        "memo": "by hand",
    }


def test_a_retyped_column_keeps_its_place_and_its_rule_about_nulls(url: str) -> None:
    run(url, SetNotNull("orders", AMOUNT))
    before = columns()

    run(
        url,
        ChangeType(
            "orders",
            replace(AMOUNT, properties={**BIGINT, "nullable": False}),
            column("amount", "decimal", nullable=False),
        ),
    )

    assert columns() == before
    assert rows("amount") == [(Decimal("5.000000000"),), (Decimal("7.000000000"),)]
    assert opened().schema().find_field("amount").required
    assert len(opened().metadata.snapshots) == 2  # that of the load, and one of the retyping


EACH_KIND: dict[str, tuple[dict[str, Any], Any]] = {
    "a_text": (TEXT, "ü"),
    "a_json": ({"data_type": "json"}, '{"a":1}'),
    "a_double": ({"data_type": "double"}, 0.1),
    "a_bool": ({"data_type": "bool"}, True),
    "a_small": ({"data_type": "bigint", "precision": 32}, 2**31 - 1),
    "a_bigint": (BIGINT, 2**63 - 1),
    "a_binary": ({"data_type": "binary"}, b"\x00\xff"),
    "a_decimal": ({"data_type": "decimal", "precision": 20, "scale": 3}, Decimal("12345678901234567.125")),
    "a_wei": ({"data_type": "wei"}, Decimal(10) ** 30),
    "a_date": ({"data_type": "date"}, date(1899, 12, 31)),
    "a_time": ({"data_type": "time"}, time(23, 59, 59, 999999)),
    "a_moment": ({"data_type": "timestamp"}, datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)),
    "a_naive": ({"data_type": "timestamp", "timezone": False}, datetime(2026, 1, 2, 3, 4, 5, 678901)),
}


def test_a_rewrite_keeps_the_other_columns_of_each_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = {name: kind for name, (kind, _) in EACH_KIND.items()}
    load(table("orders", {"id": BIGINT, **kinds}), "1", [{name: value for name, (_, value) in EACH_KIND.items()}])
    before = (destination.read_catalogue(URL).schema.tables["orders"], rows(*EACH_KIND), files())

    run(URL, FillColumn("orders", column("id", "bigint"), 4))

    assert (destination.read_catalogue(URL).schema.tables["orders"], rows(*EACH_KIND)) == before[:2]
    assert not files() & before[2]
    assert rows("id") == [(4,)]


def test_nulls_are_not_forbidden_while_there_are_some(url: str) -> None:
    with pytest.raises(DestinationError, match="1 rows in `orders` block"):
        run(url, SetNotNull("orders", column("old")))
    run(url, FillColumn("orders", column("old"), "none"), SetNotNull("orders", column("old")))
    assert rows("old") == [("none",), ("o",)]


def test_a_required_column_is_not_added_to_rows(url: str) -> None:
    with pytest.raises(DestinationError, match="`orders` has rows without a value for `needed`"):
        run(url, AddColumn("orders", column("needed", nullable=False)))
    run(url, CreateTable(Table("empty", {"a": column("a")}, {})), AddColumn("empty", column("needed", nullable=False)))
    assert opened("empty").schema().find_field("needed").required


def test_a_name_that_is_taken_or_missing_is_reported(url: str) -> None:
    with pytest.raises(DestinationError, match=r"cannot change `orders` of .*note"):
        run(url, AddColumn("orders", column("note")))
    with pytest.raises(DestinationError, match=r"cannot change `orders` of .*nothing"):
        run(url, RenameColumn("orders", "nothing", "memo"))
    with pytest.raises(DestinationError, match=r"cannot rename `orders` of .*already exists"):
        run(url, RenameTable("orders", "_dlt_loads"))
    assert len(rows("id", "note")) == 2


def test_uniqueness_is_nothing_that_iceberg_keeps(url: str) -> None:
    with pytest.raises(DestinationError, match="cannot do `add unique`"):
        run(url, AddUnique("orders", "id"))


def test_a_former_name_brings_no_former_values_back(url: str) -> None:
    run(url, DropColumn("orders", column("old")), AddColumn("orders", column("old", "bigint")))
    assert rows("id", "old") == [(1, None), (2, None)]
    run(url, RenameColumn("orders", "note", "memo"), RenameColumn("orders", "amount", "note"))
    assert rows("id", "memo", "note") == [(1, "x", 5), (2, "12", 7)]


def test_a_load_that_makes_a_renamed_column_again_begins_it_empty(url: str) -> None:
    run(url, RenameColumn("orders", "note", "memo"))

    load(table("orders", {"id": BIGINT, "memo": TEXT, "note": TEXT}), "2", [{"id": 3, "memo": "m", "note": "n"}])

    assert rows("id", "memo", "note") == [(1, "x", None), (2, "12", None), (3, "m", "n")]


def test_a_load_that_breaks_off_does_not_bring_former_values_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(url, RenameColumn("orders", "note", "memo"))

    def fail(*_: object) -> Iterator[Any]:
        raise DestinationError("no power")

    monkeypatch.setattr("schemactl.destinations.iceberg.lake.rows_of_load", fail)
    with pytest.raises(DestinationError, match="no power"):
        load(table("orders", {"id": BIGINT, "memo": TEXT, "note": TEXT}), "2", [{"id": 3, "note": "n"}])
    assert rows("id", "memo", "note") == [(1, "x", None), (2, "12", None)]


def test_a_table_that_takes_a_former_name_has_files_of_its_own(url: str) -> None:
    again = Table("orders", {"id": column("id", "bigint")}, {})
    run(url, RenameTable("orders", "sales"), CreateTable(again))
    assert rows("id") == []
    run(url, DropTable(again))
    assert rows("id", name="sales") == [(1,), (2,)]


def test_the_next_session_removes_the_files_that_a_killed_one_has_not_committed(url: str) -> None:
    attempt, data = "a" * 32, Path("lake/shop/orders/data")
    (committed,) = data.iterdir()
    leftovers = [data / f"{attempt}-0-00000.parquet", data / "schemactl-same-0-00000.parquet"]
    unknown = data / "00000-0-others.parquet"
    for file in (*leftovers, unknown):
        shutil.copy(committed, file)
    catalog().update_namespace_properties(("shop",), updates={"schemactl.rewriting": attempt})

    with pytest.warns(CommandWarning, match="removed files of an interrupted migration"):
        load(FIRST, "2", [])

    assert set(data.iterdir()) == {committed, unknown}
    assert "schemactl.rewriting" not in catalog().load_namespace_properties(("shop",))


@pytest.mark.parametrize("has_rows", [False, True])
def test_a_table_takes_the_folder_of_a_killed_creation_but_no_rows(url: str, has_rows: bool) -> None:
    folder = Path("lake/shop/lines")
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata/00000-0.metadata.json").write_text("{}")
    if has_rows:
        (folder / "data").mkdir()
        shutil.copy(next(Path("lake/shop/orders/data").iterdir()), folder / "data")

    run(url, CreateTable(table("lines", {"id": BIGINT})))

    assert (Path(opened("lines").location()) == folder.absolute()) is not has_rows
    assert (folder / "data").exists() is has_rows


def test_rows_for_a_table_of_an_early_dlt_are_refused(url: str) -> None:
    with opened("_dlt_loads").update_schema() as update:
        update.delete_column("schema_version_hash")

    with pytest.raises(DestinationError, match="`_dlt_loads` lacks `schema_version_hash`"):
        load(FIRST, "2", ROWS)

    assert len(rows("id")) == 2


DYING = """
import pandas, pyiceberg.catalog.sql, pyiceberg.io.pyarrow
from schemactl.destinations.iceberg import migration_session as iceberg_session
from schemactl.destinations._lake.migration import LakeMigration

def begin(place, steps):
    global left
    left = steps
    match place:
        case "before a step":
            LakeMigration.run = dying(LakeMigration.run, True)
        case "after a step":
            LakeMigration.run = dying(LakeMigration.run, False)
        case "before the commit":
            iceberg_session.described = dying(iceberg_session.described, True)
        case "after the commit":
            iceberg_session.rewrite_table = dying(iceberg_session.rewrite_table, False)

def dying(real, is_before):
    def call(*args):
        global left
        left -= 1
        if is_before and left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*args)
        if not is_before and left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return call
"""


@pytest.fixture(scope="module")
def killed() -> Iterator[Commands]:
    with forked_commands(MIGRATION + DYING) as run:
        yield run


@pytest.mark.parametrize(
    ("place", "steps"),
    [("before a step", 1), ("after a step", 1), ("after a step", 2), ("before the commit", 0), ("after the commit", 0)],
)
def test_who_was_killed_is_gone_on_from(url: str, place: str, steps: int, killed: Commands) -> None:
    reference = put(wanted(SECOND), "w.yaml")
    assert killed("migrate", "apply", reference, "--to", url, "--yes", begin=(place, steps)).code == -signal.SIGKILL

    assert apply(url, SECOND).outcome is Outcome.DONE

    assert rows("id", "amount", "memo", "paid") == [(1, 5.0, "x", None), (2, 7.0, "12", None)]
    assert columns() == ["id", "amount", "memo", "old", "_dlt_load_id", "_dlt_id", "paid"]
    assert status(url).is_settled
    spoken_of = {Path(path).name for path in all_files()}
    assert {each.name for each in Path("lake/shop/orders/data").glob("*.parquet")} == spoken_of


def all_files() -> list[str]:
    """The files of all snapshots."""
    return opened().inspect.all_files()["file_path"].to_pylist()


def test_a_rewrite_that_fails_leaves_the_table_and_no_files(url: str) -> None:
    before, listed = files(), set(Path("lake/shop/orders/data").iterdir())

    def failing(_: pa.RecordBatch) -> pa.RecordBatch:
        raise DestinationError("no power")

    with destination.connect(url, "shop") as session:
        table = session.table("orders")
        with pytest.raises(DestinationError, match="no power"):
            session.rewrite(table, table.fields, failing)
    assert files() == before
    assert set(Path("lake/shop/orders/data").iterdir()) == listed


def test_a_rewrite_does_not_lose_what_was_written_meanwhile(url: str) -> None:
    with destination.connect(url, "shop") as session:
        store: IcebergMigration = session
        table = store.table("orders")
        held = opened()
        held.append(held.scan(row_filter="id = 1").to_arrow())
        with pytest.raises(DestinationError, match="another program wrote to it") as failure:
            store.rewrite(table, table.fields, lambda rows: rows)
    assert failure.value.hint == "run it again"
    assert rows("id") == [(1,), (1,), (2,)]


def test_long_rows_go_into_several_files(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3, 9):
        load(FIRST, str(number), [{"id": number, "amount": number}])
    monkeypatch.setattr(iceberg_session, "FILE_BYTES", 1)
    monkeypatch.setattr(iceberg_session, "GROUP_ROWS", 3)

    run(url, ChangeType("orders", AMOUNT, column("amount", "text")))

    assert len(files()) == 3
    assert len(rows("id")) == 8


def test_partitioned_tables_are_altered_and_rewritten_and_keep_their_partitions(url: str) -> None:
    with opened().update_spec() as spec:
        spec.add_identity("id")
    run(url, RenameColumn("orders", "note", "memo"))
    run(url, ChangeType("orders", AMOUNT, column("amount", "text")))
    run(url, FillColumn("orders", column("old"), "none"))
    with pytest.raises(DestinationError, match="the table's partitions need it"):
        run(url, DropColumn("orders", column("id", "bigint")))
    assert rows("id", "memo", "old") == [(1, "x", "o"), (2, "12", "none")]
    assert sorted(task.file.partition[0] for task in opened().scan().plan_files()) == [1, 2]


def test_what_a_table_does_not_take_is_refused_before_the_first_step(url: str) -> None:
    with opened().update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "id_bucket")
    refused = apply(url, SECOND)
    assert [type(each.step) for each in refused.planned.plan.steps] == [RenameColumn, AddColumn, ChangeType]
    (blocker,) = refused.planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.IMPOSSIBLE, (3,))
    assert blocker.message.startswith("step 3 is not possible: `orders` is partitioned by `bucket[4]` of `id`")
    assert "only catalog changes are supported" in blocker.hint
    assert columns()[:4] == ["id", "amount", "note", "old"]


def test_columns_that_the_order_of_rows_needs_are_not_replaced(url: str) -> None:
    with opened().update_sort_order() as order:
        order.asc("amount", IdentityTransform())
    refused = apply(url, SECOND)
    (blocker,) = refused.planned.blockers
    assert "column `amount` of `orders` stays as it is: the table's order of rows need it" in blocker.message
    with pytest.raises(DestinationError, match="order of rows need it"):
        run(url, DropColumn("orders", AMOUNT))
    run(url, RenameColumn("orders", "amount", "total"))
    assert rows("id", "total") == [(1, 5), (2, 7)]


def test_who_waits_gets_the_folder_when_it_is_free(url: str) -> None:
    def wait(patience: float) -> str:
        try:
            with destination.connect(url, "shop", patience=Patience(patience)):
                return "held"
        except DestinationError as error:
            return error.message

    with ThreadPoolExecutor() as threads:
        with destination.connect(url, "shop"):
            assert "is in use by process" in threads.submit(wait, 0.2).result(timeout=60)
            waiting = threads.submit(wait, 30.0)
            sleep(0.3)
            assert not waiting.done()
        assert waiting.result() == "held"


def test_a_dataset_is_migrated_by_one_at_a_time(url: str) -> None:
    failures: list[DestinationError] = []

    def try_too() -> None:
        try:
            run(url, RenameColumn("orders", "note", "memo"))
        except DestinationError as error:
            failures.append(error)

    with destination.connect(url, "shop"):
        second = Thread(target=try_too)
        second.start()
        second.join()
    assert "is in use by process" in failures[0].message
    assert "note" in columns()


def test_a_load_that_was_killed_is_undone_first(url: str) -> None:
    code = (
        "import os, signal, sys\n"
        "sys.path[:0] = sys.argv[1:]\n"
        "from schemactl.destinations.iceberg import lake\n"
        "lake.rows_of_load = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from test_iceberg_migration import FIRST, load\n"
        "load(FIRST, '2', [{'id': 3}])\n"
    )
    here = Path(__file__).parent
    killed = subprocess.run([sys.executable, "-c", code, str(here), str(here.parent)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(rows("id")) == 3

    assert apply(url, SECOND).outcome is Outcome.DONE

    assert rows("id") == [(1,), (2,)]
    load(SECOND, "2", [{"id": 3}])
    assert rows("id") == [(1,), (2,), (3,)]


def test_a_dataset_that_is_not_there_is_made_by_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = URL
    assert {type(each.step) for each in plan(url, FIRST).plan.steps} == {CreateTable}
    assert not Path("lake").exists()
    assert apply(url, FIRST).outcome is Outcome.DONE
    assert plan(url, FIRST).plan.steps == ()
    load(FIRST, "1", ROWS)
    assert rows("id", "note") == [(1, "x"), (2, "12")]
    with (
        pytest.raises(InputError, match="there is no catalog"),
        destination.connect("iceberg:x", "s", is_read_only=True),
    ):
        pass


def test_a_configured_catalogue_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for key, value in (("TYPE", "sql"), ("URI", f"sqlite:///{tmp_path}/any.db"), ("WAREHOUSE", f"file://{tmp_path}")):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{key}", value)
    url = "iceberg:prod"
    destination.load(url, package(tmp_path / "staged", "1", {"orders": ROWS}, [FIRST]), quiet)
    assert apply(url, SECOND).outcome is Outcome.DONE
    assert plan(url, SECOND).plan.steps == ()
    held = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/any.db").load_table(("shop", "orders")).scan().to_arrow()
    assert sorted(held["amount"].to_pylist()) == [5.0, 7.0]
    with destination.connect(url, "shop"), ThreadPoolExecutor() as threads:
        second = threads.submit(_try_to_connect, url)
        with pytest.raises(DestinationError, match="is in use by process"):
            second.result()


def _try_to_connect(url: str) -> None:
    with destination.connect(url, "shop", patience=Patience(0.1)):
        pass


def test_tables_that_dlt_made_without_a_catalogue_are_not_migrated(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    other = SqlCatalog("x", uri=f"sqlite:///{tmp_path}/elsewhere.db", warehouse=str(tmp_path / "lake"))
    other.create_namespace("sales")
    other.create_table(
        ("sales", "orders"), pa.schema([("id", pa.int64())]), str(tmp_path / "lake" / "sales" / "orders")
    )
    with (
        pytest.raises(DestinationError, match="were created by dlt without a catalog and cannot be migrated"),
        destination.connect(f"iceberg:{tmp_path / 'lake'}?dataset=sales", "shop"),
    ):
        pass


def test_what_iceberg_alone_has_types_for_is_not_made(url: str) -> None:
    step = AddColumn("orders", Column("u", {"x-database-type": "timestamp_ns"}))
    with pytest.raises(InputError, match="no column of type `timestamp_ns` can be created: `u`"):
        destination.render(step, None, "shop")
    with pytest.raises(DestinationError, match="`timestamp_ns` is not a type that files have"):
        run_unrendered(url, step)


def run_unrendered(url: str, step: Step) -> None:
    with destination.connect(url, "shop") as session:
        session.run(step, ())
