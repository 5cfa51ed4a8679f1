"""Migrations of Delta tables: each step and its undo, plans applied, killed and undone, and dlt goes on after it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import dlt
import migrated_datasets
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from forked_commands import MIGRATION, Commands, forked_commands
from migrated_datasets import ADDED, FIRST, ID, column, put, schema_of

from schemactl.destinations import delta as destination
from schemactl.destinations._journal import Versions
from schemactl.destinations._lake.lock import holding
from schemactl.destinations.delta.lake import WORKSHOP, DeltaLake
from schemactl.destinations.delta.migration import MARK, DeltaMigration, render
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.inspection import find_status
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)
from schemactl.schema.fit import fit
from schemactl.schema.hash import bump
from schemactl.schema.types import Column, Schema, Table

URL = "delta:lake?dataset=shop"
HELD = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("amount", pa.int64(), metadata={"comment": "in cents"}),
        pa.field("note", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("day", pa.date32()),
        pa.field("raw", pa.binary()),
        pa.field("small", pa.int8()),
        pa.field("local", pa.timestamp("us")),
    ]
)
AT = datetime(2026, 1, 31, 12, 30, 15, 123456, tzinfo=UTC)
ROWS = [
    {"id": 1, "amount": 5, "note": "x", "at": AT, "price": Decimal("1.50"), "day": date(2026, 1, 31),
     "raw": b"\x00\xff", "small": -128, "local": AT.replace(tzinfo=None)},
    {"id": 2, "amount": 7, "note": "12"},
    {"id": 3},
]  # fmt: skip


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the dataset ``shop``, which is not there yet."""
    monkeypatch.chdir(tmp_path)
    return Path("lake/shop")


