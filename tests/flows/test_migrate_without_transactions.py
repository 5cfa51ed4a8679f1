"""Migrations of a folder of Parquet that a pipeline of dlt has loaded: no transaction, and killed at any point."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from forked_commands import MIGRATION
from migrated_datasets import column, put

from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.formats import dlt as dlt_format
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.schema.hash import bump
from schemactl.schema.types import Column, Schema, Table

pytestmark = pytest.mark.destinations

FIRST_ROWS = [
    {"id": 1, "amount": "5", "note": "x", "old": 1.5, "items": [{"price": 2}]},
    {"id": 2, "amount": "7", "note": None, "old": None, "items": []},
]
SECOND_ROWS = [{"id": 3, "amount": "9", "note": "z", "old": 2.5, "items": [{"price": 3}]}]
BEFORE = [(1, "5", "x", 1.5), (2, "7", None, None), (3, "9", "z", 2.5)]
AFTER = [(1, 5, "x", None, None), (2, 7, None, None, None), (3, 9, "z", None, None)]

KILLED = (
    MIGRATION
    + """
import json, os, shutil, signal, sys
from pathlib import Path

import schemactl.destinations.parquet.migration
from schemactl.cli.app import run

base, work, call = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
every, left = int(sys.argv[4]), -1

def die(event, args):
    global left
    if event in ("os.rename", "os.remove") and left >= 0 and str(args[0]).startswith(place):
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

sys.addaudithook(die)
at = 0
while True:
    place = f"{work}/{at}"
    shutil.copytree(base, place)
    child = os.fork()
    if child == 0:
        left = at
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        code = run([word.replace("PLACE", place) for word in call])
        left = -1
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        sys.exit(f"ended by signal {os.WTERMSIG(status)}")
    if not os.WIFSIGNALED(status):
        shutil.rmtree(place)
        sys.exit(f"exit code {os.WEXITSTATUS(status)}" if status else 0)
    print(at, flush=True)
    at += every
"""
)
"""Runs a command on one copy of a folder after the other, killed before it renames or removes file 0, every, ..."""


class Lake:
    """A dataset ``shop`` in a folder, and a way past schemactl to its rows."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = f"parquet:{root}?dataset=shop"

    def rows(self, columns: str, table: str = "orders") -> list[tuple[Any, ...]]:
        import duckdb

        files = f"read_parquet('{self.root}/shop/{table}/*.parquet', union_by_name = true)"
        return duckdb.sql(f"SELECT {columns} FROM {files} ORDER BY ALL").fetchall()

    def load(self, rows: list[dict[str, Any]], work: Path, **hints: Any) -> str:
        """Load rows with dlt; return the hash of the schema that the pipeline then has."""
        import dlt

        pipeline = dlt.pipeline(
            "shop",
            destination=dlt.destinations.filesystem(str(self.root)),
            dataset_name="shop",
            pipelines_dir=str(work / "pipelines"),
            import_schema_path=str(work / "schemas" / "import"),
            export_schema_path=str(work / "schemas" / "export"),
        )
        info = pipeline.run(rows, table_name="orders", loader_file_format="parquet", **hints)
        info.raise_on_failed_jobs()
        return pipeline.default_schema.version_hash


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema]:
    """A folder that dlt has loaded twice, and the pipeline's schema."""
    place = tmp_path_factory.mktemp("loaded")
    lake = Lake(place / "lake")
    lake.load(FIRST_ROWS, place)
    lake.load(SECOND_ROWS, place)
    exported = place / "schemas" / "export" / "shop.schema.yaml"
    schema = dlt_format.read(exported.read_text(), str(exported)).schema
    (place / "schemas" / "import" / "shop.schema.yaml").unlink()
    return place, schema


