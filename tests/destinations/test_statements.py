"""Definitions and changes of tables: the words of each dialect, names quoted, and nothing left out."""

from __future__ import annotations

import pytest

from schemactl.schema.types import Column
from schemactl.type_systems.ddl import Dialect


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_changes_are_written_with_quoted_names(dialect: str) -> None:
    sql = Dialect(dialect)
    place, column = sql.place('d"s', "t;--"), Column('c"1')
    start = 'ALTER TABLE "d""s"."t;--" '

    assert sql.change_column(place, column, "", "SET NOT NULL") == start + 'ALTER COLUMN "c""1" SET NOT NULL'
    assert sql.change_column(place, column, "", "DROP NOT NULL") == start + 'ALTER COLUMN "c""1" DROP NOT NULL'
    assert sql.rename_column(place, 'c"1', "n") == start + 'RENAME COLUMN "c""1" TO "n"'
    assert sql.alter(place, f"ADD {sql.primary_key(['a', 'b'])}") == start + 'ADD PRIMARY KEY ("a", "b")'
    assert sql.alter(place, f"ADD UNIQUE ({sql.quote('a')})") == start + 'ADD UNIQUE ("a")'


@pytest.mark.parametrize(
    ("dialect", "name", "quoted"),
    [
        ("mysql", "a`b", "`a``b`"),
        ("bigquery", "a`b\\", "`a\\`b\\\\`"),
        ("tsql", "a]b", "[a]]b]"),
        ("clickhouse", 'a"b\\', '"a""b\\\\"'),
        ("athena", "a`b", "`a``b`"),
    ],
)
def test_names_cannot_end_where_they_hold_a_quote(dialect: str, name: str, quoted: str) -> None:
    assert Dialect(dialect).quote(name) == quoted


def test_texts_of_our_sessions_have_no_escapes() -> None:
    assert Dialect("mysql").text("it's \\") == "'it''s \\\\'"
    assert Dialect("mysql", has_plain_texts=True).text("it's \\") == "'it''s \\'"


def test_columns_that_are_stated_again_keep_their_description_and_whether_they_take_nulls() -> None:
    column = Column("c", {"nullable": False, "description": "it's"})

    mysql, tsql = "MODIFY COLUMN `c` int NOT NULL COMMENT 'it''s'", "ALTER COLUMN [c] int NOT NULL"
    for dialect, change in (("mysql", mysql), ("tsql", tsql)):
        sql = Dialect(dialect)
        assert sql.change_column(sql.place("t"), column, "int", "SET DATA TYPE int").endswith(change)
