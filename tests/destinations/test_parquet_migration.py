"""Folders of Parquet that are open for migrating: which dataset, who writes, what is kept, and the ledger."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from schema_parts import column

from schemactl.destinations import parquet
from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.errors import DestinationError, InputError
from schemactl.migration.records import Patience, Run, RunState, StepRecord, StepState
from schemactl.migration.steps import (
    AddColumn,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    RenameColumn,
    RenameTable,
)
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
RUN = Run("run/1", "plan", "shop", None, "hash", "me@here", AT, plan='{"steps": ["ü"]}')


def write(folder: Path, name: str, **columns: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def take(session: Any, *steps: Any) -> None:
    for step in steps:
        session.run(step, parquet.render(step, None, session.dataset))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "shop", "orders/1700000000.1.aaaa.parquet", id=[1, 2], note=["a", "b"])
    write(tmp_path / "shop", "orders/1700000001.1.bbbb.parquet", id=[3], note=["c"])
    return tmp_path / "shop"


def files(folder: Path, table: str = "orders") -> list[str]:
    return sorted(path.name for path in (folder / table).iterdir())


def opened(folder: Path, **options: Any) -> Any:
    return parquet.connect(f"parquet:{folder}", "shop", **options)


def version(schema: Schema, *columns: Column) -> Schema:
    table = Table("orders", {each.name: each for each in columns}, {"resource": "orders"})
    return bump(schema.with_table(table))


def test_a_dataset_has_one_place_however_it_is_named(folder: Path) -> None:
    places = set()
    for url in (f"parquet:{folder}", f"parquet:{folder.parent}?dataset=shop", f"parquet:{folder.parent}"):
        with parquet.connect(url, "shop", is_read_only=True) as session:
            places.add((session.origin, session.dataset))
            assert list(session.catalogue().schema.tables) == ["orders"]
    assert places == {(f"parquet:{folder.parent}", "shop")}


def test_a_folder_that_is_not_there_is_made_to_write_and_empty_to_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"), opened(tmp_path / "new", is_read_only=True):
        pass
    with opened(tmp_path / "new", is_read_only=True, may_be_new=True) as session:
        assert session.catalogue().schema.tables == {}
        assert (session.runs(), session.versions()) == ((), ())
    assert not (tmp_path / "new").exists()
    with opened(tmp_path / "new") as session:
        take(session, CreateTable(Table("t", {"a": column("a", "bigint", nullable=False)})))
    (made,) = (tmp_path / "new" / "t").iterdir()
    assert pq.read_schema(made) == pa.schema([pa.field("a", pa.int64(), nullable=False)])


def test_files_keep_their_order_and_their_load(folder: Path) -> None:
    with opened(folder) as session:
        take(session, RenameColumn("orders", "note", "memo"))
    first, second = files(folder)
    assert (first[:13], second[:13]) == ("1700000000.1.", "1700000001.1.")
    assert "aaaa" not in first
    assert pq.read_table(folder / "orders" / first).to_pydict() == {"id": [1, 2], "memo": ["a", "b"]}
    assert pq.read_table(folder / "orders" / second).to_pydict() == {"id": [3], "memo": ["c"]}


def test_a_column_is_added_by_an_empty_file_that_comes_last(folder: Path) -> None:
    before = {name: (folder / "orders" / name).read_bytes() for name in files(folder)}
    with opened(folder) as session:
        take(session, AddColumn("orders", column("b", "bigint")), AddColumn("orders", column("c", "date")))
    added = [name for name in files(folder) if name not in before]
    assert {name: (folder / "orders" / name).read_bytes() for name in before} == before
    assert len(added) == 1  # the second took the place of the first
    assert added[0] == max(files(folder))
    assert list(parquet.read_catalogue(f"parquet:{folder}").schema.tables["orders"].columns) == ["id", "note", "b", "c"]


def test_files_that_would_hide_an_added_column_are_written_anew(folder: Path) -> None:
    write(folder, "orders/zebra.parquet", id=[4], note=["d"])
    with opened(folder) as session:
        take(session, AddColumn("orders", column("b", "bigint")))
    assert list(parquet.read_catalogue(f"parquet:{folder}").schema.tables["orders"].columns) == ["id", "note", "b"]
    rows = [row for name in files(folder) for row in pq.read_table(folder / "orders" / name).to_pylist()]
    assert [(row["id"], row["b"]) for row in rows] == [(1, None), (2, None), (3, None), (4, None)]


def test_no_column_is_lost_that_only_older_files_have(folder: Path) -> None:
    write(folder, "orders/1600000000.1.old.parquet", id=[0], extra=[5])
    with opened(folder) as session:
        columns = session.catalogue().schema.tables["orders"].columns
        assert list(columns) == ["id", "note", "extra"]
        take(session, ChangeType("orders", column("id", "bigint"), column("id")))
    rows = [row for name in files(folder) for row in pq.read_table(folder / "orders" / name).to_pylist()]
    assert rows == [
        {"id": "0", "note": None, "extra": 5},
        *({"id": each, "note": note, "extra": None} for each, note in zip("123", "abc", strict=True)),
    ]


def test_files_that_disagree_about_a_type_are_reported_and_refused(folder: Path) -> None:
    write(folder, "orders/1600000000.1.old.parquet", id=["x"])
    before = files(folder)
    step = RenameColumn("orders", "note", "memo")
    with opened(folder) as session:
        found = session.find_blocker(step)
        assert found.message == (
            f"files of `{folder / 'orders'}` disagree: `id` is bigint in `1700000000.1.aaaa.parquet`, "
            "`1700000001.1.bbbb.parquet`, and text in `1600000000.1.old.parquet`"
        )
        with pytest.raises(DestinationError, match="disagree"):
            take(session, step)
        assert files(folder) == before
        (folder / "orders" / "1600000000.1.old.parquet").unlink()
        assert session.find_blocker(step) is None
        write(folder, "orders/1600000000.1.old.parquet", id=["x"])
        take(session, RenameTable("orders", "sales"))
        assert session.find_blocker(DropTable(Table("sales"))) is None


def test_of_many_files_that_disagree_some_are_named(folder: Path) -> None:
    for number in range(5):
        write(folder, f"orders/160000000{number}.1.old.parquet", id=["x"], note=[1.5])
    with opened(folder, is_read_only=True) as session:
        found = session.find_blocker(AddColumn("orders", column("b"))).message
    named = ", ".join(f"`160000000{number}.1.old.parquet`" for number in range(3))
    assert f"and text in {named} and 2 more; `note` is text in" in found


def test_narrow_and_wide_files_of_one_type_are_read_together(folder: Path) -> None:
    write(folder, "orders/1600000000.1.old.parquet", id=pa.array([7], pa.int16()))
    with opened(folder) as session:
        take(session, DropColumn("orders", column("note")))
    assert [pq.read_table(folder / "orders" / name).to_pydict() for name in files(folder)] == [
        {"id": [7]},
        {"id": [1, 2]},
        {"id": [3]},
    ]


def test_what_spark_keeps_beside_the_columns_does_not_outlive_them(folder: Path) -> None:
    reported = pa.table({"id": [1]}).replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": "old"})
    pq.write_table(reported, folder / "orders" / "1700000002.1.cccc.parquet")
    with opened(folder) as session:
        take(session, RenameColumn("orders", "id", "number"))
    for name in files(folder):
        assert b"org.apache.spark.sql.parquet.row.metadata" not in (
            pq.read_metadata(folder / "orders" / name).metadata or {}
        )


def test_partitioned_tables_are_counted_renamed_and_dropped_but_not_written_anew(tmp_path: Path) -> None:
    write(tmp_path / "d", "events/day=1%2F2/a.parquet", id=[1, 2])
    write(tmp_path / "d", "events/day=__HIVE_DEFAULT_PARTITION__/b.parquet", id=[3])
    with opened(tmp_path / "d") as session:
        assert list(session.catalogue().schema.tables["events"].columns) == ["id", "day"]
        assert session.row_count("events") == 3
        retype = ChangeType("events", column("day"), column("day", "bigint"), needs_check=True)
        assert session.unfit(retype).count == 2
        for step in (retype, AddColumn("events", column("b"))):
            with pytest.raises(DestinationError, match="is partitioned"):
                take(session, step)
        take(session, RenameTable("events", "seen"))
        assert session.row_count("seen") == 3
        take(session, DropTable(Table("seen")))
        assert session.catalogue().schema.tables == {}


def test_a_table_does_not_take_a_folder_that_is_in_use(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken" / "notes.txt").write_text("mine")
    with opened(folder) as session, pytest.raises(DestinationError, match="in the place of the table's new folder"):
        take(session, RenameTable("orders", "taken"))
    assert len(files(folder)) == 2


def test_who_comes_second_waits_and_is_reported_who_holds_the_lock(folder: Path) -> None:
    with holder(folder) as process:
        with (
            pytest.raises(DestinationError, match=f"in use by process {process.pid}"),
            opened(folder, patience=Patience(0.3)),
        ):
            pass
        with opened(folder, is_read_only=True) as session:
            assert session.row_count("orders") == 3
        process.send_signal(signal.SIGKILL)
        with opened(folder, patience=Patience(10)) as session:
            assert session.row_count("orders") == 3


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    code = (
        "import sys, time\nfrom schemactl.destinations import parquet\n"
        "with parquet.connect('parquet:' + sys.argv[1], 'shop'):\n    print('here', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_step_that_was_broken_off_when_certain_counts_and_is_finished(folder: Path) -> None:
    hidden = folder / ".schemactl-load"
    write(folder, ".schemactl-load/new/orders/1700000001.1.cccc.parquet", id=[1, 2, 3])
    old = [f"orders/{name}" for name in files(folder)]
    moves = [[".schemactl-load/new/orders/1700000001.1.cccc.parquet", "orders/1700000001.1.cccc.parquet"]]
    (hidden / "journal.json").write_text(json.dumps({"version": 1, "removals": old, "moves": moves}))
    with opened(folder, is_read_only=True) as session:
        assert list(session.catalogue().schema.tables["orders"].columns) == ["id"]
        assert session.row_count("orders") == 3
    assert hidden.exists()
    with opened(folder):
        pass
    assert files(folder) == ["1700000001.1.cccc.parquet"]
    assert not hidden.exists()


def test_a_failing_rewrite_leaves_everything_as_it_was(folder: Path) -> None:
    before = {name: (folder / "orders" / name).read_bytes() for name in files(folder)}
    step = ChangeType("orders", column("note"), column("note", "bigint"), needs_check=True)
    with opened(folder) as session:
        with pytest.raises(DestinationError, match="a value does not survive: a"):
            take(session, step)
        (folder / "orders").chmod(0o700)
        assert {name: (folder / "orders" / name).read_bytes() for name in files(folder)} == before
        assert not (folder / ".schemactl-load").exists()
        take(session, RenameColumn("orders", "note", "memo"))


@pytest.mark.parametrize("sizes", [[2, 3], [5], [1, 1, 1], [4, 0, 1]])
def test_rows_go_into_as_many_files_as_they_came_from(sizes: list[int], tmp_path: Path) -> None:
    numbers = iter(range(sum(sizes)))
    for at, size in enumerate(sizes):
        rows = {"n": pa.array([next(numbers) for _ in range(size)], pa.int64())}
        write(tmp_path / "shop", f"orders/170000000{at}.1.a.parquet", **rows)
    with opened(tmp_path / "shop") as session:
        take(session, ChangeType("orders", column("n", "bigint"), column("n"), needs_check=True))
    found = [pq.read_table(tmp_path / "shop" / "orders" / name)["n"].to_pylist() for name in files(tmp_path / "shop")]
    assert [len(rows) for rows in found] == [size for size in sizes if size]
    assert [number for rows in found for number in rows] == [str(number) for number in range(sum(sizes))]


def test_runs_and_steps_are_read_as_they_were_written(tmp_path: Path) -> None:
    session = ParquetMigration(tmp_path)
    assert (session.runs(), session.steps("run/1")) == ((), ())
    later = replace(RUN, run_id="..", started=AT.replace(hour=13), state=RunState.DONE, finished=AT.replace(hour=14))
    session.write_run(later)
    session.write_run(RUN)
    assert session.runs() == (RUN, later)
    session.write_run(replace(RUN, state=RunState.UNDONE))
    assert [run.state for run in session.runs()] == [RunState.UNDONE, RunState.DONE]
    steps = [StepRecord("run/1", number, "sha", ("a", "b"), "me") for number in (2, 1)]
    session.write_steps([*steps, replace(steps[0], run_id="..")])
    done = replace(steps[1], state=StepState.DONE, started=AT, finished=AT)
    session.write_steps([done])
    assert session.steps("run/1") == (done, steps[0])
    assert [step.number for step in session.steps("..")] == [2]
    assert {path.parent for path in tmp_path.rglob("*.jsonl")} == {
        tmp_path / "_schemactl_migrations",
        tmp_path / "_schemactl_steps",
    }


def test_a_broken_ledger_is_reported(tmp_path: Path) -> None:
    session = ParquetMigration(tmp_path)
    session.write_run(RUN)
    (path,) = (tmp_path / "_schemactl_migrations").iterdir()
    path.write_text('{"run_id": "run/1"}\n')
    with pytest.raises(DestinationError, match="is invalid"):
        session.runs()


def test_the_last_version_is_the_one_that_was_written_last_and_can_be_forgotten(tmp_path: Path) -> None:
    session = ParquetMigration(tmp_path)
    first = version(new_schema("shop"), column("a"))
    second = version(first, column("a"), column("b"))
    other = version(new_schema("other"), column("a"))
    for schema in (first, second, other):
        session.write_version(schema)
    assert [each.version_hash for each in session.versions("shop")] == [
        second.version_hash,
        first.version_hash,
    ]
    session.write_version(first)
    assert [each.version_hash for each in session.versions("shop")] == [
        first.version_hash,
        second.version_hash,
    ]
    assert len(session.versions()) == 3
    assert session.schema_of(second.version_hash) == second
    session.forget_version(second.version_hash)
    assert session.schema_of(second.version_hash) is None
    assert [each.schema_name for each in session.versions()] == ["shop", "other"]
    assert (tmp_path / "init").is_file()


def test_a_stored_schema_that_is_none_is_reported(tmp_path: Path) -> None:
    session = ParquetMigration(tmp_path)
    schema = version(new_schema("shop"), column("a"))
    session.write_version(schema)
    (path,) = (tmp_path / "_dlt_version").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": "{}"}))
    with pytest.raises(InputError, match=r"with hash .* is not a schema"):
        session.schema_of(schema.version_hash)
