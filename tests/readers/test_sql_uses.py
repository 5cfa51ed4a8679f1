"""Which columns a SQL text uses."""

from __future__ import annotations

import pytest

from schemactl.errors import Location
from schemactl.readers.sql_texts import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Reader, Readership

TABLES = ReadTables(
    {"orders": ("id", "amount", "buyer", "note", "status"), "orders__items": ("order_id", "sku", "qty")}, "raw"
)
READER = Reader("query", "q.sql", Location("q.sql"))


def read(sql: str, dialect: str | None = "duckdb") -> Readership:
    return read_sql(sql, READER, TABLES, dialect)


def uses(sql: str, dialect: str | None = "duckdb") -> list[str]:
    """Return ``column clause``, with ``!`` if it is computed and ``#`` if the result has a fixed list of columns."""
    readership = read(sql, dialect)
    assert readership.blind == ()
    return sorted(
        {
            f"{use.table}.{use.column} {use.clause.value}{'!' * use.is_computed}{'#' * use.is_positional}".replace(
                "orders.", "", 1
            )
            for use in readership.uses
            if use.column is not None
        }
    )


def reasons(sql: str, dialect: str | None = "duckdb") -> set[tuple[str | None, str | None, str]]:
    return {(item.table, item.column, item.reason) for item in read(sql, dialect).blind}


CASES = {
    "plain": ("select id, amount from raw.orders", ["amount select", "id select"]),
    "without a dataset": ("select id from orders", ["id select"]),
    "alias": ("select o.id from raw.orders as o", ["id select"]),
    "renamed output": ("select amount as a from raw.orders", ["amount select"]),
    "computed": ("select amount * 2, lower(note) from raw.orders", ["amount select!", "note select!"]),
    "cast": ("select amount::text from raw.orders", ["amount select!"]),
    "case": ("select case when status = 'x' then id end from raw.orders", ["id select!", "status select!"]),
    "where": ("select 1 from raw.orders where amount > 1", ["amount where!"]),
    "order": ("select 1 from raw.orders order by note", ["note order by"]),
    "order by an output": ("select amount as a from raw.orders order by a", ["amount order by", "amount select"]),
    "group": ("select count(*) from raw.orders group by status", ["status group by"]),
    "having": ("select 1 from raw.orders group by all having max(amount) > 1", ["amount having!"]),
    "window": (
        "select sum(amount) over (partition by buyer order by id) from raw.orders",
        ["amount select!", "buyer window", "id window"],
    ),
    "qualify": (
        "select id from raw.orders qualify row_number() over (order by note) = 1",
        ["id select", "note window"],
    ),
    "join on": (
        "select o.id from raw.orders o join raw.orders__items i on i.order_id = o.id",
        ["id join!", "id select", "orders__items.order_id join!"],
    ),
    "join using": (
        "select sku from raw.orders__items join other.t using (order_id)",
        ["orders__items.order_id join!", "orders__items.sku select"],
    ),
    "star": (
        "select * from raw.orders__items",
        ["orders__items.order_id select *", "orders__items.qty select *", "orders__items.sku select *"],
    ),
    "star of one table": (
        "select i.*, o.z from raw.orders__items i, other.o",
        ["orders__items.order_id select *", "orders__items.qty select *", "orders__items.sku select *"],
    ),
    "star beside an unknown table": (
        "select * from raw.orders__items join other.t on true",
        ["orders__items.order_id select *", "orders__items.qty select *", "orders__items.sku select *"],
    ),
    "cte with a star": ("with o as (select * from raw.orders) select id from o", ["id select"]),
    "cte of a cte": (
        "with a as (select * from raw.orders), b as (select amount as m from a where status = 'x') select m + 1 from b",
        ["amount select", "amount select!", "status where!"],
    ),
    "unused cte": ("with o as (select id from raw.orders) select 1", ["id select"]),
    "unused star": ("with o as (select * from raw.orders) select 1", []),
    "unused output": ("select x.id from (select id, amount from raw.orders) x", ["amount select", "id select"]),
    "cte of the table's name": (
        "with orders as (select id from raw.orders) select id from orders",
        ["id select"],
    ),
    "subquery in": (
        "select 1 from other.t where t.id in (select order_id from raw.orders__items)",
        ["orders__items.order_id select", "orders__items.order_id where!"],
    ),
    "exists": (
        "select 1 from raw.orders o where exists (select qty from raw.orders__items i where i.order_id = o.id)",
        ["id where!", "orders__items.order_id where!", "orders__items.qty select"],
    ),
    "distinct": ("select distinct status from raw.orders", ["status select", "status select!"]),
    "union all": (
        "select id from raw.orders union all select order_id from raw.orders__items",
        ["id select#", "orders__items.order_id select#"],
    ),
    "union of stars": (
        "select * from raw.orders__items union all select 1, 2, 3",
        ["orders__items.order_id select *#", "orders__items.qty select *#", "orders__items.sku select *#"],
    ),
    "struct field": ("select buyer.name from raw.orders", ["buyer select"]),
    "unnest": ("select u.x from raw.orders, unnest(orders.buyer) as u(x)", ["buyer join!"]),
    "filter": ("select count(*) filter (where status = 'x') from raw.orders", ["status select!"]),
    "count": ("select count(*) from raw.orders", []),
    "create view": ("create view v as select id from raw.orders", ["id select"]),
    "insert": ("insert into x select id from raw.orders", ["id select#"]),
    "two statements": ("select id from raw.orders; select note from raw.orders", ["id select", "note select"]),
    "another dataset": ("select id from other.orders", []),
    "another table": ("select id from raw.customers where 'orders' = 'x'", []),
    "in any case": ("SELECT ID FROM RAW.ORDERS", ["id select"]),
}