def write(folder: Path, rows: list[dict[str, Any]], held: pa.Schema = HELD, **options: Any) -> Path:
    """Write rows as other programs do; return the table's folder."""
    options = {"mode": "append", **options}
    write_deltalake(str(folder), pa.Table.from_pylist(rows, schema=held), **options)
    return folder


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return what other programs read."""
    found = DeltaTable(str(folder)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def marks_of(folder: Path) -> list[str | None]:
    """Return what the commits say of migrations, the first one first."""
    return [each.get(MARK) for each in reversed(DeltaTable(str(folder)).history())]


def catalogue(url: str = URL) -> dict[str, Table]:
    return dict(destination.read_catalogue(url).schema.tables)


def run(session: Any, step: Step) -> None:
    there = session.catalogue().schema.tables
    session.run(step, destination.render(step, there.get(step.table_name), session.dataset))


def test_some_tables_are_read_without_the_others(shop: Path) -> None:
    write(shop / "orders", ROWS)
    write(shop / "Lines", ROWS)
    with destination.connect(URL, "shop", is_read_only=True) as session:
        tables = session.catalogue().schema.tables
        assert tables.keys() == {"Lines", "orders"}
        # Names are the same in any case.
        assert session.catalogue(("lines", "missing")).schema.tables == {"Lines": tables["Lines"]}


NOTE = Column("note", {"data_type": "text"})
AMOUNT = Column("amount", {"data_type": "bigint"})
KEY = Column("id", {"data_type": "bigint", "nullable": False})
STEPS: dict[str, tuple[Step, ...]] = {
    "create a table": (CreateTable(Table("lines", {"id": KEY, "note": NOTE}, {})),),
    "rename a table": (RenameTable("orders", "sales"),),
    "add a column": (AddColumn("orders", Column("paid", {"data_type": "timestamp"})),),
    "add a timestamp without zone": (AddColumn("plain", Column("at", {"data_type": "timestamp", "timezone": False})),),
    "rename a column": (RenameColumn("orders", "note", "memo"),),
    "rename one that may not be null": (RenameColumn("orders", "id", "number"), RenameColumn("orders", "number", "id")),
    "allow nulls": (DropNotNull("orders", KEY),),
    "forbid nulls": (SetNotNull("orders", Column("amount", {"data_type": "bigint"})),),
    "change a type": (ChangeType("orders", AMOUNT, Column("amount", {"data_type": "double"})),),
    "fill a column": (
        AddColumn("orders", Column("state", {"data_type": "text"})),
        FillColumn("orders", Column("state", {"data_type": "text"}), "it's new"),
    ),
    "fill a column from another": (
        AddColumn("orders", Column("total", {"data_type": "text"})),
        Backfill("orders", AMOUNT, Column("total", {"data_type": "text"})),
    ),
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_step_and_its_undo_leave_tables_and_rows_as_they_were(steps: tuple[Step, ...], shop: Path) -> None:
    write(shop / "orders", [{**row, "amount": row.get("amount", 0)} for row in ROWS])
    write(shop / "plain", [{"id": 1}], pa.schema([pa.field("id", pa.int64())]))
    before = catalogue(), rows_of(shop / "orders")
    with destination.connect(URL, "shop") as session:
        for step in steps:
            run(session, step)
        assert catalogue() != before[0] or steps == STEPS["rename one that may not be null"]
        for step in reversed(steps):
            for back in step.undo_at(destination.ABILITIES).steps:
                run(session, back)
    assert catalogue() == before[0]
    assert rows_of(shop / "orders") == before[1]
    assert DeltaTable(str(shop / "orders")).schema().fields[1].metadata == {"comment": "in cents"}


@pytest.mark.parametrize(
    ("before", "text", "after", "expected"),
    [
        (pa.string(), "12", {"data_type": "bigint", "precision": 16}, 12),
        (pa.string(), "1.50", {"data_type": "decimal", "precision": 10, "scale": 2}, Decimal("1.50")),
        (pa.string(), "2026-01-31T12:30:15.123456Z", {"data_type": "timestamp"}, AT),
        (pa.string(), "2026-01-31", {"data_type": "date"}, date(2026, 1, 31)),
        (pa.string(), "AP8=", {"data_type": "binary"}, b"\x00\xff"),
        (pa.string(), "true", {"data_type": "bool"}, True),
        (pa.int64(), 2**60, {"data_type": "wei"}, str(2**60)),
        (pa.int64(), 7, {"data_type": "double"}, 7.0),
        (pa.float64(), 7.0, {"data_type": "bigint", "precision": 8}, 7),
        (pa.timestamp("us", "UTC"), AT, {"data_type": "timestamp", "timezone": False}, AT.replace(tzinfo=None)),
        (pa.decimal128(10, 2), Decimal("1.50"), {"data_type": "decimal", "precision": 20, "scale": 4}, Decimal("1.5")),
        (pa.date32(), date(2026, 1, 31), {"data_type": "text"}, "2026-01-31"),
    ],
)
def test_values_of_one_type_become_those_of_another(
    before: pa.DataType, text: Any, after: dict[str, Any], expected: Any, shop: Path
) -> None:
    folder = write(
        shop / "orders", [{"id": 1, "value": text}, {"id": 2}], pa.schema([("id", pa.int64()), ("value", before)])
    )
    old, new = catalogue()["orders"].columns["value"], Column("value", after)
    with destination.connect(URL, "shop") as session:
        run(session, ChangeType("orders", old, new, fit(old, new).conversion))
    assert [row["value"] for row in rows_of(folder)] == [expected, None]
    assert catalogue()["orders"].columns["value"].properties == destination.stored(new)


def test_a_rewrite_is_one_commit_that_says_so_and_earlier_versions_can_be_read(shop: Path) -> None:
    folder = write(shop / "orders", ROWS[:2], configuration={"delta.logRetentionDuration": "interval 5 days"})
    write(folder, ROWS[2:])
    with destination.connect(URL, "shop") as session:
        run(session, DropColumn("orders", AMOUNT))
        run(session, AddColumn("orders", Column("paid", {"data_type": "timestamp"})))
        run(session, DropNotNull("orders", KEY))
    assert marks_of(folder) == [None, None, "rewrite", "add column", "allow nulls"]
    assert DeltaTable(str(folder)).metadata().configuration == {"delta.logRetentionDuration": "interval 5 days"}
    assert [row["amount"] for row in DeltaTable(str(folder), version=1).to_pyarrow_table().to_pylist()] == [None, 5, 7]
    assert "amount" not in rows_of(folder)[0]


def test_a_table_with_partitions_keeps_them(shop: Path) -> None:
    held = pa.schema([("id", pa.int64()), ("day", pa.string()), ("note", pa.string())])
    rows = [
        {"id": 1, "day": "a b", "note": "1"},
        {"id": 2, "day": "ü/%", "note": None},
        {"id": 3, "day": None, "note": "3"},
    ]
    folder = write(shop / "orders", rows, held, partition_by=["day"])
    with destination.connect(URL, "shop") as session:
        run(session, RenameColumn("orders", "note", "memo"))
        for step in (RenameColumn("orders", "day", "date"), DropColumn("orders", Column("day", {"data_type": "text"}))):
            with pytest.raises(DestinationError, match="is partitioned by `day`, whose name and type cannot change"):
                run(session, step)
    assert DeltaTable(str(folder)).metadata().partition_columns == ["day"]
    assert rows_of(folder) == [{"id": row["id"], "day": row["day"], "memo": row["note"]} for row in rows]


PLAIN = pa.schema([("id", pa.int64()), ("note", pa.string())])
PLAIN_ROWS = [{"id": 1, "note": "x"}]


def _constrained(folder: Path) -> None:
    DeltaTable(str(folder)).alter.add_constraint({"positive": "id > 0"})


def _append_only(folder: Path) -> None:
    DeltaTable(str(folder)).alter.set_table_properties({"delta.appendOnly": "true"})


def _mapped(folder: Path) -> None:
    log = folder / "_delta_log" / "00000000000000000001.json"
    features = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping"]}
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}))


def _deleting(folder: Path) -> None:
    log = folder / "_delta_log" / "00000000000000000001.json"
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (_constrained, "not support: .*checkConstraints|not support: writer version 3"),
        (_append_only, "is append-only, but this step rewrites it"),
        (_mapped, "not support: columnMapping|columnMapping.* not yet supported"),
        (_deleting, "not support: deletionVectors|deletionVectors.* not yet supported"),
    ],
)
def test_a_table_that_asks_for_more_than_is_done_is_left_as_it_is(ask: Any, message: str, shop: Path) -> None:
    folder = write(shop / "orders", PLAIN_ROWS, PLAIN)
    ask(folder)
    version = DeltaTable(str(folder)).version()
    with destination.connect(URL, "shop") as session:
        steps: list[Step] = [RenameColumn("orders", "note", "memo")]
        if ask is not _append_only:
            steps.append(AddColumn("orders", Column("paid", {"data_type": "timestamp"})))
        for step in steps:
            with pytest.raises(DestinationError, match=message):
                run(session, step)
    assert DeltaTable(str(folder)).version() == version


@pytest.mark.parametrize(("ask", "numbers", "message", "hint"), [
    (_append_only, (3, 5), "is append-only, but this step rewrites it",
     "set its property `delta.appendOnly` to false, then migrate again"),
    (_constrained, (3, 4, 5), "requires writer features that schemactl does not support", ""),
])  # fmt: skip
def test_what_a_table_does_not_take_is_refused_before_the_first_step(
    ask: Any, numbers: tuple[int, ...], message: str, hint: str, shop: Path
) -> None:
    folder = write(shop / "orders", PLAIN_ROWS, PLAIN)
    ask(folder)
    version = DeltaTable(str(folder)).version()
    wanted = schema_of(
        column("id", "bigint"),
        column("memo", **{"x-renamed-from": "note"}),
        column("paid", "timestamp"),
        table="sales",
        lines=Table("lines", {"id": KEY}),
    )
    sales = replace(wanted.tables["sales"], properties={"x-renamed-from": "orders"})
    retyped = {**sales.columns, "id": column("id", "double")}
    report = apply(bump(wanted.with_table(replace(sales, columns=retyped))))
    kinds = [type(each.step) for each in report.planned.plan.steps]
    assert kinds == [RenameTable, CreateTable, RenameColumn, AddColumn, ChangeType]
    assert report.outcome is Outcome.REFUSED
    (blocker,) = report.planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.IMPOSSIBLE, numbers)
    assert f"`orders` in `{shop}` {message}" in blocker.message
    assert blocker.hint == hint
    assert [each.name for each in shop.iterdir()] == ["orders"]
    assert DeltaTable(str(folder)).version() == version


def test_a_rollback_that_a_table_does_not_take_is_refused_before_it_begins(shop: Path) -> None:
    folder = write(shop / "orders", PLAIN_ROWS, PLAIN)
    columns = (column("id", "bigint"), column("note"))
    assert apply(schema_of(*columns)).outcome is Outcome.DONE
    assert apply(schema_of(*columns, column("paid", "timestamp"), before=schema_of(*columns))).outcome is Outcome.DONE
    _append_only(folder)
    report = undo()
    assert (report.outcome, [each.kind for each in report.blockers]) == (Outcome.REFUSED, [BlockerKind.IMPOSSIBLE])
    assert "it cannot be undone: `orders`" in report.blockers[0].message
    assert status().unfinished is None
    DeltaTable(str(folder)).alter.set_table_properties({"delta.appendOnly": "false"})
    assert undo().outcome is Outcome.DONE
    assert set(rows_of(folder)[0]) == {"id", "note"}


def test_rows_that_another_program_adds_during_a_rewrite_stay(shop: Path) -> None:
    folder = write(shop / "orders", ROWS[:1])
    store = DeltaMigration(shop)
    table = store.table("orders")
    kept = table.fields.remove(2)
    write(folder, ROWS[1:])
    with pytest.raises(DestinationError, match="another program wrote to it at the same time") as failure:
        store.rewrite(table, kept, lambda rows: rows.select(kept.names))
    assert failure.value.hint == "migrate again"
    assert [row.get("note") for row in rows_of(folder)] == ["x", "12", None]


def test_a_rewrite_that_fails_is_reported_as_what_failed_and_changes_nothing(shop: Path) -> None:
    folder = write(shop / "orders", ROWS)
    store = DeltaMigration(shop)
    table = store.table("orders")

    def broken(_: Any) -> Any:
        raise error

    for error in (DestinationError("no more rows"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as failure:
            store.rewrite(table, table.fields, broken)
        assert failure.value is error
    with pytest.raises(DestinationError, match="Delta would store `count` as `int32`"):
        store.rewrite(table, pa.schema([("count", pa.uint32())]), lambda rows: rows)
    assert rows_of(folder) == rows_of(write(shop.parent / "other", ROWS))
    assert DeltaTable(str(folder)).version() == 0


def test_what_no_column_can_be_is_refused(shop: Path) -> None:
    store = DeltaMigration(shop)
    with pytest.raises(DestinationError, match="`variant` is not a type that files have"):
        store.field(Column("pairs", {"x-database-type": "variant"}))
    with pytest.raises(DestinationError, match="cannot be a folder"):
        store.create(Table("../orders", {"id": KEY}, {}))
    with pytest.raises(InputError, match="read-only session cannot write"):
        DeltaMigration(shop, is_read_only=True).run(CreateTable(Table("orders", {"id": KEY}, {})), ())
    assert not shop.exists()


def test_names_that_are_taken_are_refused(shop: Path) -> None:
    folder = write(shop / "orders", ROWS)
    write(shop / "sales", ROWS)
    (shop / "files").mkdir()
    (shop / "files" / "a.parquet").write_bytes(b"PAR1")
    store = DeltaMigration(shop)
    for failing in (
        lambda: store.rename("orders", "sales"),
        lambda: store.rename("orders", "files"),
        lambda: store.create(Table("sales", {"id": KEY}, {})),
        lambda: store.create(Table("files", {"id": KEY}, {})),
    ):
        with pytest.raises(DestinationError, match=r"already|contains Parquet files, but is not a Delta table"):
            failing()
    assert len(rows_of(folder)) == len(rows_of(shop / "sales")) == 3


def test_columns_that_dlt_has_no_type_for_stay_as_they_are(shop: Path) -> None:
    parts = pa.struct([pa.field("name", pa.string(), nullable=False), ("sizes", pa.list_(pa.int32()))])
    held = pa.schema([("id", pa.int64()), ("note", pa.string()), ("parts", pa.list_(parts)), ("share", pa.float32())])
    rows = [{"id": 1, "note": "x", "parts": [{"name": "a", "sizes": [1, None]}], "share": 0.5}, {"id": 2}]
    folder = write(shop / "orders", rows, held)
    before, read = DeltaTable(str(folder)).schema().fields, rows_of(folder)
    with destination.connect(URL, "shop") as session:
        run(session, RenameColumn("orders", "note", "memo"))
        run(session, SetNotNull("orders", Column("id", {"data_type": "bigint"})))
    after = DeltaTable(str(folder)).schema().fields
    assert [each.type for each in after] == [each.type for each in before]
    assert [[*row.values()] for row in rows_of(folder)] == [[*row.values()] for row in read]


def test_hostile_names_stay_names(shop: Path) -> None:
    name = """no"te'; DROP TABLE orders --"""
    folder = write(shop / "orders", ROWS)
    with destination.connect(URL, "shop") as session:
        run(session, RenameColumn("orders", "note", name))
        run(session, FillColumn("orders", Column(name, {"data_type": "text"}), name))
        run(session, AddColumn("orders", Column(f"{name}2", {"data_type": "text"})))
        run(session, Backfill("orders", Column(name, {"data_type": "text"}), Column(f"{name}2", {"data_type": "text"})))
    assert [(row[name], row[f"{name}2"]) for row in rows_of(folder)] == [("x", "x"), ("12", "12"), (name, name)]


