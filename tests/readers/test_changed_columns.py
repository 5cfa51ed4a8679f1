"""What queries use, against what databases say once a column has gone or has another type."""

# ruff: noqa: E501 - a query is one line

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pytest

from schemactl.readers.sql_texts import read_sql
from schemactl.review.readers import Reader
from schemactl.schema.reader_effects import ReaderEffect
from tests.readers.test_query_walk import KINDS, TABLES, cases

Execute = Callable[[str], object]

TABLES_SQL = (
    "create schema raw",
    "create schema other",
    "create table raw.orders (id int, amount int, buyer {list}, note text, status text)",
    "create table raw.orders__items (order_id int, sku text, qty int)",
    "create table other.t (z int, w int, order_key int, x int)",
    "create table other.x (a int, b text)",
    "create table other.s (n text, id int)",
)
MORE_QUERIES = (
    "with a as (select * from raw.orders), b as (select id, amount as m from a) select m from b group by m having max(id) > 1",
    "select * from raw.orders a join raw.orders__items b on a.id = b.order_id",
    "select id from raw.orders a where amount > (select avg(b.amount) from raw.orders b where b.status = a.status)",
    "select id from raw.orders where note in (select sku from raw.orders__items) and not exists (select 1 from raw.orders__items where order_id = id)",
    "select coalesce(note, status) as label, sum(amount) from raw.orders group by label",
    "select x.id from (select * from raw.orders) x join (select * from raw.orders__items) y on x.id = y.order_id",
    "select id from (select id, row_number() over (partition by status order by amount desc) as rn from raw.orders) t where rn = 1",
    "select count(distinct note), min(status), max(amount) filter (where id > 0) from raw.orders",
    "(select id from raw.orders order by note limit 1) union all select qty from raw.orders__items",
    "select o.* from raw.orders o, (select distinct order_id from raw.orders__items) i where o.id = i.order_id",
    "select id, note from raw.orders intersect select order_id, sku from raw.orders__items",
    "select case when status = 'a' then amount else 0 end * 2 as v from raw.orders order by v",
    "select upper(note) as note from raw.orders order by note",
    "select max(amount) as amount from raw.orders group by status order by amount",
    "select o.id as status from raw.orders o order by status",
    "select (select count(*) from raw.orders__items i where i.order_id = o.id and i.sku = o.note) as n from raw.orders o",
    "select sum(qty) over (partition by order_id order by sku rows between 1 preceding and current row) from raw.orders__items",
    "with a as (select id from raw.orders), b as (select id as i from a) select i from b where i in (select qty from raw.orders__items)",
)  # fmt: skip
CHANGES = {
    ReaderEffect.REMOVED: "alter table raw.{} drop column {}",
    ReaderEffect.RETYPED: "alter table raw.{} alter column {} type {type} using null",
}


def queries_of(dialect: str) -> list[str]:
    """Return queries of one statement."""
    kinds = [
        sql
        for kind, sql, *_ in cases(KINDS)
        if kind == dialect and sql.startswith(("select", "with", "from", "insert"))
    ]
    return [*kinds, *MORE_QUERIES]


def check(sql: str, dialect: str, changed: Callable[[str], bool], new_type: str) -> None:
    """Check that a query which a change breaks is one that has a use of the column which breaks, or cannot be told."""
    if not changed(""):
        pytest.skip("the database does not have the tables or functions")
    readership = read_sql(sql, Reader("query", "q"), TABLES, dialect)
    for table, columns in TABLES.columns.items():
        for column in columns if table in sql else ():
            for effect, change in CHANGES.items():
                is_broken = bool(readership.broken_by(effect, table, column))
                if not changed(change.format(table, column, type=new_type)):
                    assert is_broken or readership.blind_for(table, column), (effect, table, column)


@pytest.fixture(scope="module")
def duck() -> Iterator[Execute]:
    with duckdb.connect() as connection:
        for statement in TABLES_SQL:
            connection.execute(statement.format(list="int[]"))
        yield lambda sql: connection.execute(sql).fetchall()


@pytest.mark.parametrize("sql", queries_of("duckdb"))
def test_a_query_that_duckdb_refuses_after_a_change_has_a_use_that_breaks(sql: str, duck: Execute) -> None:
    def changed(change: str) -> bool:
        duck("begin")
        try:
            if change:
                duck(change)
            duck(sql)
        except duckdb.Error:
            return False
        finally:
            duck("rollback")
        return True

    check(sql, "duckdb", changed, "struct(zz date)")


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[Execute]:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        for statement in TABLES_SQL:
            connection.execute(statement.format(list="jsonb"))
        yield connection.execute
        connection.rollback()


@pytest.mark.destinations
@pytest.mark.parametrize("sql", queries_of("postgres"))
def test_a_query_that_postgresql_refuses_after_a_change_has_a_use_that_breaks(sql: str, postgres: Execute) -> None:
    import psycopg

    def changed(change: str) -> bool:
        postgres("savepoint before")
        try:
            if change:
                postgres(change)
            postgres(sql)
        except psycopg.Error:
            return False
        finally:
            postgres("rollback to savepoint before")
        return True

    check(sql, "postgres", changed, "point")
