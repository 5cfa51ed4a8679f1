"""Migrations of a schema of Spark's own catalog, in memory: steps, conversions, copies that break off, and flows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from schema_parts import column, table
from spark_schemas import copy_schema
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import spark as destination
from schemactl.destinations.spark.conversion import survivor
from schemactl.destinations.spark.lease import LEASE
from schemactl.destinations.spark.merge import configured
from schemactl.destinations.spark.types import stored_type
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.formats import dlt
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.records import Example, Run, RunState, StepRecord, StepState, Unfit
from schemactl.migration.reports import ApplyReport, BlockerKind, Outcome, PlanReport
from schemactl.migration.statements import Retype
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    RewriteTable,
    SetNotNull,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.coercion import coerce
from schemactl.schema.conversions import Conversion
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Schema, Table

_COUNT = itertools.count()
T = DataType


@pytest.fixture
def url(spark: Any) -> Iterator[str]:
    name = f"moves{next(_COUNT)}"
    yield f"spark:spark_catalog.{name}"
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def rows(spark: Any, url: str) -> Callable[..., list[tuple[Any, ...]]]:
    def read(table: str, *columns: str) -> list[tuple[Any, ...]]:
        held = spark.table(f"{url.partition(':')[2]}.{table}").select(*columns).collect()
        return sorted((tuple(row) for row in held), key=repr)

    return read


ORDERS = table("orders", column("_dlt_id", nullable=False), column("total"))


def take(session: Any, tables: dict[str, Table], *steps: Step) -> None:
    """Run steps as a plan's are run; ``tables`` is the model."""
    for step in steps:
        session.run(step, destination.render(step, tables.get(step.table_name), session.dataset))
        after = step.apply_to(tables.pop(step.table_name, None))
        if after is not None:
            tables[after.name] = after


def stored_columns(found: Table) -> dict[str, Any]:
    return {each.name: dict(destination.stored(each)) for each in found.columns.values()}


def names_there(spark: Any, url: str) -> set[str]:
    shown = spark.sql(f"SHOW TABLES IN {url.partition('.')[2]}").collect()
    return {row.tableName for row in shown if not row.isTemporary and not row.tableName.startswith(LEASE)}


# --- steps ---


def test_every_step_leaves_the_table_as_the_model_says(url: str, spark: Any, rows: Any) -> None:
    note, total, number = column("note"), ORDERS.columns["total"], column("total", "bigint")
    tables: dict[str, Table] = {}
    with destination.connect(url, "shop") as session:
        assert session.catalogue().schema.tables == {}
        take(session, tables, CreateTable(ORDERS))
        spark.sql(f"INSERT INTO {session.dataset}.orders VALUES ('a', '1'), ('b', ' 0x10 '), ('c', NULL)")
        take(
            session,
            tables,
            AddColumn("orders", note),
            FillColumn("orders", note, "it's; -- \\new"),
            ChangeType("orders", total, number, Conversion.DEPENDS, needs_check=True),
            RenameColumn("orders", "total", "amount"),
            AddColumn("orders", column("other `x`", "double")),
            RenameTable("orders", "sales"),
        )
        assert stored_columns(session.catalogue().schema.tables["sales"]) == stored_columns(tables["sales"])
        held = [("a", 1, "it's; -- \\new"), ("b", 16, "it's; -- \\new"), ("c", None, "it's; -- \\new")]
        assert rows("sales", "_dlt_id", "amount", "note") == held
        assert session.row_count("sales") == 3
        back = replace(tables["sales"].columns["amount"], name="total")
        take(
            session,
            tables,
            RenameTable("sales", "orders"),
            DropColumn("orders", column("other `x`", "double")),
            RenameColumn("orders", "amount", "total"),
            ChangeType("orders", back, total, Conversion.DEPENDS, needs_check=True),
            DropColumn("orders", note),
        )
        assert rows("orders", "*") == [("a", "1"), ("b", "16"), ("c", None)]
        assert session.empty_tables(["orders"]) == frozenset()
        take(session, tables, CreateTable(table("bare", column("a"))))
        assert session.empty_tables(["orders", "bare"]) == {"bare"}
        take(session, tables, DropTable(tables["orders"]), DropTable(tables["bare"]))
        assert session.catalogue().schema.tables == {}
    assert names_there(spark, url) == set()