apply = partial(migrated_datasets.apply, URL)


undo = partial(migrated_datasets.undo, URL)


def status(schema: Schema | None = None) -> Any:
    reference = put(schema, "wanted.yaml") if schema else None
    return find_status(reference, URL, Path("schemas"), PlanOptions())


FIRST_ROWS = [{"id": 1, "amount": 5, "note": "x", "old": "o"}, {"id": 2, "amount": 7, "note": "12", "old": None}]


@pytest.fixture
def orders(shop: Path) -> Path:
    """The folder of a table that a migration has made, and another program filled."""
    assert apply(FIRST).outcome is Outcome.DONE
    held = pa.schema(DeltaTable(str(shop / "orders")).schema().to_arrow())
    return write(shop / "orders", FIRST_ROWS, held)


DYING = """
import deltalake, pandas
from schemactl.destinations.delta import migration

def begin(where, number):
    global place, left
    place, left = where, number
    if place == "within":
        migration.failing_as_itself = broken(migration.failing_as_itself)
    else:
        for name in ("create", "drop", "rename", "alter", "rewrite"):
            setattr(migration.DeltaMigration, name, dying(getattr(migration.DeltaMigration, name)))

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(real):
    def change(self, *values):
        global left
        if place == "before" and left == 0:
            die()
        real(self, *values)
        if place == "after" and left == 0:
            die()
        left -= 1
    return change

def broken(real):
    def batches(rows):
        global left
        for batch in rows:
            yield batch
            if left == 0:
                die()
        left -= 1
    return lambda rows: real(batches(rows))
"""
"""Kills the process before or after a change (from 0), or within a rewrite (from 0)."""


