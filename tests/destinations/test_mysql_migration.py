"""Migrations of a MariaDB server: step by step, with a journal, as its DDL ends transactions."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from migrated_datasets import column, plan, put, schema_of
from mysql_database import ask, run

from schemactl.destinations.mysql import migration as mysql_migration
from schemactl.destinations.mysql.session import MySqlSession
from schemactl.errors import DestinationError
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.script import render_for
from schemactl.migration import effects
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.migration.statements import Retype
from schemactl.migration.steps import (
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropNotNull,
    FillColumn,
    SetNotNull,
    Step,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Table

ID = column("id", "bigint", nullable=False)
FIRST = schema_of(
    ID, column("amount"), column("note"), column("size", "bigint", precision=16), column("at", "timestamp")
)
SECOND = schema_of(
    ID,
    column("amount", "decimal", precision=10, scale=2),
    column("memo", **{"x-renamed-from": "note"}),
    column("size", "bigint"),
    column("at"),
    column("flag", "bool", nullable=False, **{"x-backfill": False}),
    before=FIRST,
)


@pytest.fixture
def url(mariadb_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"{mariadb_url}&dataset=sales"


@pytest.fixture
def filled(url: str) -> str:
    """A dataset of the first schema with rows in it."""
    assert apply(url, FIRST).outcome is Outcome.DONE
    rows = "(1, ' 1.50 ', 'a', 7, '2026-01-02 03:04:05.678901'), (2, '1e2', null, -3, null), (3, null, 'Ж', null, null)"
    run(url, f"insert into sales.orders (id, amount, note, size, at) values {rows}")
    return url


apply = partial(migrated_datasets.apply, allows_destructive=True)


undo = partial(migrated_datasets.undo, allows_destructive=True)


def test_a_script_runs_on_a_server_in_its_own_words(mariadb_url: str) -> None:
    before = column("v"), column("n", "bigint", nullable=False, precision=16), column("at", "timestamp")
    values = {"bool": True, "json": {"a": "it's"}, "binary": "YWI=", "date": "2026-01-31", "decimal": "1.50"}
    filled = {name: column(name, name) for name in values}
    # MariaDB casts nothing to JSON, as MySQL does.
    kinds = ("text", "bigint", "double", "decimal", "wei", "date", "timestamp", "time", "binary")
    made = [column(f"v__new_{number}", kind) for number, kind in enumerate(kinds, 1)]
    table = Table("t", {each.name: each for each in (*before, *filled.values(), *made)})
    steps: list[Step] = [FillColumn("t", filled[name], value) for name, value in values.items()]
    steps += [Backfill("t", before[0], each, Conversion.WHOLE) for each in made]
    steps += [ChangeType("t", before[1], column("n", "bigint", nullable=False)), DropNotNull("t", before[1])]
    steps += [SetNotNull("t", filled["bool"]), DescribeTable("t", {"": None, "n": None}, {"": "it's", "n": "a \\ b"})]
    render, tables, written = render_for("mysql"), dict[str, Table](), list[str]()
    for step in (CreateTable(table), *steps):
        written += render(step, tables.get("t"))
        effects.apply_to_model(tables, (step,))

    insert = "insert into t (v, n, at) values ('101112', 7, now())"  # which each of the types takes
    run(mariadb_url, "create database scripts", "use scripts", written[0], insert, *written[1:])
    row = "select `bool`, json_value(`json`, '$.a'), `binary`, `date`, v__new_1, v__new_2 from t"
    assert ask(mariadb_url, row, "scripts") == [(1, "it's", b"ab", date(2026, 1, 31), "101112", 101112)]
    nulls = "select column_name, is_nullable, column_comment from information_schema.columns"
    asked = f"{nulls} where table_schema = 'scripts' and column_name in ('n', 'bool') order by 1"
    assert ask(mariadb_url, asked, "scripts") == [("bool", "NO", ""), ("n", "YES", "a \\ b")]


def is_settled(url: str) -> bool:
    return find_status(None, url, Path("schemas"), PlanOptions()).is_settled


def test_a_plan_shows_the_statements_and_writes_nothing(filled: str) -> None:
    shown = [each for step in plan(filled, SECOND).plan.steps for each in step.statements]
    assert "ALTER TABLE `sales`.`orders` RENAME COLUMN `note` TO `memo`" in shown
    assert "ALTER TABLE `sales`.`orders` MODIFY COLUMN `size` bigint NULL" in shown
    assert any(each.startswith("UPDATE `sales`.`orders` SET `amount") for each in shown)
    assert [row[0] for row in ask(filled, "show columns from orders")] == ["id", "amount", "note", "size", "at"]


def test_values_are_converted_by_dlts_coercion_and_come_back(filled: str) -> None:
    before = ask(filled, "select id, amount, note, size, at from orders order by id")
    assert apply(filled, SECOND).outcome is Outcome.DONE
    found = ask(filled, "select id, cast(amount as char), memo, size, at, flag from orders order by id")
    assert found == [
        (1, "1.50", "a", 7, "2026-01-02T03:04:05.678901+00:00", 0),
        (2, "100.00", None, -3, None, 0),
        (3, None, "Ж", None, None, 0),
    ]
    assert is_settled(filled)
    assert apply(filled, SECOND).outcome is Outcome.NOTHING
    assert verify(VerifyRequest(put(SECOND, "wanted.yaml"), filled, Path("schemas"))).is_clean
    assert undo(filled).outcome is Outcome.DONE
    after = ask(filled, "select id, note, size, at from orders order by id")
    assert after == [(row[0], row[2], row[3], row[4]) for row in before]
    assert is_settled(filled)


def test_values_that_do_not_survive_are_counted_before_anything_is_done(filled: str) -> None:
    run(filled, "insert into sales.orders (id, amount) values (4, 'four'), (5, '1.234')")
    (found,) = plan(filled, SECOND).counted
    assert found.count == 2
    assert "four" in str(found.examples)
    assert apply(filled, SECOND).outcome is Outcome.DONE
    kept = ask(filled, "select id, amount__before_1 from orders where amount is null order by id")
    assert kept == [(3, None), (4, "four"), (5, "1.234")]


def test_a_size_that_values_do_not_fit_into_is_refused(filled: str) -> None:
    run(filled, "alter table sales.orders modify size bigint", "update sales.orders set size = 99999 where id = 1")
    (blocker,) = apply(filled, FIRST).planned.blockers
    assert "1 value of `orders.size` would not survive" in blocker.message
    run(filled, "update sales.orders set size = 9 where id = 1")
    assert apply(filled, FIRST).outcome is Outcome.DONE


def test_a_decimal_without_a_scale_has_no_decimal_places(url: str) -> None:
    before = schema_of(ID, column("amount", "decimal"))
    assert apply(url, before).outcome is Outcome.DONE
    run(url, "insert into sales.orders values (1, 1.5), (2, 2)")
    (counted,) = plan(url, schema_of(ID, column("amount", "decimal", precision=40), before=before)).counted
    assert counted.count == 1


def test_integers_that_become_wider_are_not_read(url: str) -> None:
    before = schema_of(ID, column("share", "bigint"), column("price", "bigint"))
    after = schema_of(ID, column("share", "double"), column("price", "decimal"), before=before)
    assert apply(url, before).outcome is Outcome.DONE
    run(url, f"insert into sales.orders values (1, {2**53}, {2**63 - 1}), (2, {-(2**53)}, {-(2**63)}), (3, null, null)")

    with mysql_migration.connect(url, "shop") as session:
        for name, data_type in (("share", "double"), ("price", "decimal")):
            retype = Retype(column(name, "bigint"), column(name, data_type))
            assert session.odd_values(retype, "sales.orders") == []
    assert apply(url, after).outcome is Outcome.DONE
    assert ask(url, "select share, price from sales.orders order by id") == [
        (2.0**53, Decimal(2**63 - 1)),
        (-(2.0**53), Decimal(-(2**63))),
        (None, None),
    ]


WIDER = [
    ("bigint", "double", "bigint", [0, 7, -(2**53), 2**53]),
    ("bigint", "decimal", "bigint", [-(2**63), 2**63 - 1]),
    ("bigint", "wei", "bigint", [-(2**63), 2**63 - 1]),
    ("wei", "decimal", "decimal(38,0)", [10**28, -1]),
    ("date", "timestamp", "date", [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
]


@pytest.mark.parametrize(("before", "after", "stored_type", "values"), WIDER, ids=lambda value: str(value)[:12])
def test_a_wider_type_keeps_the_place_and_the_index_of_its_column(
    url: str, before: str, after: str, stored_type: str, values: list[Any]
) -> None:
    first = schema_of(ID, column("x", before), column("note"))
    second = schema_of(ID, column("x", after), column("note"), before=first)
    assert apply(url, first).outcome is Outcome.DONE
    rows = ", ".join(f"({number}, '{value}')" for number, value in enumerate(values))
    run(url, f"insert into sales.orders (id, x) values {rows}", "create index by_x on sales.orders (x)")
    stored_values = ask(url, "select x from orders order by id")

    assert apply(url, second).outcome is Outcome.DONE

    kept = "select cast(x as char) from orders order by id"
    as_text = [(f"{value} 00:00:00.000000",) if isinstance(value, date) else (value,) for value in values]
    wide_values = [(text,) if before == "date" else (Decimal(text),) for (text,) in ask(url, kept)]
    assert wide_values == as_text
    assert [row[0] for row in ask(url, "show columns from orders")] == ["id", "x", "note"]
    assert [row[2] for row in ask(url, "show index from orders")] == ["by_x"]
    assert is_settled(url)
    assert undo(url).outcome is Outcome.DONE
    assert ask(url, "select x from orders order by id") == stored_values
    kind = "select column_type from information_schema.columns where table_schema = 'sales' and column_name = 'x'"
    assert ask(url, kind)[0][0].replace("(20)", "") == stored_type


def test_values_that_came_after_a_wider_type_and_do_not_survive_the_undo_block_it(url: str) -> None:
    moments = "'2024-02-29 00:00:00.000001'", "'2024-02-29'"
    for number, (before, after, values) in enumerate(
        (("bigint", "double", ("1.5", "2e15")), ("bigint", "decimal", ("0.5", "2")), ("date", "timestamp", moments))
    ):
        dataset = f"{url}{number}"
        first = schema_of(ID, column("x", before))
        assert apply(dataset, first).outcome is Outcome.DONE
        assert apply(dataset, schema_of(ID, column("x", after), before=first)).outcome is Outcome.DONE
        run(dataset, f"insert into sales{number}.orders values (1, {values[0]}), (2, {values[1]})")
        (blocker,) = undo(dataset).blockers
        assert "1 value of `orders.x` would not survive" in blocker.message


def test_an_integer_that_a_double_changes_is_counted(url: str) -> None:
    before = schema_of(ID, column("share", "bigint"))
    assert apply(url, before).outcome is Outcome.DONE
    run(url, f"insert into sales.orders values (1, {2**53 + 1}), (2, {2**53 + 2}), (3, 7)")
    (counted,) = plan(url, schema_of(ID, column("share", "double"), before=before)).counted
    assert counted.count == 1


def test_a_run_goes_on_where_a_step_failed(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    execute = MySqlSession.execute

    def refuse_rename(session: MySqlSession, statement: str) -> int:
        return execute(session, "SELECT 1 FROM nowhere.nothing" if "RENAME COLUMN `note`" in statement else statement)

    with monkeypatch.context() as patch:
        patch.setattr(MySqlSession, "execute", refuse_rename)
        with pytest.raises(DestinationError, match=r"step \d of \d+ failed") as caught:
            apply(filled, SECOND)
    assert "resume with `apply`" in str(caught.value.hint)
    assert apply(filled, SECOND).outcome is Outcome.DONE
    assert is_settled(filled)


def test_what_hangs_on_a_column_is_in_the_way_of_its_change(filled: str) -> None:
    run(filled, "create view sales.notes as select note from sales.orders")
    report = plan(filled, SECOND)
    assert report.stops
    assert any("view `notes`" in each.message for each in report.blockers)


def test_a_comment_of_a_column_stays_when_its_type_gets_wider(filled: str) -> None:
    run(filled, "alter table sales.orders modify size smallint comment 'how many'")
    assert apply(filled, SECOND).outcome is Outcome.DONE
    found = "select column_comment, column_type from information_schema.columns where column_name = 'size'"
    assert [row[0] for row in ask(filled, f"{found} and table_schema = 'sales'")] == ["how many"]


def test_columns_that_exchange_their_names_never_lack_one_of_them(url: str) -> None:
    first = schema_of(ID, column("a", "bigint"), column("b"), column("c", "double"))
    swapped = schema_of(
        ID,
        column("a", **{"x-renamed-from": "b"}),
        column("b", "bigint", **{"x-renamed-from": "a"}),
        column("d", "double", **{"x-renamed-from": "c"}),
        before=first,
    )
    assert apply(url, first).outcome is Outcome.DONE
    run(url, "insert into sales.orders (id, a, b, c) values (1, 2, 'x', 0.5)")
    renames = [
        statement
        for step in plan(url, swapped).plan.steps
        for statement in step.statements
        if "RENAME COLUMN" in statement
    ]

    assert apply(url, swapped).outcome is Outcome.DONE

    assert any("RENAME COLUMN `a`" in statement and "RENAME COLUMN `b`" in statement for statement in renames), renames
    assert ask(url, "select id, a, b, d from orders") == [(1, "x", 2, 0.5)]
    assert is_settled(url)
    assert undo(url).outcome is Outcome.DONE
    assert ask(url, "select id, a, b, c from orders") == [(1, 2, "x", 0.5)]


def test_a_required_column_of_another_type_takes_the_name_of_the_old_one_at_once(url: str) -> None:
    first = schema_of(ID, column("v", "bigint", nullable=False))
    second = schema_of(ID, column("v", nullable=False), before=first)
    assert apply(url, first).outcome is Outcome.DONE
    run(url, "insert into sales.orders values (1, 7)", "alter table sales.orders modify v bigint not null comment 'Ж'")
    statements = [statement for step in plan(url, second).plan.steps for statement in step.statements]

    assert apply(url, second).outcome is Outcome.DONE

    (exchange,) = (statement for statement in statements if "RENAME" in statement)
    assert exchange.startswith("ALTER TABLE `sales`.`orders` CHANGE COLUMN `v` `v__before_1` bigint")
    assert exchange.endswith(" NULL COMMENT 'Ж', RENAME COLUMN `v__new_1` TO `v`")
    assert ask(url, "select * from orders") == [(1, 7, "7")]
    nulls = "select column_name, is_nullable, column_comment from information_schema.columns"
    query = f"{nulls} where table_schema = 'sales' and table_name = 'orders' and column_name like 'v%' order by 1"
    assert ask(url, query) == [("v", "NO", ""), ("v__before_1", "YES", "Ж")]
    assert is_settled(url)
    assert undo(url).outcome is Outcome.DONE
    assert ask(url, query) == [("v", "NO", "Ж")]


def test_unique_columns_and_primary_keys_are_added_and_taken_away(filled: str) -> None:
    wanted = schema_of(
        column("id", "bigint", nullable=False, primary_key=True),
        *(FIRST.tables["orders"].columns[name] for name in ("amount", "note")),
        column("size", "bigint", precision=16, unique=True),
        FIRST.tables["orders"].columns["at"],
        before=FIRST,
    )
    assert apply(filled, wanted, compares_unique=True, compares_primary_keys=True).outcome is Outcome.DONE
    keys = "select index_name, column_name from information_schema.statistics where table_schema = 'sales'"
    kept = f"{keys} and table_name = 'orders' order by 1"
    assert ask(filled, kept) == [("PRIMARY", "id"), ("_schemactl_unique_size", "size")]
    assert undo(filled).outcome is Outcome.DONE
    assert ask(filled, kept) == []


KILLED = """
import sys
sys.path[:0] = {paths!r}
import os
from schemactl.destinations.mysql import migration as mysql_migration
from schemactl.destinations.mysql.session import MySqlSession
execute, left = MySqlSession.execute, [{left}]
def dying(self, statement):
    if statement.startswith(("ALTER", "UPDATE", "RENAME")):
        if left[0] == 0:
            os._exit(9)
        left[0] -= 1
    return execute(self, statement)
MySqlSession.execute = dying
from schemactl.cli.app import run
sys.exit(run(["migrate", "apply", "./wanted.yaml", "--to", {url!r}, "--yes", "--quiet"]))
"""


@pytest.mark.parametrize("left", [0, 2, 5])
def test_a_killed_run_is_gone_on_with(filled: str, left: int) -> None:
    put(SECOND, "wanted.yaml")
    code = KILLED.format(paths=sys.path, left=left, url=filled)
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 9
    assert apply(filled, SECOND).outcome is Outcome.DONE
    assert ask(filled, "select id, cast(amount as char), memo from orders order by id")[:2] == [
        (1, "1.50", "a"),
        (2, "100.00", None),
    ]
    assert is_settled(filled)