def test_steps_done_by_one_copy_give_what_they_give_one_by_one(url: str, spark: Any, rows: Any) -> None:
    note = column("note")
    steps: tuple[Step, ...] = (
        RenameColumn("orders", "total", "amount"),
        ChangeType("orders", column("amount"), column("amount", "bigint"), Conversion.DEPENDS, needs_check=True),
        AddColumn("orders", column("due", "date")),
        FillColumn("orders", note, "new"),
        DropColumn("orders", column("old", "double")),
        RenameColumn("orders", "note", "memo"),
    )
    with destination.connect(url, "shop") as session:
        found = []
        for name in ("orders", "sales", "shown"):
            session.prepare_writing()
            spark.sql(
                f"CREATE TABLE {session.dataset}.{name} (_dlt_id STRING, total STRING COMMENT 'in cents', "
                "note VARCHAR(9) COMMENT 'n', old DOUBLE) USING parquet TBLPROPERTIES ('team' = 'ours')"
            )
            spark.sql(f"INSERT INTO {session.dataset}.{name} VALUES ('a', '1', NULL, 1), ('b', ' 0x10 ', 'x', NULL)")
        spark.sql(f"INSERT OVERWRITE {session.dataset}.shown VALUES ('a', '1', NULL, 1), ('b', '16', 'x', NULL)")
        for step in steps:
            session.run(step, destination.render(step, None, session.dataset) if isinstance(step, AddColumn) else ())
        there = session.catalogue().schema.tables
        session.run_rewrite(RewriteTable(there["sales"], tuple(replace(step, table="sales") for step in steps)))
        shown = RewriteTable(there["shown"], tuple(replace(step, table="shown") for step in steps))
        for statement in session.render_rewrite(shown):
            spark.sql(statement)
        assert rows("shown", "*") == rows("sales", "*")
        for name in ("orders", "sales"):
            fields = spark.table(f"{session.dataset}.{name}").schema
            found.append(
                (rows(name, "*"), [(each.name, each.dataType, each.nullable, each.metadata) for each in fields])
            )
    assert found[0] == found[1]
    assert found[0][0] == [("a", 1, "new", None), ("b", 16, "x", None)]
    assert [each[3].get("comment") for each in found[0][1]] == [None, "in cents", "n", None]


def test_a_copy_keeps_what_the_table_says_of_itself(url: str, spark: Any) -> None:
    with destination.connect(url, "shop") as session:
        session.prepare_writing()
        name = f"{session.dataset}.t"
        spark.sql(
            f"CREATE TABLE {name} (a STRING COMMENT 'it\\'s a', b VARCHAR(5) COMMENT 'b', c INT DEFAULT 7) "
            "USING orc COMMENT 'all \\\\ of it' TBLPROPERTIES ('team' = 'it\\'s ours')"
        )
        spark.sql(f"INSERT INTO {name} VALUES ('1', 'x', 3)")
        session.run(ChangeType("t", column("a"), column("a", "bigint"), Conversion.DEPENDS), ())
        fields = {field.name: field for field in spark.table(name).schema.fields}
        assert {key: field.metadata.get("comment") for key, field in fields.items()} == {
            "a": "it's a",
            "b": "b",
            "c": None,
        }
        assert fields["b"].metadata["__CHAR_VARCHAR_TYPE_STRING"] == "varchar(5)"
        spark.sql(f"INSERT INTO {name} (a, b) VALUES (2, 'y')")
        assert sorted(tuple(row) for row in spark.table(name).collect()) == [(1, "x", 3), (2, "y", 7)]
        said = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
        assert (said["Provider"], said["Comment"], said["Type"]) == ("orc", "all \\ of it", "MANAGED")
        assert ("team", "it's ours") in {tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("TABLE {}.t (a STRING, day STRING) USING parquet PARTITIONED BY (day)", "is partitioned"),
        ("TABLE {}.t (a STRING) USING parquet CLUSTERED BY (a) INTO 2 BUCKETS", "is clustered"),
        ("TABLE {}.t (a STRING) USING parquet LOCATION '{folder}'", "is an external table"),
        ("VIEW {}.t AS SELECT 'x' AS a", "is a view"),
    ],
)
def test_what_a_copy_would_lose_is_refused(url: str, spark: Any, tmp_path: Path, made: str, said: str) -> None:
    with destination.connect(url, "shop") as session:
        session.prepare_writing()
        spark.sql(f"CREATE {made.format(session.dataset, folder=tmp_path / 't')}")
        with pytest.raises(DestinationError, match=f"`t` {said}, and a copy of it would not be"):
            session.run(RenameColumn("t", "a", "b"), ())
        blocker = session.find_blocker(RenameColumn("t", "a", "b"))
        assert blocker is not None
        assert (said in blocker.message, "change it by hand" in blocker.hint) == (True, True)
        assert session.find_blocker(AddColumn("t", column("b"))) is None
    assert names_there(spark, url) == {"t"}