@pytest.fixture(scope="module")
def killed_process() -> Iterator[Commands]:
    with forked_commands(MIGRATION + DYING) as run:
        yield run


@pytest.fixture
def killed(killed_process: Commands) -> Callable[..., None]:
    def run(place: str, number: int, *args: str) -> None:
        assert killed_process("migrate", *args, "--to", URL, "--yes", begin=(place, number)).code == -signal.SIGKILL

    return run


def test_a_run_that_was_killed_at_any_point_goes_on(orders: Path, killed: Callable[..., None]) -> None:
    put(ADDED, "added.yaml")
    expected = [(1, 5.0, "x"), (2, 7.0, "12")]
    for place in ("before", "within", "after"):
        killed(place, 0, "apply", "./added.yaml")
    assert apply(ADDED).outcome is Outcome.DONE
    assert [(row["id"], row["amount"], row["memo"]) for row in rows_of(orders)] == expected
    assert status(ADDED).is_settled
    for place in ("within", "after"):
        killed(place, 0, "rollback")
    assert undo().outcome is Outcome.DONE
    assert rows_of(orders) == FIRST_ROWS
    assert status(FIRST).is_settled


def test_tables_are_made_and_removed_whole(shop: Path, killed: Callable[..., None]) -> None:
    lines = Table("lines", {"id": ID}, {"write_disposition": "append", "resource": "lines"})
    both = schema_of(ID, before=None, lines=lines)
    put(both, "both.yaml")
    killed("after", 0, "apply", "./both.yaml")
    assert len(catalogue()) == 1
    half = shop / WORKSHOP / "orders" / "_delta_log"  # as one that was killed earlier leaves it
    half.mkdir(parents=True)
    assert apply(both).outcome is Outcome.DONE
    assert not (shop / WORKSHOP).exists()
    assert status(both).is_settled
    without = schema_of(ID, before=both)
    killed("after", 0, "apply", put(without, "without.yaml"), "--allow-destructive")
    assert set(catalogue()) == {"orders"}
    assert apply(without, allows_destructive=True).outcome is Outcome.DONE
    assert status(without).is_settled


