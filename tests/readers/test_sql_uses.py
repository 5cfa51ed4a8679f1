"""What SQL texts of all kinds have in common: lines, depth, and names that need quotes."""

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


def test_a_use_has_its_line() -> None:
    sql = "with o as (\n  select * from raw.orders\n)\nselect\n  amount + 1\nfrom o\n"
    lines = {use.location.line for use in read(sql).uses if use.column == "amount" and use.location}
    assert lines == {5}


def test_a_text_that_names_no_table_is_not_parsed() -> None:
    assert read("this is no SQL ((") == Readership()


def test_deep_nesting_ends() -> None:
    assert read(f"select {'(' * 5000}id{')' * 5000} from raw.orders").blind


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


def test_a_quoted_name_is_the_column_of_this_case() -> None:
    tables = ReadTables({"fee": ("PharmID", "PharmId")}, "raw")
    for sql in ('select "PharmID" from raw.fee', 'with s as (select * from raw.fee) select "PharmID" from s'):
        assert {use.column for use in read_sql(sql, READER, tables, "postgres").uses if use.column} == {"PharmID"}