def test_names_and_types_cannot_end_a_statement(url: str, spark: Any) -> None:
    hostile = "x` INT); DROP TABLE t; --"
    with destination.connect(url, "shop") as session:
        take(session, {}, CreateTable(table("t", column(hostile), column("b", "bigint"))))
        session.run(RenameColumn("t", "b", "c') --"), ())
        assert list(session.catalogue().schema.tables["t"].columns) == [hostile, "c') --"]
        for bad in (column("a\0b"), column(""), Column("a", {"x-database-type": "INT); DROP TABLE t; --"})):
            with pytest.raises(InputError):
                destination.render(AddColumn("t", bad), None, session.dataset)
        with pytest.raises(InputError, match="does not support decimals of 50 digits"):
            destination.render(AddColumn("t", column("a", "decimal", precision=50)), None, session.dataset)


def test_statements_are_as_people_read_them() -> None:
    model = table("orders", column("id", "bigint"), column("total"), column("total__new_1", "bigint"))
    step = ChangeType("orders", model.columns["total"], column("total", "double"), Conversion.DEPENDS)
    copy = "`lake`.`shop`.`_schemactl_copy_orders`"
    assert destination.render(step, model, "lake.shop") == (
        f"CREATE TABLE {copy} (`id` bigint, `total` double, `total__new_1` bigint)",
        f"INSERT INTO {copy} (`id`, `total`, `total__new_1`) "
        "SELECT `id`, CAST(`total` AS double), `total__new_1` FROM `lake`.`shop`.`orders`",
        "DROP TABLE `lake`.`shop`.`orders`",
        f"ALTER TABLE {copy} RENAME TO `shop`.`orders`",
    )
    fill = Backfill("orders", model.columns["total"], model.columns["total__new_1"], Conversion.DEPENDS)
    assert "THEN TRY_CAST(`total` AS bigint) ELSE `total__new_1` END" in destination.render(fill, model, "l.s")[1]
    assert destination.render(CreateTable(table("t", column("a"))), None, "spark_catalog.s") == (
        "CREATE TABLE `spark_catalog`.`s`.`t` (`a` string) USING parquet",
    )


# --- conversions ---

MONEY = column("v", "decimal", precision=10, scale=2)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
CONVERSIONS: list[tuple[Column, Column, list[Any], list[Any]]] = [
    # before, after, values that survive, values that do not
    (column("v"), column("v", "bigint"), ["1", " 0x1f ", "1_000", "-7"], ["1.5", "abc", "", str(2**63)]),
    (column("v"), MONEY, ["1.50", "2.500", "1e3"], ["1.505", "x", "1e9", "1e-60"]),
    (column("v"), column("v", "timestamp"), ["2024-02-29 23:59:59.5Z"], ["2024-02-30", "2024-01-02T03:04:05.1234567Z"]),
    (column("v"), column("v", "double"), ["1.5", " .5", "-inf"], ["1e999", "x"]),
    (column("v"), column("v", "date"), ["2024-01-02", "2024-01-02T00:00:00Z"], ["2024-01-02T03:00:00Z", "soon"]),
    (column("v"), column("v", "bool"), ["yes", "F", "0"], ["2", "ja"]),
    (column("v"), column("v", "binary", precision=3), ["YWJj", "0x00ff"], ["YWJjZA==", "?"]),
    (column("v", "bigint"), column("v", "double"), [1, -(2**53)], [2**53 + 1]),
    (column("v", "bigint"), column("v", "bigint", precision=16), [1, -(2**15)], [2**15]),
    (column("v", "double"), column("v", "bigint"), [1.0, -3.0], [2.5, 1e300, float("nan")]),
    (column("v", "double"), column("v"), [1.0, 1e16, 1e-5, float("inf")], []),
    (column("v", "decimal"), column("v"), [Decimal("1.5"), Decimal("0.0000001"), Decimal("-2.50"), Decimal(0)], []),
    (column("v", "decimal"), column("v", "double"), [Decimal("0.1")], [Decimal("12345678901234567.123456789")]),
    (column("v", "decimal"), MONEY, [Decimal("1.5")], [Decimal("1.555"), Decimal(10**9)]),
    (column("v", "timestamp"), column("v", "date"), [datetime(2026, 1, 2, tzinfo=UTC)], [NOON]),
    (column("v", "bigint"), column("v", "timestamp"), [], [1700000000]),
    (column("v", "time"), column("v"), [time(1, 2, 3, 500)], []),
]  # fmt: skip


DECIMALS = (column("v", "decimal"), column("v"), [Decimal("1.5"), Decimal("0.0000001"), Decimal(0)], [])