def test_one_writes_at_a_time(shop: Path) -> None:
    shop.mkdir(parents=True)
    child = "import sys\nfrom schemactl.destinations._lake.lock import holding\nfrom pathlib import Path\n"
    child += "with holding(Path('lake/shop')):\n    print('held', flush=True)\n    sys.stdin.read()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", child], **pipes) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with destination.connect(URL, "shop", is_read_only=True, may_be_new=True) as session:
            assert session.catalogue().schema.tables == {}
        with pytest.raises(DestinationError, match=f"is in use by process {other.pid}"):
            destination.connect(URL, "shop").__enter__()
        other.communicate()


def test_a_load_that_was_killed_is_undone_first(orders: Path, shop: Path) -> None:
    version = DeltaTable(str(orders)).version()
    lake = DeltaLake(shop)
    with holding(shop):
        lake.write_journal(Versions("9", "shop", "a" * 32, {"orders": version}))
        table = lake.open("orders")
        assert table is not None
        table.commit((), table.files(), "9")
    assert rows_of(orders) == []
    assert apply(ADDED).outcome is Outcome.DONE
    assert [row["memo"] for row in rows_of(orders)] == ["x", "12"]


def test_the_dataset_is_the_one_whose_ledger_names_the_schema(orders: Path) -> None:
    write(Path("lake/others/stock"), ROWS)
    with destination.connect("delta:lake", "shop") as session:
        assert (session.origin, session.dataset) == ("delta:lake", "shop")
    with pytest.raises(InputError, match="contains 2 datasets"):
        destination.connect("delta:lake", "unknown").__enter__()
    with destination.connect("delta:lake/others", "shop", is_read_only=True) as session:
        assert (session.origin, session.dataset) == ("delta:lake", "others")
    with pytest.raises(InputError, match="there is no folder `none`"):
        destination.connect("delta:none", "shop", is_read_only=True).__enter__()
    with destination.connect("delta:none", "shop", is_read_only=True, may_be_new=True) as session:
        assert session.catalogue().schema.tables == {}
    assert not Path("none").exists()


