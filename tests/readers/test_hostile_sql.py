"""SQL that would take too long, too much memory or too many calls cannot be told; the rest is read."""

from __future__ import annotations

import sys

import pytest

from schemactl.errors import Location
from schemactl.readers import passed_columns, sql_uses
from schemactl.readers.sql_graph import SqlNode, read_sql_graph
from schemactl.readers.sql_texts import SqlText, read_sql
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Reader, Readership

TABLES = ReadTables({"orders": ("id", "note")}, "raw")


def read(sql: str) -> Readership:
    return read_sql(sql, Reader("query", "q.sql", Location("q.sql")), TABLES, "duckdb")


def chain(first: str, query: str, count: int) -> str:
    """Return common table expressions, each of which reads the one before."""
    ctes = [f"c0 as ({first})", *(f"c{number} as ({query.format(number - 1)})" for number in range(1, count))]
    return f"with {', '.join(ctes)} select id from c{count - 1}"


DEEP = "SQL with more than 100 parentheses in each other"
CALLS = "SQL that cannot be read (RecursionError)"
BLIND = {
    "parentheses": (f"select {'(' * 50_000}id{')' * 50_000} from raw.orders", DEEP),
    "parentheses that do not end": (f"select {'(' * 50_000} from raw.orders", DEEP),
    "subqueries": (f"select * from {'(select * from ' * 200}raw.orders{')' * 200}", DEEP),
    "cases": (f"select {'case when id then ' * 200}1{' end' * 200} from raw.orders", DEEP),
    "lists": (f"select {'[' * 50_000} from raw.orders", DEEP),
    "unions on the right": (f"{'select id from raw.orders union all (' * 150}select 1{')' * 150}", DEEP),
    "operators before a value": (f"select {'- ' * 20_000}id from raw.orders", CALLS),
    "negations": (f"select id from raw.orders where {'not ' * 20_000}id", CALLS),
    "a long line": (f"select id from raw.orders -- {'x' * 500_000}", "SQL of more than 500,000 characters"),
    "columns that double": (
        chain("select * from raw.orders", "select a.*, b.* from c{0} a, c{0} b", 30),
        "SQL with a result of more than 20,000 columns",
    ),
    "a comment without an end": (f"select id from raw.orders /* {'*' * 1000}", "SQL that does not parse"),
    "a text without an end": ("select id from raw.orders where note = 'x", "SQL that does not parse"),
}


@pytest.mark.parametrize(("sql", "reason"), BLIND.values(), ids=BLIND)
def test_sql_beyond_a_limit_cannot_be_told(sql: str, reason: str) -> None:
    limit = sys.getrecursionlimit()
    readership = read(sql)
    assert [(item.table, item.reason) for item in readership.blind] == [("orders", reason)]
    assert readership.uses == ()
    assert sys.getrecursionlimit() == limit


READ = {
    "parentheses": f"select {'(' * 80}id{')' * 80} from raw.orders",
    "subqueries": f"select id from {'(select * from ' * 80}raw.orders{') as x' * 80}",
    "functions": f"select {'abs(' * 80}id{')' * 80} from raw.orders",
    "unions": " union all ".join(["select id from raw.orders"] * 1_500),
    "conditions": f"select id from raw.orders where {' and '.join(['id > 1'] * 5_000)}",
    "operators": f"select {' + '.join(['id'] * 5_000)} from raw.orders",
    "joins": f"select a.id from raw.orders a {' '.join(f'join raw.orders a{n} using (id)' for n in range(300))}",
    "queries that read each other": chain("select * from raw.orders", "select * from c{0} where id > 1", 800),
    "rows that double": chain("select id from raw.orders", "select * from c{0} union all select * from c{0}", 40),
    "joins that double": chain(
        "select id from raw.orders", "select a.id, b.id as other from c{0} a join c{0} b using (id)", 100
    ),
    "statements": "select id from raw.orders;" * 2_000,
}


@pytest.mark.parametrize("sql", READ.values(), ids=READ)
def test_long_sql_is_read(sql: str) -> None:
    readership = read(sql)
    assert readership.blind == ()
    assert {use.column for use in readership.uses} == {None, "id"}


def test_sql_that_takes_too_long_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_uses, "MAX_SECONDS", 0.05)
    readership = read(f"select {'||'.join(['note'] * 40_000)} from raw.orders")
    assert [item.reason for item in readership.blind] == ["SQL that takes longer than 5 s to read"]


BEGINNINGS = (
    f"create table{' ' * 400_000}(daily",
    "create " * 70_000 + "daily",
    f"create table {'a. ' * 20_000}daily (",
)


@pytest.mark.parametrize("text", BEGINNINGS)
def test_a_text_with_many_beginnings_of_a_table_does_not_hold_up_its_neighbors(text: str) -> None:
    texts = ["create table daily as select id from raw.orders", text, "select id from daily where id > 1"]
    readers = [Reader("query", f"{number}.sql") for number in range(len(texts))]
    nodes = [SqlNode(SqlText(sql, reader, TABLES, "duckdb")) for sql, reader in zip(texts, readers, strict=True)]
    readership = read_sql_graph(nodes)
    assert readership.downstream[readers[0]][-1] == readers[2]


def test_readers_in_a_long_row_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_columns, "MAX_LEVELS", 3)
    texts = ["create table t0 as select * from raw.orders"]
    texts += [f"create table t{number} as select * from t{number - 1}" for number in range(1, 4)]
    nodes = [SqlNode(SqlText(sql, Reader("query", sql[13:15]), TABLES, "duckdb")) for sql in texts]
    blind = read_sql_graph(nodes).blind
    assert {(item.reader.name, item.column, item.reason) for item in blind} == {
        ("t3", column, "more than 3 readers in a row") for column in ("id", "note")
    }