@pytest.fixture
def lake(loaded: tuple[Path, Schema], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(loaded[0], tmp_path, dirs_exist_ok=True)
    return Lake(tmp_path / "lake")


@pytest.fixture
def before(loaded: tuple[Path, Schema]) -> Schema:
    return loaded[1]


def changed(schema: Schema, retyped: str = "bigint") -> Schema:
    """A schema that retypes, renames, adds and drops."""
    orders = schema.tables["orders"]
    columns = {name: each for name, each in orders.columns.items() if name not in ("old", "note")}
    columns["amount"] = Column("amount", {**columns["amount"].properties, "data_type": retyped})
    columns["memo"] = Column("memo", {**orders.columns["note"].properties, "x-renamed-from": "note"})
    columns["currency"] = column("currency")
    columns["paid"] = column("paid", "timestamp")
    return bump(schema.with_table(replace(orders, columns=columns)))


apply = partial(migrated_datasets.apply, allows_destructive=True)


undo = partial(migrated_datasets.undo, allows_destructive=True)


def status(lake: Lake, reference: str | None = None) -> Any:
    return find_status(reference, lake.url, Path("schemas"), PlanOptions())


def kept(schema: Schema) -> Schema:
    """What ``changed`` makes of a schema, but nothing is dropped: all of it can be undone."""
    made = changed(schema)
    orders = made.tables["orders"]
    columns = {**orders.columns, "old": schema.tables["orders"].columns["old"]}
    return bump(made.with_table(replace(orders, columns=columns)))


def kept_of_two(schema: Schema) -> Schema:
    """The same, and a retype in another table: steps of one table are done at once, so there is a state between."""
    items = schema.tables["orders__items"]
    wide = {**items.columns, "price": replace(items.columns["price"], properties={"data_type": "double"})}
    return bump(kept(schema).with_table(replace(items, columns=wide)))


def test_a_plan_is_applied_and_undone_and_a_pipeline_goes_on_each_time(lake: Lake, before: Schema) -> None:
    schema = kept(before)
    request = PlanRequest(put(schema, "wanted.yaml"), lake.url, Path("schemas"), PlanOptions())
    shown = [statement for step in plan_migration(request).plan.steps for statement in step.statements]
    (rewrite,) = shown
    named, _, rest = rewrite.removeprefix('CREATE OR REPLACE TABLE "orders" (').partition(") AS SELECT ")
    values, _, end = rest.rpartition(" FROM ")
    reported = dict(zip(named.split(", "), values.split(", "), strict=True))
    assert end == '"orders" -- rewrites the files'
    assert {name: value for name, value in reported.items() if not name.startswith(f"{value} ")} == {
        '"memo" text': '"note"',
        '"currency" text': "CAST(NULL AS text)",
        '"paid" timestamp': "CAST(NULL AS timestamp)",
        '"amount" bigint': 'CAST("amount" AS bigint)',
    }
    assert apply(lake, schema).outcome is Outcome.DONE
    assert lake.rows("id, amount, memo, currency, paid") == AFTER
    assert status(lake).is_settled
    assert apply(lake, schema).outcome is Outcome.NOTHING
    assert verify(VerifyRequest(None, lake.url, Path("schemas"))).is_clean
    put(schema, "schemas/import/shop.schema.yaml")
    moment = "2026-01-31T10:00:00Z"
    row = {"id": 4, "amount": 1, "memo": "n", "currency": "USD", "paid": moment, "items": []}
    assert lake.load([row], Path.cwd()) == schema.version_hash
    assert [row[:4] for row in lake.rows("id, amount, memo, currency")] == [
        *[row[:4] for row in AFTER],
        (4, 1, "n", "USD"),
    ]
    assert status(lake).is_settled

    assert undo(lake).outcome is Outcome.DONE

    assert lake.rows("id, amount, note, old") == [*BEFORE, (4, "1", "n", None)]
    assert lake.rows("price", "orders__items") == [(2,), (3,)]
    found = status(lake)
    assert found.is_settled
    assert found.there.version_hash == before.version_hash
    shutil.rmtree("pipelines")
    put(before, "schemas/import/shop.schema.yaml")
    assert (
        lake.load([{"id": 5, "amount": "x", "note": "m", "old": 0.5, "items": []}], Path.cwd()) == before.version_hash
    )
    assert lake.rows("id, amount, note, old")[-1] == (5, "x", "m", 0.5)


def test_the_ledger_says_at_once_what_is_done_and_what_is_begun_next(
    lake: Lake, before: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[str]] = []
    real = ParquetMigration.replace_rows

    def replace_rows(self: ParquetMigration, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if table.name == "_schemactl_steps":
            written.append([row["state"] for row in rows])
        real(self, table, rows)

    monkeypatch.setattr(ParquetMigration, "replace_rows", replace_rows)
    apply(lake, kept_of_two(before))
    pending, first, between, last = written
    assert first + last == ["running"] * len(first) + ["done"] * len(last)
    assert between == ["done"] * len(first) + ["running"] * len(last)
    assert len(pending) == len(between)
    written.clear()

    undo(lake)

    first, between, last = written
    assert between == ["undone"] * len(first) + ["running"] * len(last)
    assert last == ["undone"] * len(last)


def test_a_table_that_was_migrated_is_replaced_by_a_pipeline(lake: Lake, before: Schema) -> None:
    schema = changed(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    put(schema, "schemas/import/shop.schema.yaml")
    row = {"id": 9, "amount": 1, "memo": "n", "currency": "USD", "items": []}
    lake.load([row], Path.cwd(), write_disposition="replace")
    assert lake.rows("id, amount, memo, currency") == [(9, 1, "n", "USD")]


def test_what_cannot_be_undone_is_reported_before_anything_is_undone(lake: Lake, before: Schema) -> None:
    assert apply(lake, changed(before)).outcome is Outcome.DONE
    report = undo(lake)
    assert report.outcome is Outcome.REFUSED
    assert "cannot be undone: its values are lost" in report.blockers[0].message
    assert lake.rows("id, amount, memo, currency, paid") == AFTER


def test_values_that_do_not_survive_are_refused_or_kept_as_the_user_says(lake: Lake, before: Schema) -> None:
    lake.load([{"id": 4, "amount": "many", "note": "n", "old": 0.5, "items": []}], Path.cwd())
    schema = kept(before)
    refused = apply(lake, schema)
    assert refused.outcome is Outcome.REFUSED
    assert [each.kind for each in refused.planned.blockers] == [BlockerKind.UNFIT]
    assert refused.planned.counted[0].examples[0].startswith('"many" (_dlt_id ')
    assert status(lake).runs == ()

    assert apply(lake, schema, on_unfit=OnUnfit.VARIANT).outcome is Outcome.DONE

    assert lake.rows("id, amount, amount__v_text, amount__before_1") == [
        (1, 5, None, "5"),
        (2, 7, None, "7"),
        (3, 9, None, "9"),
        (4, None, "many", "many"),
    ]
    assert undo(lake).outcome is Outcome.DONE
    assert [row[1] for row in lake.rows("id, amount")] == ["5", "7", "9", "many"]
    assert apply(lake, schema, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE
    assert lake.rows("id, amount, amount__before_1")[-1] == (4, None, "many")


def test_a_new_column_that_may_not_be_null_gets_its_value_in_stored_rows(lake: Lake, before: Schema) -> None:
    orders = before.tables["orders"]
    state = column("state", nullable=False, **{"x-backfill": "it's new"})
    schema = bump(before.with_table(replace(orders, columns={**orders.columns, "state": state})))
    request = PlanRequest(put(schema, "wanted.yaml"), lake.url, Path("schemas"), PlanOptions())
    plan = plan_migration(request).plan
    assert [type(each.step).__name__ for each in plan.steps] == ["AddColumn", "FillColumn"]
    assert [note for note in plan.notes if note.column == "state"] == []
    assert apply(lake, schema).outcome is Outcome.DONE
    assert lake.rows("id, state") == [(1, "it's new"), (2, "it's new"), (3, "it's new")]
    assert verify(VerifyRequest(None, lake.url, Path("schemas"))).is_clean
    assert apply(lake, schema).outcome is Outcome.NOTHING
    assert undo(lake).outcome is Outcome.DONE
    assert lake.rows("id, amount, note, old") == BEFORE


def test_a_partitioned_table_is_refused_before_the_first_step(lake: Lake, before: Schema) -> None:
    folder = lake.root / "shop" / "orders"
    inner = folder / "day=1"
    inner.mkdir()
    for file in list(folder.glob("*.parquet")):
        file.rename(inner / file.name)
    refused = apply(lake, kept(before))
    (blocker,) = refused.planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.IMPOSSIBLE, (1, 2, 3, 4))
    assert "is partitioned (`day=1/" in blocker.message
    assert blocker.hint == "rewrite the table with the tool that partitions it"
    assert status(lake).runs == ()


def test_files_that_disagree_about_a_type_are_reported_by_plan_status_verify_and_rollback(
    lake: Lake, before: Schema
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = kept(before)
    old = lake.root / "shop" / "orders" / "0000000000.1.old.parquet"
    pq.write_table(pa.table({"amount": [1.5], "_dlt_id": ["z"]}), old)
    reference = put(schema, "wanted.yaml")

    planned = plan_migration(PlanRequest(reference, lake.url, Path("schemas"), PlanOptions()))

    (blocker,) = planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.IMPOSSIBLE, (1, 2, 3, 4))
    assert "disagree: `amount` is text in" in blocker.message
    assert f"and double in `{old.name}`" in blocker.message
    assert apply(lake, schema).outcome is Outcome.REFUSED
    assert status(lake, reference).planned.blockers == (blocker,)
    old.unlink()
    assert apply(lake, schema).outcome is Outcome.DONE
    assert verify(VerifyRequest(None, lake.url, Path("schemas"))).is_clean
    pq.write_table(pa.table({"amount": ["x"], "_dlt_id": ["z"]}), old)
    verified = verify(VerifyRequest(None, lake.url, Path("schemas")))
    assert not verified.is_clean
    (found,) = verified.disagreements
    assert (found.table, found.hint) == ("orders", "rewrite the files with a different type, then migrate")
    assert f"and text in `{old.name}`" in found.message
    report = undo(lake)
    assert report.outcome is Outcome.REFUSED
    assert "cannot be undone: files of" in report.blockers[0].message


def kill_everywhere(call: list[str], base: Path, work: Path, every: int) -> list[Lake]:
    """Run a command on copies of a folder, each killed at another point; return the copies."""
    text = json.dumps(call)
    command = [sys.executable, "-c", KILLED, str(base), str(work), text, str(every)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert answer.returncode == 0, answer.stderr
    return [Lake(work / number) for number in answer.stdout.split()]


def test_a_run_killed_at_any_point_goes_on_or_is_undone(lake: Lake, before: Schema, tmp_path: Path) -> None:
    schema = kept_of_two(before)
    call = ["migrate", "apply", put(schema, "wanted.yaml"), "--to", "parquet:PLACE?dataset=shop", "--yes"]
    killed = kill_everywhere(call, lake.root, tmp_path / "killed", 2)
    assert len(killed) > 5
    states = set()
    for number, each in enumerate(killed):
        found = status(each, "./wanted.yaml")
        states.add((found.runs[0].state, found.runs[0].done) if found.runs else None)
        if number % 3 == 2 and found.runs:
            assert undo(each).outcome is Outcome.DONE
            assert each.rows("id, amount, note, old") == BEFORE
            assert status(each).there.version_hash == before.version_hash
        else:
            assert apply(each, schema).outcome in (Outcome.DONE, Outcome.NOTHING)
            assert each.rows("id, amount, memo, currency, paid") == AFTER
        assert status(each).is_settled
        assert not (each.root / "shop" / ".schemactl-load").exists()
    assert len(states) > 3


def test_a_rollback_killed_at_any_point_goes_on_or_forward_again(lake: Lake, before: Schema, tmp_path: Path) -> None:
    schema = kept_of_two(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    call = ["migrate", "rollback", "--to", "parquet:PLACE?dataset=shop", "--yes", "--allow-destructive"]
    killed = kill_everywhere(call, lake.root, tmp_path / "killed", 3)
    assert len(killed) > 5
    states = set()
    for number, each in enumerate(killed):
        found = status(each, "./wanted.yaml").runs[0]
        state = found.state
        assert state in ("done", "running")
        states.add((state, found.done))
        if number % 3 == 2 and state == "running":
            assert apply(each, schema).outcome is Outcome.DONE
            assert each.rows("id, amount, memo, currency, paid") == AFTER
        else:
            assert undo(each).outcome is Outcome.DONE
            assert each.rows("id, amount, note, old") == BEFORE
            assert each.rows("price", "orders__items") == [(2,), (3,)]
        assert status(each).is_settled
    assert {("running", 4), ("running", 0)} <= states <= {("done", 5), *(("running", left) for left in (5, 4, 0))}


def test_a_run_of_steps_that_is_undone_in_part_stands_half_done(lake: Lake, before: Schema) -> None:
    schema = kept(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    assert undo(lake, steps=2).outcome is Outcome.DONE
    found = status(lake, "./wanted.yaml")
    assert (found.runs[0].state, found.runs[0].done, found.runs[0].steps) == ("running", 2, 4)
    assert apply(lake, schema).outcome is Outcome.DONE
    assert lake.rows("id, amount, memo, currency, paid") == AFTER


def test_an_odd_value_in_a_run_that_stands_half_done_is_to_be_mended_or_the_run_taken_back(
    lake: Lake, before: Schema
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = kept(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    assert undo(lake, steps=1).outcome is Outcome.DONE
    odd = lake.root / "shop" / "orders" / "0000000000.1.odd.parquet"
    pq.write_table(pa.table({"amount": ["many"], "_dlt_id": ["z"], "_dlt_load_id": ["l"]}), odd)

    refused = apply(lake, schema, on_unfit=OnUnfit.EXPAND)

    assert refused.outcome is Outcome.REFUSED
    (blocker,) = refused.planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.UNFIT, (4,))
    assert blocker.hint == "fix them, or undo the unfinished run: `schemactl migrate rollback`"
    assert status(lake).planned.blockers == (blocker,)
    assert undo(lake).outcome is Outcome.DONE
    (again,) = apply(lake, schema).planned.blockers
    assert again.hint.endswith("`--on-unfit expand` (or `variant`)")


def test_verify_reports_of_a_run_that_stands_half_done(lake: Lake, before: Schema) -> None:
    schema = kept(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    assert verify(VerifyRequest(None, lake.url, Path("schemas"))).unfinished is None
    assert undo(lake, steps=1).outcome is Outcome.DONE

    found = verify(VerifyRequest("./wanted.yaml", lake.url, Path("schemas")))

    assert found.unfinished is not None
    assert (found.unfinished.done, found.unfinished.steps) == (3, 4)
    assert found.unfinished.run.to_hash == schema.version_hash
    assert not replace(found, drift=()).is_clean


def test_a_failing_undo_reports_how_far_it_came(lake: Lake, before: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = kept_of_two(before)
    assert apply(lake, schema).outcome is Outcome.DONE
    folder = lake.root / "shop" / "orders"
    from schemactl.destinations.parquet.migration import ParquetMigration

    real, left = ParquetMigration.rewrite, [1]

    def failing(self: ParquetMigration, *args: Any) -> None:
        if not left[0]:
            raise DestinationError("the disk is full")
        left[0] -= 1
        real(self, *args)

    monkeypatch.setattr(ParquetMigration, "rewrite", failing)
    with pytest.raises(DestinationError, match="steps 4 to 1 were not undone; 1 step was undone before them: the disk"):
        undo(lake)
    monkeypatch.undo()
    monkeypatch.chdir(folder.parents[2])
    assert undo(lake).outcome is Outcome.DONE
    assert lake.rows("id, amount, note, old") == BEFORE
    with pytest.raises(InputError, match="no run to undo"):
        undo(lake)