def test_values_of_all_types_are_converted_as_dlt_does_or_not_at_all(spark: Any) -> None:
    most = max(len(whole) + len(lost) for _, _, whole, lost in CONVERSIONS)
    given = [[*whole, *lost, *[None] * (most - len(whole) - len(lost))] for _, _, whole, lost in CONVERSIONS]
    kinds = [f"v{at} {stored_type(before).simpleString()}" for at, (before, *_) in enumerate(CONVERSIONS)]
    with configured(spark):
        frame = spark.createDataFrame(
            [(at, *row) for at, row in enumerate(zip(*given, strict=True))], ", ".join(["i INT", *kinds])
        )
        made = [
            survivor(F.col(f"v{at}"), Retype(before, after)).alias(f"v{at}")
            for at, (before, after, *_) in enumerate(CONVERSIONS)
        ]
        # Python would have a TIMESTAMP in the machine's own time zone.
        shown = [
            F.col(f"v{at}").cast("timestamp_ntz") if after.data_type is T.TIMESTAMP else F.col(f"v{at}")
            for at, (_, after, *_) in enumerate(CONVERSIONS)
        ]
        found = sorted(frame.select("i", *made).select("i", *shown).collect())
    for at, (before, after, whole, lost) in enumerate(CONVERSIONS):
        assert before.data_type
        assert after.data_type
        wanted = [comparable(coerce(padded(value), before.data_type, after.data_type)) for value in whole]
        held = [row[at + 1] for row in found]
        assert held[: len(whole)] == wanted, before.data_type
        assert held[len(whole) :] == [None] * (most - len(whole)), (before.data_type, after.data_type, lost)


@pytest.mark.parametrize(("before", "after", "whole", "lost"), [CONVERSIONS[0], DECIMALS], ids=["text", "decimal"])
def test_a_column_is_converted_only_where_all_its_values_survive(
    url: str, spark: Any, rows: Any, before: Column, after: Column, whole: list[Any], lost: list[Any]
) -> None:
    step = ChangeType("t", before, after, Conversion.DEPENDS, needs_check=True)
    with destination.connect(url, "shop") as session:
        take(session, {}, CreateTable(table("t", column("_dlt_id"), before)))
        name = f"{session.dataset}.t"
        given = [(f"{at}", value) for at, value in enumerate([*whole, *lost])]
        kinds = spark.table(name).schema
        spark.createDataFrame([*given, ("n", None)], kinds).write.insertInto(name)
        if lost:
            found = session.unfit(step)
            assert (found.count, found.rows) == (len(lost), len(given) + 1)
            assert {example.row["_dlt_id"]: example.value for example in found.examples} == dict(given[len(whole) :])
            with pytest.raises(DestinationError, match=r"a value of `t\.v` does not survive as"):
                session.run(step, ())
            assert names_there(spark, url) == {"t"}
            assert rows("t", "_dlt_id", "v") == [*given, ("n", None)]
            spark.createDataFrame([*given[: len(whole)], ("n", None)], kinds).write.insertInto(name, overwrite=True)
        assert session.unfit(step).count == 0
        session.run(step, ())
    assert before.data_type
    assert after.data_type
    held = [(key, coerce(padded(value), before.data_type, after.data_type)) for key, value in given[: len(whole)]]
    assert rows("t", "_dlt_id", "v") == [*held, ("n", None)]


def test_structs_lists_and_maps_become_json(url: str, spark: Any, rows: Any) -> None:
    kinds = {"s": "struct<a:bigint,b:struct<c:string>>", "l": "array<decimal(38,0)>", "m": "map<string,double>"}
    values = {"s": "struct(1, struct(NULL))", "l": "array(12345678901234567890, NULL)", "m": "map('k', 0.5D)"}
    there = [Column(name, {"x-database-type": kind}) for name, kind in kinds.items()]
    with destination.connect(url, "shop") as session:
        spark.sql(f"CREATE SCHEMA {session.dataset}")
        held = ", ".join(f"CAST({values[name]} AS {kind}) AS {name}" for name, kind in kinds.items())
        spark.sql(f"CREATE TABLE {session.dataset}.t AS SELECT {held} UNION ALL SELECT NULL, NULL, NULL")
        steps = tuple(ChangeType("t", each, column(each.name, "json"), Conversion.WHOLE) for each in there)
        assert [session.unfit(step).count for step in steps] == [0, 0, 0]
        session.run_rewrite(RewriteTable(table("t", *there), steps))
    written = ('{"a":1,"b":{"c":null}}', "[12345678901234567890,null]", '{"k":0.5}')
    assert rows("t", "s", "l", "m") == [written, (None, None, None)]


def padded(value: Any) -> Any:
    """A decimal as its source wrote it: a column pads it with zeros."""
    return Decimal(f"{value.normalize():f}") if isinstance(value, Decimal) and value else value