@pytest.mark.parametrize(("sql", "expected"), CASES.values(), ids=CASES)
def test_uses_have_their_column_and_clause(sql: str, expected: list[str]) -> None:
    assert uses(sql) == expected


def test_the_dialect_decides_which_names_are_the_same() -> None:
    assert uses("select ID from RAW.ORDERS", "snowflake") == ["id select"]
    assert uses('select "ID" from raw.orders', "postgres") == []
    assert uses('select "ID" from raw.orders', "duckdb") == ["id select"]


BLIND = {
    "update": ("update raw.orders set note = 1", {("orders", "note", "`UPDATE` writes it")}),
    "syntax": ("select from where orders", {("orders", None, "SQL that does not parse")}),
    "whole row": ("select o from raw.orders o", {("orders", None, "a whole row as a value")}),
    "natural join": (
        "select t.z from raw.orders natural join other.t",
        {("orders", None, "a natural join with a table whose columns are not known")},
    ),
}


@pytest.mark.parametrize(("sql", "expected"), BLIND.values(), ids=BLIND)
def test_what_cannot_be_followed_is_said(sql: str, expected: set[tuple[str | None, str | None, str]]) -> None:
    assert reasons(sql) == expected


def test_a_pivot_cannot_be_told() -> None:
    found_reasons = reasons("select * from raw.orders pivot (sum(amount) for status in ('a'))", "snowflake")
    assert ("orders", None, "a pivot") in found_reasons


def test_a_use_has_its_line() -> None:
    sql = "with o as (\n  select * from raw.orders\n)\nselect\n  amount + 1\nfrom o\n"
    lines = {use.location.line for use in read(sql).uses if use.column == "amount" and use.location}
    assert lines == {5}


def test_a_text_that_names_no_table_is_not_parsed() -> None:
    assert read("this is no SQL ((") == Readership()


def test_deep_nesting_ends() -> None:
    assert reasons(f"select {'(' * 5000}id{')' * 5000} from raw.orders")


MIXED = ReadTables({"fee": ("FeeNum", "Amount", "note")}, "raw")
MIXED_CASES = {
    'with s as (select * from "raw"."fee") select "FeeNum"::text as x from s': {"FeeNum"},
    'with s as (select * from "raw"."fee"), t as (select * from s) select 1 from t where "FeeNum" > 1': {"FeeNum"},
    'select s."Amount" from (select f.* from raw.fee as f) as s': {"Amount"},
    '(select * from raw.fee union all select * from raw.fee) order by "FeeNum"': {"FeeNum", "Amount", "note"},
    'with s as (select * from raw.fee union all select * from raw.fee) select "FeeNum" from s': {
        "FeeNum",
        "Amount",
        "note",
    },
    'with s as (select * from raw.fee) select 1 from s join other.t using ("FeeNum")': {"FeeNum"},
    'with s as (select * from raw.fee) select "x" from s': set(),
}


@pytest.mark.parametrize("sql", MIXED_CASES)
@pytest.mark.parametrize("dialect", ["postgres", "snowflake", "duckdb", None])
def test_a_star_passes_on_names_that_need_quotes(sql: str, dialect: str | None) -> None:
    readership = read_sql(sql, READER, MIXED, dialect)
    assert {use.column for use in readership.uses if use.column} == MIXED_CASES[sql]
    assert readership.blind == ()
