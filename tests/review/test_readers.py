"""Which uses of a column a change breaks, and what is known of a column."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import duckdb
import pytest

from schemactl.readers.sql_texts import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import (
    Answer,
    Blindness,
    Clause,
    Reader,
    ReaderEffect,
    Readership,
    Use,
    merge,
)
from schemactl.schema.casts import Cast, TypeChange
from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType

STAGING = Reader("model", "stg_orders")
REPORT = Reader("view", "reporting.daily")


def use(column: str | None = "amount", clause: Clause = Clause.SELECT, reader: Reader = STAGING, **more: Any) -> Use:
    return Use(reader, "orders", column, clause, **more)


PASSED = use()
COMPUTED = use(is_computed=True)
COMPARED = use(clause=Clause.WHERE, is_computed=True)
JOINED = use(clause=Clause.JOIN, is_computed=True)
SORTED = use(clause=Clause.ORDER)
GROUPED = use(clause=Clause.GROUP)
STAR = use(clause=Clause.STAR)
FIXED_STAR = use(clause=Clause.STAR, is_positional=True)
USES = (PASSED, COMPUTED, COMPARED, JOINED, SORTED, GROUPED, STAR, FIXED_STAR)

BROKEN = {
    ReaderEffect.NONE: (),
    ReaderEffect.REMOVED: (PASSED, COMPUTED, COMPARED, JOINED, SORTED, GROUPED, FIXED_STAR),
    ReaderEffect.RETYPED: (COMPUTED, COMPARED, JOINED, SORTED, GROUPED, FIXED_STAR),
    ReaderEffect.COMPARED: (COMPUTED, COMPARED, JOINED),
    ReaderEffect.MEANING: (COMPUTED, COMPARED, JOINED),
    ReaderEffect.ADDED: (FIXED_STAR,),
}


@pytest.mark.parametrize("effect", ReaderEffect)
def test_an_effect_breaks_the_uses_that_depend_on_it(effect: ReaderEffect) -> None:
    assert tuple(item for item in USES if item.breaks_by(effect)) == BROKEN[effect]


QUERIES = {
    "passed": (PASSED, "select amount from orders"),
    "computed": (COMPUTED, "select amount + 1 from orders"),
    "compared": (COMPARED, "select id from orders where amount > 1"),
    "joined": (JOINED, "select 1 from orders join rates on orders.amount = rates.amount"),
    "joined by using": (JOINED, "select 1 from orders join rates using (amount)"),
    "sorted": (SORTED, "select id from orders order by amount"),
    "sorted in a window": (use(clause=Clause.WINDOW), "select rank() over (order by amount) from orders"),
    "grouped": (GROUPED, "select count(*) from orders group by amount"),
    "star": (STAR, "select * from orders"),
    "fixed star": (FIXED_STAR, "select * from orders union all select 3, 3"),
    "inserted": (use(is_positional=True), "insert into copies select id, amount from orders"),
    "inserted star": (FIXED_STAR, "insert into copies select * from orders"),
    "named in an unused query": (PASSED, "with unused as (select amount from orders) select id from orders, unused"),
    "passed to a subquery": (COMPUTED, "select total + 1 from (select amount as total from orders) as passed"),
    "in a filter of an aggregate": (COMPUTED, "select count(*) filter (where amount > 1) from orders"),
    "in a having": (use(clause=Clause.HAVING, is_computed=True), "select 1 from orders having max(amount) > 1 + 0"),
}
CHANGES = {
    ReaderEffect.REMOVED: "alter table orders drop column amount",
    ReaderEffect.RETYPED: "alter table orders alter amount type integer[] using {array}[amount]",
    ReaderEffect.ADDED: "alter table orders add column note text",
}
TABLES = (
    "create table orders (id integer, amount integer)",
    "insert into orders values (1, 2)",
    "create table rates (amount integer)",
    "create table copies (id integer, amount integer)",
)


def is_refused(execute: Callable[[str], object], change: str, query: str, error: type[Exception]) -> bool:
    """Return whether a database refuses a query after a change."""
    for statement in (*TABLES, query, change):
        execute(statement)
    try:
        execute(query)
    except error:
        return True
    return False


@pytest.mark.parametrize(("effect", "kind"), list(product(CHANGES, QUERIES)))
def test_a_query_that_duckdb_refuses_after_the_change_is_broken(effect: ReaderEffect, kind: str) -> None:
    """What fails is found; what gives other rows without an error (a changed order) may be found too."""
    item, query = QUERIES[kind]
    with duckdb.connect() as connection:
        refused = is_refused(connection.execute, CHANGES[effect].format(array=""), query, duckdb.Error)
    assert item.breaks_by(effect) or not refused


@pytest.mark.destinations
@pytest.mark.parametrize(("effect", "kind"), list(product(CHANGES, QUERIES)))
def test_a_query_that_postgresql_refuses_after_the_change_is_broken(
    effect: ReaderEffect, kind: str, postgres_url: str
) -> None:
    import psycopg

    item, query = QUERIES[kind]
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create schema readers")
        connection.execute("set search_path to readers")
        refused = is_refused(connection.execute, CHANGES[effect].format(array="array"), query, psycopg.Error)
        connection.rollback()
    assert item.breaks_by(effect) or not refused


@pytest.mark.parametrize("kind", QUERIES)
def test_the_uses_of_the_table_are_those_of_its_queries(kind: str) -> None:
    item, query = QUERIES[kind]
    tables = ReadTables({"orders": ("id", "amount")}, "main")
    uses = read_sql(query, STAGING, tables, "duckdb").uses
    effects = [effect for effect in ReaderEffect if item.breaks_by(effect)]
    assert effects == [
        effect for effect in ReaderEffect if any(use.breaks_by(effect) for use in uses if use.column == "amount")
    ]


def test_a_column_is_read_if_a_query_names_it() -> None:
    readership = Readership((use(), use("note", Clause.STAR)), (Blindness(REPORT, "a function", "lines"),))
    assert readership.answer("orders", "amount") is Answer.READ
    assert readership.answer("orders", "note") is Answer.UNKNOWN
    assert readership.answer("orders", "id") is Answer.NOT_READ
    assert readership.answer("orders") is Answer.READ
    assert readership.answer("lines", "id") is Answer.UNKNOWN
    assert readership.answer("items") is Answer.NOT_READ


def test_doubts_say_who_may_read_a_column_and_why() -> None:
    star, anything = use("note", Clause.STAR), Blindness(REPORT, "a template that may be any SQL")
    readership = Readership((star,), (anything,))
    assert [(doubt.reader, doubt.reason) for doubt in readership.doubts("orders", "note")] == [
        (REPORT, "a template that may be any SQL"),
        (STAGING, "`select *`"),
    ]


def test_readers_with_most_behind_them_come_first() -> None:
    exposure = Reader("exposure", "Revenue")
    readership = Readership((use(), use(reader=REPORT)), downstream={REPORT: (exposure,)})
    broken = readership.broken_by(ReaderEffect.REMOVED, "orders", "amount")
    assert [(item.reader, item.downstream) for item in broken] == [(REPORT, (exposure,)), (STAGING, ())]


def test_a_new_column_breaks_the_stars_of_its_table() -> None:
    readership = Readership((use("id"), use("id", Clause.STAR, REPORT, is_positional=True)))
    broken = readership.broken_by(ReaderEffect.ADDED, "orders", "note")
    assert [item.reader for item in broken] == [REPORT]


def test_sources_are_merged_without_repeating_uses() -> None:
    merged = merge([Readership((use(),)), Readership((use(), use("id")))], is_complete=True)
    assert (merged.uses, merged.is_complete) == ((use(), use("id")), True)


NEW_TEXT = Reader("model", "stg_orders", owner="somebody else")
CHANGED_READERS = {
    "the new text does not use the column": ((), (), [], ["stg_orders"]),
    "the new text still uses the column": ((use(reader=NEW_TEXT),), (), ["stg_orders"], []),
    "the new text passes the column on by a star": (
        (use(clause=Clause.STAR, reader=NEW_TEXT),),
        (),
        [],
        ["stg_orders"],
    ),
    "the new text cannot be understood": ((), (Blindness(NEW_TEXT, "a template"),), ["stg_orders"], []),
    "another reader cannot be understood": ((), (Blindness(REPORT, "a template"),), [], ["stg_orders"]),
    "a new reader uses the column": ((use(reader=REPORT),), (), ["reporting.daily"], ["stg_orders"]),
}


@pytest.mark.parametrize(("uses", "blind", "broken", "repaired"), CHANGED_READERS.values(), ids=CHANGED_READERS)
def test_a_reader_is_repaired_if_only_its_old_text_breaks(
    uses: tuple[Use, ...], blind: tuple[Blindness, ...], broken: list[str], repaired: list[str]
) -> None:
    readership = Readership(uses, blind, before=Readership((use(),)))
    effect = ReaderEffect.REMOVED
    assert [item.reader.name for item in readership.broken_by(effect, "orders", "amount")] == broken
    assert [reader.name for reader in readership.repaired_for(effect, "orders", "amount")] == repaired


def test_nothing_is_repaired_if_the_old_readers_are_not_known() -> None:
    assert Readership().repaired_for(ReaderEffect.REMOVED, "orders", "amount") == ()


CAST_USES = {
    "select cast(amount as text) from raw.orders": ("text", False),
    "select (amount)::text from raw.orders": ("text", False),
    "select cast(amount as text) || 'x' from raw.orders": ("text", True),
    "select 1 from raw.orders as o where cast(o.amount as timestamptz) > now()": ("timestamp", True),
    "select count(*) from raw.orders group by cast(amount as date)": ("date", False),
    "with o as (select * from raw.orders) select cast(amount as double precision) from o": ("double", False),
    "select cast(amount as decimal(10, 2)) from raw.orders": None,
    "select cast(amount as integer) from raw.orders": None,
    "select cast(amount + 1 as text) from raw.orders": None,
    "select cast(o.amount.fee as text) from raw.orders as o": None,
    "select cast(amount.fee as text) from raw.orders": None,
    "select max(amount) from raw.orders": None,
}


@pytest.mark.parametrize("sql", CAST_USES)
def test_a_use_has_the_cast_of_its_column(sql: str) -> None:
    tables = ReadTables({"orders": ("id", "amount")}, "raw")
    (item,) = {use for use in read_sql(sql, STAGING, tables, "duckdb").uses if use.column == "amount"}
    assert (item.cast and (item.cast.target.value, item.cast.is_operand)) == CAST_USES[sql]


def test_a_new_type_breaks_a_cast_that_may_fail_or_that_returns_other_values_to_compare() -> None:
    def is_broken(target: DataType, after: DataType, *, is_operand: bool, clause: Clause = Clause.SELECT) -> bool:
        item = use(clause=clause, is_computed=True, cast=Cast(target, True, is_operand))
        change = TypeChange(FullType(DataType.BIGINT, 64), FullType(after))
        return item.breaks_by(ReaderEffect.RETYPED, change)

    assert not is_broken(DataType.TEXT, DataType.TEXT, is_operand=True, clause=Clause.WHERE)
    assert not is_broken(DataType.TEXT, DataType.DOUBLE, is_operand=False)
    assert is_broken(DataType.TEXT, DataType.DOUBLE, is_operand=True)
    assert is_broken(DataType.TEXT, DataType.DOUBLE, is_operand=False, clause=Clause.GROUP)
    assert is_broken(DataType.BIGINT, DataType.TEXT, is_operand=False)
    assert use(is_computed=True, cast=Cast(DataType.TEXT, True, False)).breaks_by(ReaderEffect.RETYPED)
    assert use(is_computed=True, cast=Cast(DataType.TEXT, True, False)).breaks_by(ReaderEffect.REMOVED)
