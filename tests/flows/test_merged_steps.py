"""Steps next to each other that are done by writing a table's rows anew once: which, with what result, and killed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from migrated_datasets import ID, column, put, schema_of

from schemactl.destinations import delta, duckdb, iceberg, parquet, spark
from schemactl.destinations._lake.migration import render_together
from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.inspection import find_status
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.schema_plans import propose
from schemactl.flows.migrate.state import read_state
from schemactl.flows.target import migratable
from schemactl.migration.effects import apply_to_model, are_done
from schemactl.migration.migration_plan import make_plan
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import write_plan
from schemactl.migration.planner import plan_steps
from schemactl.migration.records import StepRecord, StepState
from schemactl.migration.reports import Outcome
from schemactl.migration.rewrites import find_rewrites, find_rewrites_back, undo_steps
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    DropColumn,
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    RewriteTable,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.destinations

A, B, N = column("a"), column("b"), column("n", "bigint")
RENAME = RenameColumn("t", "a", "c")
RETYPE = ChangeType("t", column("c"), column("c", "bigint"), Conversion.DEPENDS)
DROP, FILL = DropColumn("t", B), FillColumn("t", B, "it's")
ADD = AddColumn("t", column("d", "date"))
NEW = column("a__new_1", "bigint")
EXPAND: tuple[Step, ...] = (
    AddColumn("t", NEW),
    Backfill("t", A, NEW, Conversion.DEPENDS),
    AddColumn("t", column("rest")),
    Backfill("t", A, column("rest"), Conversion.DEPENDS, Taken.UNFIT),
    RenameColumn("t", "a", "a__before_1"),
    RenameColumn("t", "a__new_1", "a"),
)
REPLACE = (*EXPAND[:2], *EXPAND[4:])
SWAP = (RenameColumn("t", "a", "x"), RenameColumn("t", "b", "a"), RenameColumn("t", "x", "b"))
TURN = (RenameColumn("t", "a", "x"), RenameColumn("t", "n", "a"), RenameColumn("t", "x", "n"))


def tables() -> dict[str, Table]:
    return {name: Table(name, {each.name: each for each in (A, B, N)}) for name in ("t", "u")}


@pytest.mark.parametrize(
    ("module", "steps", "sizes"),
    [
        (parquet, (RENAME, RETYPE, DROP), [3]),
        (delta, (RENAME, RETYPE, FILL), [3]),
        (spark, (RENAME, RETYPE, FILL), [3]),
        # A new column alone writes nothing anew: it comes along only between others.
        (parquet, (ADD, RENAME, ADD, RETYPE, ADD), [1, 3, 1]),
        (parquet, (ADD, AddColumn("t", column("e"))), [1, 1]),
        (parquet, EXPAND, [1, 5]),
        # Iceberg renames and drops in its catalog.
        (iceberg, (RENAME, RETYPE, FILL, DROP), [1, 2, 1]),
        (parquet, (RENAME, replace(DROP, table="u"), RETYPE), [1, 1, 1]),
        (parquet, (RENAME, RenameTable("t", "v"), replace(DROP, table="v")), [1, 1, 1]),
        # What is made by a step before it is counted when that step is done.
        (delta, (DROP, SetNotNull("t", N)), [2]),
        (delta, (RENAME, ADD, DROP, SetNotNull("t", ADD.column)), [3, 1]),
        # The tables look the same after both, so who is killed could not record it.
        (parquet, TURN, [2, 1]),
        (parquet, (FILL, FILL), [1, 1]),
        (duckdb, (RENAME, RETYPE, DROP), [1, 1, 1]),
    ],
)
def test_steps_that_write_the_same_rows_anew_are_done_at_once(
    module: Any, steps: tuple[Step, ...], sizes: list[int]
) -> None:
    if steps[0] == steps[-1] == ADD:
        steps = tuple(
            replace(each, column=replace(each.column, name=f"d{at}")) if isinstance(each, AddColumn) else each
            for at, each in enumerate(steps)
        )

    found = [places for places, _ in find_rewrites(steps, tables(), module.ABILITIES, module.stored)]

    assert [len(each) for each in found] == sizes
    assert [place for each in found for place in each] == list(range(len(steps)))


@pytest.mark.parametrize("steps", [(RENAME, RETYPE), (DROP, FILL), EXPAND[1:], TURN[:2]])
def test_the_tables_report_whether_steps_are_done_that_are_done_at_once(steps: tuple[Step, ...]) -> None:
    before = tables()
    if steps == EXPAND[1:]:
        apply_to_model(before, EXPAND[:1])
    if steps == (DROP, FILL):
        steps = (FILL, DROP)
    after = dict(before)
    apply_to_model(after, steps)

    assert not are_done(steps, before, parquet.stored)
    assert are_done(steps, after, parquet.stored)


def test_the_ledgers_tables_stay_where_the_run_that_made_them_is_undone() -> None:
    schema = schema_of(ID, column("a"))
    found = plan_steps(replace(schema, tables={}), schema, None, stored=spark.stored, abilities=spark.ABILITIES)
    numbers = range(len(found.steps), 0, -1)
    there = {"orders": schema.tables["orders"]}

    undone = find_rewrites_back(found.steps, numbers, there, spark.ABILITIES, spark.stored)
    assert list(undone) == [(number,) for number in numbers]
    assert undo_steps(found.steps, numbers) == [DropTable(there["orders"])]


def parquet_rows(folder: Path) -> list[dict[str, Any]]:
    return [row for file in sorted((folder / "t").iterdir()) for row in pq.read_table(file).to_pylist()]


def delta_rows(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(folder / "t")).to_pyarrow_table().sort_by("n").to_pylist()
    return rows


ROWS = pa.table({"a": ["1", "2", None, "x"], "b": ["p", None, "q", "r"], "n": [1, 2, 3, 4]})
FITTING = ROWS.slice(0, 3)


def make(module: Any, folder: Path, rows: pa.Table) -> None:
    if module is parquet:
        (folder / "t").mkdir(parents=True)
        pq.write_table(rows.slice(0, 2), folder / "t" / "1.1.a.parquet")
        pq.write_table(rows.slice(2), folder / "t" / "2.1.b.parquet")
    else:
        fields = pa.schema([pa.field("a", pa.string(), metadata={"comment": "said"}), *list(rows.schema)[1:]])
        write_deltalake(str(folder / "t"), rows.cast(fields))


@pytest.mark.parametrize(("module", "rows_of"), [(parquet, parquet_rows), (delta, delta_rows)])
@pytest.mark.parametrize(
    ("steps", "rows"), [((RENAME, ADD, RETYPE, FILL), FITTING), ((FILL, RENAME, DROP, RETYPE), FITTING), (EXPAND, ROWS)]
)
def test_steps_done_at_once_give_what_they_give_one_by_one(
    tmp_path: Path, module: Any, rows_of: Callable[[Path], Any], steps: tuple[Step, ...], rows: pa.Table
) -> None:
    found = []
    for place in (tmp_path / "one", tmp_path / "all"):
        make(module, place, rows)
        with module.connect(f"{module.__name__.rpartition('.')[2]}:{place}", "one", is_read_only=False) as session:
            if place.name == "one":
                for step in steps:
                    session.run(step, ())
            else:
                first = [step for step in steps[:1] if isinstance(step, AddColumn)]
                for step in first:
                    session.run(step, ())
                session.run_rewrite(RewriteTable(session.catalogue().schema.tables["t"], steps[len(first) :]))
            found.append((rows_of(place), session.catalogue().schema.tables, session.table("t").fields.metadata))
            comments = [each.metadata for each in session.table("t").fields if each.metadata]
            assert comments == ([{b"comment": b"said"}] if module is delta else [])

    assert found[0] == found[1]
    assert found[0][0]


@pytest.mark.parametrize("steps", [(RENAME, ADD, RETYPE, FILL), (FILL, RENAME, DROP, RETYPE), REPLACE])
def test_the_statement_that_is_shown_says_what_becomes_of_the_rows(tmp_path: Path, steps: tuple[Step, ...]) -> None:
    import duckdb as engine

    make(parquet, tmp_path, FITTING)
    with parquet.connect(f"parquet:{tmp_path}", "one", is_read_only=False) as session:
        (shown,) = session.render_rewrite(RewriteTable(session.catalogue().schema.tables["t"], steps))
        if steps == REPLACE:
            session.run(steps[0], ())
        left = steps[1:] if steps == REPLACE else steps
        session.run_rewrite(RewriteTable(session.catalogue().schema.tables["t"], left))
    with engine.connect() as connection:
        connection.register("before", FITTING)
        connection.execute("CREATE TABLE t AS SELECT * FROM before")
        # DuckDB takes no list of columns with types where rows follow.
        named, _, query = shown.removeprefix('CREATE OR REPLACE TABLE "t" (').partition(") AS ")
        names = [definition.split('"')[1] for definition in named.split(", ")]
        reported = connection.execute(query).to_arrow_table().rename_columns(names)
    assert reported.to_pylist() == parquet_rows(tmp_path)


def test_columns_of_types_that_only_the_database_knows_and_nulls_are_shown_as_they_are() -> None:
    there = Table("t", {"a": A, "x": Column("x", {"x-database-type": "list<int>", "nullable": False})})

    (shown,) = render_together((SetNotNull("t", A),), there, delta.NAMES)

    assert shown.startswith(
        'CREATE OR REPLACE TABLE "t" ("a" text NOT NULL, "x" list<int> NOT NULL) AS SELECT "a", "x"'
    )


BEFORE = schema_of(ID, column("amount"), column("note"), column("old", "double"))
AFTER = schema_of(
    ID,
    column("sum", "bigint", **{"x-renamed-from": "amount"}),
    column("memo", **{"x-renamed-from": "note"}),
    column("old", "bigint"),
    column("paid", "date"),
    before=BEFORE,
)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    put(BEFORE, "before.yaml")
    put(AFTER, "after.yaml")
    assert apply("./before.yaml").outcome is Outcome.DONE
    rows = pa.table({"id": [1, 2], "amount": ["5", None], "note": ["x", "y"], "old": [1.0, 2.0]})
    pq.write_table(rows, "lake/shop/orders/9999999999.1.a.parquet")
    return "parquet:lake?dataset=shop"


apply = partial(migrated_datasets.apply, "parquet:lake?dataset=shop")


undo = partial(migrated_datasets.undo, "parquet:lake?dataset=shop", allows_destructive=True)


def status() -> Any:
    return find_status("./after.yaml", "parquet:lake?dataset=shop", Path("schemas"), PlanOptions())


def rows() -> list[dict[str, Any]]:
    files = sorted(Path("lake/shop/orders").iterdir())
    return [row for file in files for row in pq.read_table(file).to_pylist()]


REWRITE = (
    'CREATE OR REPLACE TABLE "orders" ("id" bigint, "sum" bigint, "memo" text, "old" bigint, "paid" date) AS '
    'SELECT "id", CAST("amount" AS bigint), "note", CAST("old" AS bigint), CAST(NULL AS date) FROM "orders" '
    "-- rewrites the files"
)
UNDO = (
    'CREATE OR REPLACE TABLE "orders" ("id" bigint, "amount" text, "note" text, "old" double) AS '
    'SELECT "id", CAST("sum" AS text), "memo", CAST("old" AS double) FROM "orders" -- rewrites the files'
)
WANTED = [
    {"id": 1, "sum": 5, "memo": "x", "old": 1, "paid": None},
    {"id": 2, "sum": None, "memo": "y", "old": 2, "paid": None},
]
STORED = [{"id": 1, "amount": "5", "note": "x", "old": 1.0}, {"id": 2, "amount": None, "note": "y", "old": 2.0}]


def test_a_table_is_written_once_for_all_of_its_steps_and_each_has_its_line(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrites = []
    real = ParquetMigration.rewrite
    monkeypatch.setattr(
        ParquetMigration, "rewrite", lambda self, *args: (rewrites.append(args[0].name), real(self, *args))[1]
    )

    report = apply("./after.yaml")

    assert report.outcome is Outcome.DONE
    assert rewrites == ["orders"]
    shown = report.planned.plan
    assert [len(places) for places in shown.groups if len(places) > 1] == [5]
    (together,) = (places for places in shown.groups if len(places) > 1)
    assert [bool(shown.steps[place].statements) for place in together] == [False] * 4 + [True]
    assert shown.steps[together[-1]].statements == (REWRITE,)
    assert rows() == WANTED
    with parquet.connect(url, "shop", is_read_only=True) as session:
        records = session.steps(session.runs()[-1].run_id)
    assert [each.state for each in records] == [StepState.DONE] * len(report.planned.plan.steps)
    undone = undo()
    assert undone.outcome is Outcome.DONE
    assert rewrites == ["orders", "orders"]
    assert len({each.done_with for each in undone.steps} - {None}) == 1
    reported = [each.planned.undo_statements for each in undone.steps if each.done_with]
    assert reported == [()] * (len(reported) - 1) + [(UNDO,)]
    assert rows() == STORED


@pytest.mark.usefixtures("url")
def test_what_is_left_of_steps_done_at_once_is_shown_as_it_will_run() -> None:
    with killed(StepState.DONE):
        apply("./after.yaml")
    count = status().runs[0].steps
    assert count == 5
    shown = {}
    for left in range(1, count):
        assert undo(steps=1).outcome is Outcome.DONE
        plan = status().planned.plan
        shown[left] = [(each.done_with, each.statements) for each in plan.steps[count - left :]]
        assert [each.done_with for each in plan.steps[: count - left]] == [None] * (count - left)
    assert shown[1] == [(None, ('ALTER TABLE "orders" ALTER COLUMN "old" SET DATA TYPE bigint -- rewrites the files',))]
    assert [done_with for done_with, _ in shown[2]] == [5, 5]
    # A new column that stands before the others is added by itself.
    assert shown[3][0] == (None, ('ALTER TABLE "orders" ADD COLUMN "paid" date',))
    assert [done_with for done_with, _ in shown[3]] == [None, 5, 5]
    assert [done_with for done_with, _ in shown[4]] == [5] * 4
    for rest in (shown[2][-2:], shown[3][-2:], shown[4]):
        assert [bool(statements) for _, statements in rest] == [False] * (len(rest) - 1) + [True]
        assert rest[-1][1][0].startswith("CREATE OR REPLACE TABLE")
    assert apply("./after.yaml").outcome is Outcome.DONE
    assert rows() == WANTED


@pytest.mark.usefixtures("url")
def test_a_saved_plan_is_applied_as_it_was_shown_and_no_other_statements() -> None:
    request = PlanRequest("./after.yaml", "parquet:lake?dataset=shop", Path("schemas"), PlanOptions())
    made = plan_migration(replace(request, out=Path("a.plan.json"))).plan
    steps = [replace(each, statements=("SELECT 1",)) if REWRITE in each.statements else each for each in made.steps]
    Path("forged.plan.json").write_text(write_plan(replace(made, steps=tuple(steps))))

    with pytest.raises(InputError, match="do not match its steps"):
        apply("forged.plan.json")
    assert rows() == STORED
    assert apply("a.plan.json").outcome is Outcome.DONE
    assert rows() == WANTED


def test_a_plan_of_an_earlier_version_that_says_nothing_of_rewrites_runs_each_step_by_itself(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = migratable(url)
    with target.open_for_reading("shop") as session:
        found = read_state(session, target, "shop")
        proposal = propose(found, AFTER, PlanOptions())
        made = make_plan(proposal, found.catalogue.schema, AFTER, found.place, target.renderer(session))
    text = write_plan(made)
    assert "done_with" not in text
    Path("older.plan.json").write_text(text)
    rewrites = []
    real = ParquetMigration.rewrite
    monkeypatch.setattr(
        ParquetMigration, "rewrite", lambda self, *args: (rewrites.append(args[0].name), real(self, *args))[1]
    )

    assert apply("older.plan.json").outcome is Outcome.DONE

    assert rewrites == ["orders"] * len(made.steps)
    assert rows() == WANTED


class Killed(BaseException):
    """Stands for the end of the process: nobody cleans up."""


@contextmanager
def killed(state: StepState) -> Iterator[None]:
    """Let the process end when steps are said to be in a state."""
    real = ParquetMigration.write_steps

    def write(self: ParquetMigration, steps: list[StepRecord]) -> None:
        if any(each.state is state for each in steps):
            raise Killed
        real(self, steps)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ParquetMigration, "write_steps", write)
        try:
            yield
        except Killed:
            return
    pytest.fail("nothing was said of such a step")


@pytest.mark.usefixtures("url")
def test_steps_done_at_once_that_nobody_could_say_so_of_are_undone_as_many_as_asked() -> None:
    with killed(StepState.DONE):
        apply("./after.yaml")
    assert rows() == WANTED
    count = status().runs[0].steps
    assert status().planned.done == count
    shutil.copytree("lake", "kept")
    for left in range(count):
        shutil.rmtree("lake")
        shutil.copytree("kept", "lake")
        if left:
            assert undo(steps=left).outcome is Outcome.DONE
        assert status().planned.done == count - left
        assert apply("./after.yaml").outcome is Outcome.DONE
        assert rows() == WANTED
        assert status().is_settled


@pytest.mark.usefixtures("url")
def test_an_undo_that_breaks_off_among_them_goes_on_or_forward_again() -> None:
    with killed(StepState.DONE):
        apply("./after.yaml")
    with killed(StepState.UNDONE):
        undo()
    count = status().runs[0].steps
    assert count > 1
    assert status().planned.done == 0
    shutil.copytree("lake", "kept")

    assert apply("./after.yaml").outcome is Outcome.DONE
    assert rows() == WANTED

    shutil.rmtree("lake")
    shutil.copytree("kept", "lake")
    assert undo().outcome is Outcome.DONE
    assert rows() == STORED


@pytest.mark.usefixtures("url")
def test_of_steps_done_at_once_a_failure_reports_all_and_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise DestinationError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(ParquetMigration, "rewrite", full)
        with pytest.raises(DestinationError, match=r"steps 1 to \d of \d failed; 0 completed before: the disk is full"):
            apply("./after.yaml")
    assert rows() == STORED
    assert status().planned.done == 0
    assert apply("./after.yaml").outcome is Outcome.DONE
    assert rows() == WANTED