def comparable(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_what_stands_in_a_steps_way_is_counted_with_examples(url: str, spark: Any) -> None:
    with destination.connect(url, "shop") as session:
        take(session, {}, CreateTable(ORDERS))
        spark.sql(f"INSERT INTO {session.dataset}.orders VALUES ('a', 'x'), ('b', 'x'), ('c', NULL), ('d', '1')")
        assert session.unfit(SetNotNull("orders", ORDERS.columns["total"])) == Unfit(
            1, 4, (Example({"_dlt_id": "c"}, None),)
        )
        assert session.unfit(AddUnique("orders", "total")).count == 2
        assert session.unfit(AddUnique("orders", "_dlt_id")).count == 0
        sampled = session.unfit(SetNotNull("orders", ORDERS.columns["total"]), 0.5)
        assert sampled.rows < 4
        assert sampled == session.unfit(SetNotNull("orders", ORDERS.columns["total"]), 0.5)
        step = Backfill("orders", column("total"), column("n", "bigint"), Conversion.DEPENDS)
        assert session.unfit(step).count == 2
        assert session.unfit(DropColumn("orders", ORDERS.columns["total"])) == Unfit()
        with pytest.raises(InputError, match="there is no table `gone`"):
            session.unfit(AddUnique("gone", "a"))


# --- the ledger ---


def test_the_ledger_keeps_the_last_line_of_each_run_and_step(url: str) -> None:
    first = Run("r1", "p", "shop", None, "h1", "me", datetime(2026, 1, 1, tzinfo=UTC), plan='{"a": ["ü"]}')
    steps = [StepRecord("r1", number, "x", ("undo",), "me") for number in range(1, 12)]
    with destination.connect(url, "shop") as session:
        assert (session.runs(), session.steps("r1"), session.versions(), session.schema_of("h")) == ((), (), (), None)
        session.write_run(first)
        session.write_steps(steps)
        done = replace(first, state=RunState.DONE, finished=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
        session.write_run(done)
        session.write_run(replace(first, run_id="r0", started=datetime(2025, 1, 1, tzinfo=UTC)))
        session.write_steps([replace(steps[1], state=StepState.DONE, finished=done.finished)])
    with destination.connect(url, "shop", is_read_only=True) as session:
        assert [run.run_id for run in session.runs()] == ["r0", "r1"]
        assert session.runs()[1] == done
        found = session.steps("r1")
        assert [step.number for step in found] == list(range(1, 12))
        assert [step.state for step in found[:3]] == [StepState.PENDING, StepState.DONE, StepState.PENDING]
        assert session.catalogue().schema.tables == {}
        with pytest.raises(InputError, match="a read-only session cannot write"):
            session.write_run(first)


def test_dlts_ledger_names_the_last_schema_once(url: str) -> None:
    first, second = shop(orders()), shop(orders({"paid": {"data_type": "bool"}}))
    with destination.connect(url, "shop") as session:
        for schema in (first, second, first):
            session.write_version(schema)
        hashes = [each.version_hash for each in session.versions("shop")]
        assert hashes == [first.version_hash, second.version_hash]
        assert session.versions("other") == ()
        assert session.schema_of(second.version_hash) == second
        session.forget_version(first.version_hash)
        assert [each.version_hash for each in session.versions()] == [second.version_hash]
        assert set(session.catalogue().schema.tables) == {"_dlt_version", "_dlt_loads"}
    assert destination.read_catalogue(url).hashes == (second.version_hash,)


# --- flows ---


class Moved:
    """A dataset that our loader has loaded, and the commands on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def put(self, schema: Schema) -> str:
        path = self.folder / "wanted.yaml"
        path.write_text(dlt.write(schema))
        return str(path)

    def plan(self, schema: Schema, allows_destructive: bool = False, **options: Any) -> PlanReport:
        request = PlanRequest(self.put(schema), self.url, self.folder, PlanOptions(**options), allows_destructive)
        return plan_migration(request)

    def apply(self, schema: Schema, allows_destructive: bool = False, **options: Any) -> ApplyReport:
        request = ApplyRequest(self.put(schema), self.url, self.folder, PlanOptions(**options), allows_destructive)
        return apply_migration(request, lambda _: True, lambda: nullcontext(None))

    def load(self, schema: Schema, load_id: str, *held: dict[str, Any]) -> None:
        destination.load(self.url, package(self.folder, schema, load_id, {"orders": held}), quiet)

    def verify(self) -> Any:
        return verify(VerifyRequest(None, self.url, self.folder))

    def status(self) -> Any:
        return find_status(None, self.url, self.folder, PlanOptions())

    def undo(self) -> Any:
        request = replace(RollbackRequest("shop", self.url), allows_destructive=True)
        return rollback(request, lambda _: True, lambda: nullcontext(None))


@pytest.fixture(scope="module")
def first_load(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A schema that has had a load."""
    name = "moves_first"
    made = Moved(f"spark:spark_catalog.{name}", tmp_path_factory.mktemp(name))
    made.load(FIRST, "1", order(1, note="5", old="o"), order(2, note="x"))
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def moved(first_load: str, url: str, spark: Any, tmp_path: Path) -> Moved:
    copy_schema(spark, first_load, url.partition(".")[2])
    return Moved(url, tmp_path)


FIRST = shop(orders({"old": {"data_type": "text"}}))


def after(before: Schema, **columns: dict[str, Any] | None) -> Schema:
    """A later version: columns of ``orders`` are replaced, or left out where they are None."""
    old = before.tables["orders"]
    held = {name: each for name, each in old.columns.items() if name not in columns}
    held |= {name: Column(name, each) for name, each in columns.items() if each is not None}
    return bump(replace(before, tables={**before.tables, "orders": replace(old, columns=held)}))


WIDE = after(
    FIRST,
    id={"data_type": "text"},
    old=None,
    note=None,
    memo={"data_type": "text", "x-renamed-from": "note"},
    paid={"data_type": "timestamp", "nullable": False},
)


def texts_of(url: str) -> dict[str, str]:
    """Return the descriptions that the catalog states, but for those of dlt's own columns."""
    found = destination.read_catalogue(url).schema.tables["orders"]
    of = {"": found.properties, **{name: each.properties for name, each in found.columns.items()}}
    return {name: each["description"] for name, each in of.items() if "description" in each and name[:4] != "_dlt"}


def test_descriptions_follow_the_schema_and_come_back(moved: Moved) -> None:
    text = "it's \\ what\nthey said"
    described = after(FIRST, note={"data_type": "text", "description": text})
    table = described.tables["orders"]
    described = bump(described.with_table(replace(table, properties={**table.properties, "description": "All"})))
    assert moved.apply(described).outcome is Outcome.DONE
    assert texts_of(moved.url) == {"": "All", "note": text}
    assert moved.plan(described).plan.steps == ()
    memo = {"data_type": "text", "description": "other", "x-renamed-from": "note"}
    changed = after(described, id={"data_type": "text", "description": "the key"}, note=None, memo=memo)
    assert moved.apply(changed).outcome is Outcome.DONE
    assert texts_of(moved.url) == {"": "All", "memo": "other", "id": "the key"}
    assert moved.plan(changed).plan.steps == ()
    assert moved.undo().outcome is Outcome.DONE
    assert texts_of(moved.url) == {"": "All", "note": text}


def test_a_loaded_description_is_there(url: str, tmp_path: Path) -> None:
    told = shop(orders({"note": {"data_type": "text", "description": "what they said"}}, description="All orders"))
    made = Moved(url, tmp_path)
    made.load(told, "1", order(1, note="5"))
    made.apply(told)
    assert texts_of(url) == {"": "All orders", "note": "what they said"}
    made.load(told, "2", order(2, "2", note="6"))
    assert made.plan(told).plan.steps == ()


def test_a_loaded_schema_is_migrated_looked_at_and_rolled_back(moved: Moved, rows: Any) -> None:
    report = moved.plan(WIDE, allows_destructive=True)
    assert {(type(each.step).__name__, each.way) for each in report.plan.steps} == {
        ("RenameColumn", Way.COPY),
        ("AddColumn", Way.IN_PLACE),
        ("ChangeType", Way.COPY),
        ("DropColumn", Way.COPY),
    }
    assert report.blockers == ()
    kept = after(WIDE, old={"data_type": "text"})

    assert moved.apply(kept).outcome is Outcome.DONE

    assert rows("orders", "id", "memo", "old", "paid") == [("1", "5", "o", None), ("2", "x", None, None)]
    assert moved.status().is_settled
    found = moved.verify()
    assert not found.drift
    assert [(odd.column, odd.count) for odd in found.odd] == [("paid", 2)]
    assert moved.apply(kept).outcome is Outcome.NOTHING
    # A load goes on with it,
    moved.load(kept, "3", order(3, "3") | {"id": "3", "memo": "m", "paid": datetime(2026, 1, 2, tzinfo=UTC)})
    assert rows("orders", "id", "memo") == [("1", "5"), ("2", "x"), ("3", "m")]
    # and what was done is undone.
    assert moved.undo().outcome is Outcome.DONE
    there = destination.read_catalogue(moved.url)
    assert there.hashes[0] == FIRST.version_hash
    assert set(there.schema.tables["orders"].columns) == set(FIRST.tables["orders"].columns)
    assert rows("orders", "id", "note", "old") == [(1, "5", "o"), (2, "x", None), (3, "m", None)]


def test_the_first_run_that_made_the_ledger_too_is_rolled_back(
    url: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = bump(replace(new_schema("shop"), tables={**new_schema("shop").tables, "orders": ORDERS}))
    Path("wanted.yaml").write_text(dlt.write(wanted))
    request = ApplyRequest("./wanted.yaml", url, Path("schemas"), PlanOptions())
    assert apply_migration(request, lambda _: True, lambda: nullcontext(None)).outcome is Outcome.DONE
    assert "orders" in names_there(spark, url)
    undone = rollback(RollbackRequest("shop", url), lambda _: True, lambda: nullcontext(None))
    assert undone.outcome is Outcome.DONE
    assert "orders" not in names_there(spark, url)
    assert "_dlt_version" in names_there(spark, url)


def test_a_new_column_that_may_not_be_null_gets_its_value_in_stored_rows(moved: Moved, rows: Any) -> None:
    value = r"it's\new: ${spark.app.name}"
    wanted = after(FIRST, state={"data_type": "text", "nullable": False, "x-backfill": value})
    assert moved.apply(wanted).outcome is Outcome.DONE
    assert rows("orders", "id", "state") == [(1, value), (2, value)]
    assert moved.verify().is_clean
    assert moved.apply(wanted).outcome is Outcome.NOTHING


def test_a_table_that_is_not_copied_is_refused_before_the_first_step(moved: Moved, spark: Any, tmp_path: Path) -> None:
    full = f"{moved.url.partition(':')[2]}.orders"
    spark.sql(f"CREATE TABLE {full}_there USING parquet LOCATION '{tmp_path / 'there'}' AS SELECT * FROM {full}")
    spark.sql(f"DROP TABLE {full}")
    spark.sql(f"ALTER TABLE {full}_there RENAME TO {full.partition('.')[2]}")
    columns = spark.table(full).columns
    report = moved.apply(WIDE, allows_destructive=True)
    assert report.outcome is Outcome.REFUSED
    kinds = [type(each.step).__name__ for each in report.planned.plan.steps]
    assert kinds == ["RenameColumn", "AddColumn", "ChangeType", "DropColumn"]
    (blocker,) = report.planned.blockers
    assert (blocker.kind, blocker.numbers) == (BlockerKind.IMPOSSIBLE, (1, 3, 4))
    assert blocker.message.startswith("steps 1, 3, 4 are not possible: `orders` is an external table")
    assert spark.table(full).columns == columns
    assert moved.status().runs == ()


@pytest.mark.parametrize("way", [OnUnfit.REFUSE, OnUnfit.VARIANT])
def test_values_that_do_not_fit_are_refused_or_kept_beside_the_others(moved: Moved, rows: Any, way: OnUnfit) -> None:
    wanted = after(FIRST, note={"data_type": "bigint"})
    report = moved.apply(wanted, on_unfit=way)
    if way is OnUnfit.REFUSE:
        assert report.outcome is Outcome.REFUSED
        assert [(each.count, each.examples) for each in report.planned.counted] == [(1, ('"x" (_dlt_id r2.1)',))]
        return
    assert report.outcome is Outcome.DONE
    assert rows("orders", "note", "note__before_1") == [(5, "5"), (None, "x")]
    assert rows("orders", "note__v_text") == [("x",), (None,)]


# --- copies that break off ---


class Killed(BaseException):
    """Stands for the end of the process: nobody cleans up."""


@pytest.fixture
def dying(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the process end before a statement that begins with a text."""
    real = type(spark).sql

    def die(beginning: str) -> None:
        def sql(session: Any, statement: str, *more: Any, **others: Any) -> Any:
            if statement.startswith(beginning) and "orders" in statement:
                raise Killed
            return real(session, statement, *more, **others)

        monkeypatch.setattr(type(spark), "sql", sql)

    return die


@pytest.mark.parametrize("point", ["made", "filled", "dropped"])
def test_a_copy_that_broke_off_leaves_one_whole_table(
    url: str, rows: Any, spark: Any, dying: Any, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    step = ChangeType("orders", ORDERS.columns["total"], column("total", "bigint"), Conversion.DEPENDS)
    with destination.connect(url, "shop") as session:
        take(session, {}, CreateTable(ORDERS))
        spark.sql(f"INSERT INTO {session.dataset}.orders VALUES ('a', '1')")
        if point == "made":
            monkeypatch.setattr("pyspark.sql.readwriter.DataFrameWriter.insertInto", _dies_on_copies())
        else:
            dying("DROP TABLE `" if point == "filled" else "ALTER TABLE `")
        with pytest.raises(Killed):
            session.run(step, ())
    monkeypatch.undo()
    copy = "_schemactl_copy_orders"
    assert names_there(spark, url) == ({copy} if point == "dropped" else {copy, "orders"})
    kind = destination.read_catalogue(url).schema.tables["orders"].columns["total"].data_type
    assert kind is (T.BIGINT if point == "dropped" else T.TEXT)
    with destination.connect(url, "shop", is_read_only=True) as session:
        assert session.row_count("orders") == 1

    with destination.connect(url, "shop") as session:
        assert names_there(spark, url) == {"orders"}
        if point != "dropped":
            session.run(step, ())
    assert rows("orders", "*") == [("a", 1)]


def test_a_migration_that_broke_off_goes_on(moved: Moved, rows: Any, dying: Any, monkeypatch: Any) -> None:
    wanted = after(FIRST, id={"data_type": "text"})
    dying("ALTER TABLE `")
    with pytest.raises(Killed):
        moved.apply(wanted)
    monkeypatch.undo()
    assert moved.apply(wanted).outcome is Outcome.DONE
    assert rows("orders", "id") == [("1",), ("2",)]
    assert moved.status().is_settled


def test_a_table_is_copied_once_for_steps_next_to_each_other(moved: Moved, rows: Any, monkeypatch: Any) -> None:
    from schemactl.destinations.spark import tables

    copied = []
    real = tables.replace_table
    monkeypatch.setattr(
        tables, "replace_table", lambda held, name, *args: (copied.append(name), real(held, name, *args))
    )
    memo = {"data_type": "text", "x-renamed-from": "note"}
    wanted = after(FIRST, id={"data_type": "text"}, note=None, memo=memo)

    report = moved.apply(wanted)

    assert report.outcome is Outcome.DONE
    assert [type(each.step).__name__ for each in report.planned.plan.steps] == ["RenameColumn", "ChangeType"]
    assert copied.count("orders") == 1
    first, last = report.planned.plan.steps
    assert (first.statements, first.done_with, last.done_with) == ((), 2, 2)
    assert "CAST(`id` AS string)" in last.statements[1]
    assert "`memo`" in last.statements[1].partition(" SELECT ")[0]
    assert "`note`" in last.statements[1].partition(" SELECT ")[2]
    assert len(last.statements) == 4
    assert rows("orders", "id", "memo") == [("1", "5"), ("2", "x")]
    assert moved.status().runs[0].done == 2

    undone = moved.undo()

    assert undone.outcome is Outcome.DONE
    last, first = undone.steps
    assert (last.planned.undo_statements, last.done_with, first.done_with) == ((), 2, 2)
    assert "CAST(`id` AS bigint)" in first.planned.undo_statements[1]
    assert copied.count("orders") == 2
    assert rows("orders", "id", "note") == [(1, "5"), (2, "x")]


def _dies_on_copies() -> Callable[..., None]:
    from pyspark.sql.readwriter import DataFrameWriter

    real = DataFrameWriter.insertInto

    def insert(self: Any, name: str, overwrite: bool | None = None) -> None:
        if "_schemactl_copy_" in name:
            raise Killed
        real(self, name, overwrite)

    return insert


def test_a_load_finishes_a_copy_that_broke_off(moved: Moved, rows: Any, dying: Any, monkeypatch: Any) -> None:
    dying("ALTER TABLE `")
    with destination.connect(moved.url, "shop") as session, pytest.raises(Killed):
        session.run(RenameColumn("orders", "note", "memo"), ())
    monkeypatch.undo()
    moved.load(after(FIRST, note=None, memo={"data_type": "text"}), "5", order(5, "5"))
    assert rows("orders", "id", "memo") == [(1, "5"), (2, "x"), (5, None)]


def test_a_load_that_was_certain_is_finished_before_a_migration(
    moved: Moved, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from schemactl.destinations.spark import commit

    def kill(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "_take", kill)
        with pytest.raises(Killed):
            moved.load(FIRST, "6", order(6, "6"))
    with destination.connect(moved.url, "shop") as session:
        assert session.row_count("orders") == 3
    assert rows("orders", "id") == [(1,), (2,), (6,)]


def test_types_of_spark_are_made_and_those_of_others_become_the_nearest(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = {
        "uuid": "text",
        "UBIGINT": "wei",
        "interval day to second(3)": "text",
        "ENUM('a', 'b')": "text",
        "array<int>": "array<int>",
        "interval day to second": "interval day to second",
    }
    columns = (Column(f"c{number}", {"x-database-type": kind}) for number, kind in enumerate(written))
    made = bump(replace(new_schema("shop"), tables={"orders": table("orders", *columns)}))
    Path("shop.yaml").write_text(dlt.write(made))
    request = ApplyRequest("./shop.yaml", url, Path("schemas"), PlanOptions())
    assert apply_migration(request, lambda _: True, lambda: nullcontext(None)).outcome is Outcome.DONE
    assert verify(VerifyRequest("./shop.yaml", url, Path("schemas"))).drift == ()
    there = destination.read_catalogue(url).schema.tables["orders"].columns.values()
    assert [next(iter(each.properties.values())) for each in there] == list(written.values())
    odd = replace(made, tables={"orders": table("orders", Column("odd", {"x-database-type": "shop.mood"}))})
    Path("odd.yaml").write_text(dlt.write(bump(odd)))
    with pytest.raises(InputError, match="`odd` is not a type of Spark"):
        apply_migration(replace(request, reference="./odd.yaml"), lambda _: True, lambda: nullcontext(None))