def test_a_dlt_pipeline_goes_on_after_a_migration(shop: Path) -> None:
    def load(rows: list[dict[str, Any]], machine: str, imports: str | None = None, **options: Any) -> Any:
        pipeline = dlt.pipeline(
            "shop",
            destination=dlt.destinations.filesystem(str(shop.parent.absolute())),
            dataset_name="shop",
            pipelines_dir=str(Path(machine).absolute()),
            import_schema_path=imports,
        )
        options = {"table_name": "orders", "table_format": "delta", **options}
        pipeline.run(rows, **options).raise_on_failed_jobs()
        return pipeline

    load([{"id": 1, "total": "12", "old": 1.5, "note": "n", "at": "2026-01-31T00:00:00Z", "lines": [{"a": 1}]}], "a")
    with destination.connect(URL, "shop", is_read_only=True) as session:
        known = session.schema_of(session.versions("shop")[0].version_hash)
    held = known.tables["orders"]
    columns = {name: each for name, each in held.columns.items() if name not in ("old", "note", "total")}
    columns["total"] = column("total", "bigint", nullable=True)
    columns["remark"] = column("remark", nullable=True, **{"x-renamed-from": "note"})
    columns["added"] = column("added", "double", nullable=True)
    wanted = bump(known.with_table(replace(held, columns=columns)))

    assert apply(wanted, allows_destructive=True).outcome is Outcome.DONE

    assert status(wanted).is_settled
    imports = Path("imports").absolute()
    imports.mkdir()
    put(wanted, "imports/shop.schema.yaml")
    rows = [{"id": 2, "total": 7, "added": 0.5, "remark": "r", "lines": [{"a": 2}]}]
    pipeline = load(rows, "b", str(imports))
    assert pipeline.default_schema.version_hash == wanted.version_hash
    found = [(row["id"], row["total"], row["added"], row["remark"]) for row in rows_of(shop / "orders")]
    assert found == [(1, 12, None, "n"), (2, 7, 0.5, "r")]
    assert DeltaTable(str(shop / "orders__lines")).to_pyarrow_table()["a"].to_pylist() == [2, 1]
    assert status(wanted).is_settled
    load([{"id": 2, "total": 8}], "b", write_disposition="merge", primary_key="id")
    assert [(row["id"], row["total"]) for row in rows_of(shop / "orders")] == [(1, 12), (2, 8)]


@pytest.mark.parametrize("name", ["a%b", "a/b", ".."])
def test_a_table_that_cannot_be_a_folder_is_refused_by_the_plan(name: str) -> None:
    with pytest.raises(InputError, match="cannot be a folder"):
        render(CreateTable(Table(name, {"id": KEY}, {})), None, "shop")
    with pytest.raises(InputError, match="cannot be a folder"):
        render(RenameTable("orders", name), None, "shop")
