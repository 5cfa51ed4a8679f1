"""Databases take the steps of a plan, each as its module says, and keep what they had where a step fails."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from migrated_datasets import take
from schema_parts import column, table

from schemactl.destinations import postgresql, sqlite
from schemactl.errors import DestinationError, InputError
from schemactl.migration.migration_plan import Place, make_plan
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.records import Patience, Run, RunState, StepRecord, StepState
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column

ORDERS = table("orders", column("_dlt_id", "text", nullable=False), column("total", "text"))


def fill(session, dataset, name, columns, rows):
    session.database.insert(f'"{dataset}"."{name}"', columns, rows)


def rows_of(session, dataset, name, columns="*"):
    return session.database.query(f'SELECT {columns} FROM "{dataset}"."{name}" ORDER BY 1')


def columns_of(session, kind, name):
    found = session.catalogue().schema.tables[name].columns.values()
    return {each.name: kind.stored(each) for each in found}


def test_every_step_leaves_the_table_as_the_model_says(place):
    kind, url, dataset = place
    tables = {}
    note, total = column("note", "text"), ORDERS.columns["total"]
    number = column("total", "bigint")
    with kind.connect(url, "shop") as session, session.transaction():
        take(session, kind, dataset, tables, CreateTable(ORDERS))
        fill(session, dataset, "orders", ("_dlt_id", "total"), [("a", "1"), ("b", " 0x10 "), ("c", None)])
        take(
            session,
            kind,
            dataset,
            tables,
            AddColumn("orders", note),
            FillColumn("orders", note, "it's; -- new"),
            SetNotNull("orders", note),
            ChangeType("orders", total, number, Conversion.DEPENDS, needs_check=True),
            RenameColumn("orders", "total", "amount"),
            AddUnique("orders", "amount"),
            DropUnique("orders", "amount"),
            DropNotNull("orders", column("note", "text", nullable=False)),
            AddColumn("orders", column("other", "double")),
            DropColumn("orders", note),
            RenameTable("orders", "sales"),
        )
        assert columns_of(session, kind, "sales") == {
            each.name: kind.stored(each) for each in tables["sales"].columns.values()
        }
        assert rows_of(session, dataset, "sales", '"_dlt_id", "amount"') == [("a", 1), ("b", 16), ("c", None)]
        take(session, kind, dataset, tables, DropTable(tables["sales"]))
        assert not session.catalogue().schema.tables


def test_a_unique_column_takes_no_value_twice(place):
    kind, url, dataset = place
    tables = {}
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(ORDERS))
        fill(session, dataset, "orders", ("_dlt_id", "total"), [("a", "1"), ("b", "1"), ("c", None), ("d", None)])
        found = session.unfit(AddUnique("orders", "total"))
        assert (found.count, found.rows) == (2, 4)
        assert session.unfit(AddUnique("orders", "_dlt_id")).count == 0
        take(session, kind, dataset, tables, AddUnique("orders", "_dlt_id"))
        assert session.catalogue().schema.tables["orders"].columns["_dlt_id"].properties["unique"]
        with pytest.raises(DestinationError), session.database.wrap_errors("insert"):
            session.database.execute(f'INSERT INTO "{dataset}"."orders" VALUES (\'a\', null)')


def test_values_that_do_not_survive_are_counted_with_the_keys_of_their_rows(place):
    kind, url, dataset = place
    step = ChangeType("orders", ORDERS.columns["total"], column("total", "bigint"), Conversion.DEPENDS, True)
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, {}, CreateTable(ORDERS))
        rows = [(f"r{number}", "2.5") for number in range(7)] + [("ok", "12"), ("none", None)]
        fill(session, dataset, "orders", ("_dlt_id", "total"), rows)
        found = session.unfit(step)
        assert (found.count, found.rows, len(found.examples)) == (7, 9, 5)
        assert all(each.row["_dlt_id"].startswith("r") and each.value == "2.5" for each in found.examples)
        assert session.unfit(SetNotNull("orders", ORDERS.columns["total"])).count == 1
        assert session.unfit(RenameColumn("orders", "total", "amount")).count == 0


def test_a_retype_that_meets_a_value_which_does_not_survive_leaves_all_as_it_was(place):
    kind, url, dataset = place
    tables = {}
    step = ChangeType("orders", ORDERS.columns["total"], column("total", "bigint"), Conversion.DEPENDS, True)
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(ORDERS))
        fill(session, dataset, "orders", ("_dlt_id", "total"), [("a", "1"), ("b", "2.5")])
        with pytest.raises(DestinationError), session.transaction():
            take(session, kind, dataset, tables, AddColumn("orders", column("other", "double")), step)
        assert rows_of(session, dataset, "orders") == [("a", "1"), ("b", "2.5")]


def test_a_swap_keeps_what_does_not_fit_in_the_variant_column(place):
    kind, url, dataset = place
    made = replace(new_schema("shop"), tables={"orders": ORDERS})
    numbers = table("orders", ORDERS.columns["_dlt_id"], column("total", "bigint"))
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, {}, CreateTable(ORDERS))
        fill(session, dataset, "orders", ("_dlt_id", "total"), [("a", "1"), ("b", "2.5"), ("c", None)])
        catalogue = session.catalogue().schema
        schema = replace(made, tables={"orders": numbers})
        proposal = plan_steps(
            catalogue,
            schema,
            made,
            stored=kind.stored,
            abilities=kind.ABILITIES,
            options=PlanOptions(on_unfit=OnUnfit.VARIANT),
        )
        where = Place("any", session.origin, session.dataset)
        plan = make_plan(proposal, catalogue, schema, where, partial(kind.render, dataset=dataset))
        assert any(isinstance(each.step, Backfill) for each in plan.steps)
        with session.transaction():
            for each in plan.steps:
                session.run(each.step, each.statements)
        kept = '"_dlt_id", "total", "total__v_text", "total__before_1"'
        assert rows_of(session, dataset, "orders", kept) == [
            ("a", 1, None, "1"),
            ("b", None, "2.5", "2.5"),
            ("c", None, None, None),
        ]
        for each in reversed(plan.steps):
            session.run(each.step, each.undo_statements)
        assert columns_of(session, kind, "orders") == {
            each.name: kind.stored(each) for each in catalogue.tables["orders"].columns.values()
        }


HOSTILE = [
    'a"; DROP TABLE "safe"; --', "a'b''c", "semi;colon", "-- comment", "/* c */", "back\\slash\\", "select", "sp ace",
    "näme 🙂", "$schemactl$ $$", "%s %(x)s {0}", "x" * 60,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_end_a_statement(place, name):
    kind, url, dataset = place
    tables = {}
    source = table(name, column("k", "text"), column(name, "text"))
    number = column(name, "bigint")
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(table("safe", column("k", "text"))), CreateTable(source))
        take(
            session,
            kind,
            dataset,
            tables,
            FillColumn(name, source.columns[name], "7"),
            ChangeType(name, source.columns[name], number, Conversion.DEPENDS, True),
            AddUnique(name, name),
            DropUnique(name, name),
            SetNotNull(name, number),
            RenameColumn(name, "k", f"{name}2"),
            RenameTable(name, f"{name}3"),
        )
        assert session.unfit(AddUnique(f"{name}3", name)).count == 0
        assert {*session.catalogue().schema.tables} == {"safe", f"{name}3"}
        assert {*session.catalogue().schema.tables[f"{name}3"].columns} == {f"{name}2", name}


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_name_that_no_database_has_is_refused(place, name):
    kind, _, dataset = place
    with pytest.raises(InputError):
        kind.render(CreateTable(table(name, column("k", "text"))), None, dataset)


def test_a_name_longer_than_postgresql_keeps_is_refused():
    with pytest.raises(InputError, match="63 bytes"):
        postgresql.render(RenameTable("a", "x" * 200), None, "shop")


@pytest.mark.parametrize(
    "properties",
    [
        {"x-database-type": "text); DROP TABLE safe; --"},
        {"data_type": "text", "precision": "1); DROP TABLE safe; --"},
        {"data_type": "decimal", "scale": True},
    ],
)
def test_no_type_can_end_a_statement(place, properties):
    kind, _, dataset = place
    with pytest.raises(InputError):
        kind.render(AddColumn("orders", Column("x", properties)), ORDERS, dataset)


def test_the_ledger_gives_back_what_was_written(place):
    kind, url, _ = place
    now = datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
    run = Run("r'1", "abc", "shop", None, "h2", "me@here", now, plan='{"steps": ["é"]}')
    steps = (StepRecord("r'1", 1, "x", ("undo;",), "me"), StepRecord("r'1", 2, "y", (), "me", StepState.RUNNING, now))
    with kind.connect(url, "shop") as session:
        assert session.runs() == ()
        session.write_run(run)
        session.write_steps(steps)
        assert session.runs() == (run,)
        assert session.steps("r'1") == steps
        done = replace(run, finished=now, state=RunState.DONE)
        session.write_run(done)
        session.write_steps([replace(steps[1], state=StepState.DONE)])
        assert session.runs() == (done,)
        assert session.steps("r'1")[1].state is StepState.DONE
        assert not session.catalogue().schema.tables


def test_every_schema_of_dlts_ledger_can_be_fetched_back_the_last_one_first(place):
    kind, url, _ = place
    first = bump(replace(new_schema("shop"), tables={"orders": ORDERS}))
    second = bump(first.with_table(table("orders", column("_dlt_id", "text"))))
    with kind.connect(url, "shop") as session:
        assert session.versions() == ()
        session.write_version(first)
        session.write_version(second)
        session.write_version(first)
        assert [each.version_hash for each in session.versions("shop")] == [first.version_hash, second.version_hash]
        assert session.schema_of(second.version_hash) == second
        assert session.schema_of("none") is None
        assert session.versions("other") == ()


def test_who_comes_second_is_reported_and_a_killed_owner_holds_nothing(place):
    kind, url, _ = place
    word = kind.__name__.rpartition(".")[2]
    code = (
        f"import sys, time\nfrom schemactl.destinations import {word} as kind\n"
        f"with kind.connect({url!r}, 'shop') as session, session.transaction():\n"
        "    step = __import__('pickle').loads(bytes.fromhex(sys.argv[1]))\n"
        "    session.run(step, kind.render(step, None, sys.argv[2]))\n"
        "    print('here', flush=True)\n    time.sleep(60)\n"
    )
    import pickle

    made = pickle.dumps(CreateTable(ORDERS)).hex()
    owner = subprocess.Popen([sys.executable, "-c", code, made, place[2]], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout.readline() == "here\n"
        with pytest.raises(DestinationError), kind.connect(url, "shop", patience=Patience(0.3)):
            pass
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    with kind.connect(url, "shop", patience=Patience(20)) as session:
        assert not session.catalogue().schema.tables


def test_who_comes_next_need_not_wait(place):
    kind, url, _ = place
    for _ in range(3):
        with kind.connect(url, "shop") as session:
            for number in range(300):  # it takes a server a while to clear them away
                session.database.execute(f"CREATE TEMP TABLE own{number} (n INTEGER)")


def test_tables_without_rows_are_found(place):
    kind, url, dataset = place
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, {}, CreateTable(ORDERS), CreateTable(replace(ORDERS, name="other")))
        fill(session, dataset, "other", ("_dlt_id",), [("a",)])
        assert session.empty_tables(["orders", "other", "none"]) == {"orders"}
        assert session.row_count("other") == 1


def test_sqlite_makes_indexes_and_triggers_again_and_refuses_to_lose_a_check(tmp_path):
    import sqlite3

    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as made:
        made.execute("create table orders (_dlt_id text not null, total text)")
        made.execute("create index by_total on orders (total)")
        made.execute("create view seen as select total from orders")
        made.execute("create table checked (a text check (a <> ''))")
    made.close()
    with sqlite.connect(f"sqlite:///{path}", "shop") as session:
        found = session.catalogue().schema.tables
        step = ChangeType("orders", found["orders"].columns["total"], column("total", "bigint"))
        session.run(step, sqlite.render(step, found["orders"], "main"))
        names = session.database.query("select name from sqlite_master where name in ('by_total', 'seen')")
        assert len(names) == 2
        step = SetNotNull("checked", found["checked"].columns["a"])
        with pytest.raises(DestinationError, match="CHECK"):
            session.run(step, sqlite.render(step, found["checked"], "main"))
