"""`x-database-type` names a type of the destination's own, and nothing else: who writes a schema writes no SQL."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from migrated_datasets import column, put, schema_of

from schemactl.cli.app import run
from schemactl.destinations import delta, duckdb, iceberg, mysql, parquet, postgresql, sqlite
from schemactl.destinations._types import is_type
from schemactl.errors import InputError
from schemactl.migration.steps import AddColumn, CreateTable
from schemactl.schema.types import Column, Table

MORE_THAN_A_TYPE = {
    postgresql: [
        "text DEFAULT (pg_read_file('/etc/passwd'))", "text NOT NULL", "text CHECK (true)", "text, x int",
        "numeric(pg_sleep(1))", "text) || (1", "text GENERATED ALWAYS AS (1) STORED", "text; DROP TABLE x", "",
    ],
    duckdb: [
        "VARCHAR DEFAULT (read_text('/etc/passwd'))", "STRUCT(a INTEGER DEFAULT (getenv('HOME')))", "ENUM(SELECT 1)",
        "DECIMAL(random(), 2)", "VARCHAR AS (1)", "INTEGER REFERENCES x",
    ],
    sqlite: ["TEXT DEFAULT (random())", "TEXT DEFAULT x", "INTEGER PRIMARY KEY", "TEXT NOT NULL", "TEXT) AS (1"],
}  # fmt: skip
TYPES = {
    postgresql: [
        "citext", '"shop"."mood"', "bit varying(5)", "interval day to second(3)", "geometry(Point,4326)", "tsvector",
        "timestamp(3) without time zone", "character varying(10)[]", '"char"',
    ],
    duckdb: [
        "STRUCT(a INTEGER, \"b c\" VARCHAR[])", "MAP(VARCHAR, INTEGER)", "ENUM('a)', 'b''c')", "INTEGER[3]", "UHUGEINT",
        "UNION(a INTEGER, b VARCHAR)", "TIMESTAMP_NS", "INET",
    ],
    sqlite: ["UNSIGNED BIG INT", "NATIVE CHARACTER(70)", "DECIMAL(10, 2)", "DATETIME", "ANY"],
}  # fmt: skip
IDS = {"ids": lambda each: each.__name__.rpartition(".")[2] if hasattr(each, "__name__") else str(each)}


def stating(written: str) -> Column:
    return Column("v", {"data_type": "text", "x-database-type": written})


@pytest.mark.parametrize(
    ("kind", "written"), [(kind, each) for kind in TYPES for each in MORE_THAN_A_TYPE[kind]], **IDS
)
def test_what_is_more_than_a_type_is_refused_in_each_statement(kind, written):
    for step in (AddColumn("orders", stating(written)), CreateTable(Table("orders", {"v": stating(written)}))):
        with pytest.raises(InputError, match="is not a type"):
            kind.render(step, None, "shop")


@pytest.mark.parametrize(("kind", "written"), [(kind, each) for kind in TYPES for each in TYPES[kind]], **IDS)
def test_types_of_a_destination_s_own_are_taken(kind, written):
    (statement,) = kind.render(AddColumn("orders", stating(written)), None, "shop")
    assert statement.lower().split() != []


def test_diff_shows_the_type_that_a_column_gets_in_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = schema_of(column("a"))
    after = schema_of(column("a"), column("b", **{"x-database-type": "citext"}), before=before)
    for output in ("text", "markdown"):
        run(["diff", put(before, "before.yaml"), put(after, "after.yaml"), "--format", output])
        assert "stored as `citext`" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [postgresql, duckdb, sqlite, mysql, parquet, delta, iceberg], **IDS)
@pytest.mark.parametrize("written", ['"shop"."Mood"', "geometry(Point,4326)", "TEXT DEFAULT x"])
def test_a_comparison_keeps_a_type_that_the_destination_has_not(kind, written):
    column = Column("v", {"x-database-type": written, "nullable": False})
    expected = {"x-database-type": written} if kind is parquet else dict(column.properties)
    assert kind.stored(column) == expected


@pytest.mark.parametrize(
    ("kind", "written", "spelling"),
    [
        (postgresql, "INT4", "integer"),
        (postgresql, "char(3)[]", "character(3)[]"),
        (postgresql, "timestamptz(3)", "timestamp(3) with time zone"),
        (postgresql, "numeric(5)", "numeric(5,0)"),
        (postgresql, "Shop.Mood", "shop.mood"),
        (postgresql, "geometry(Point,4326)", "geometry(Point,4326)"),
        (postgresql, "bit varying", "bit varying"),
        (duckdb, "int[]", "INTEGER[]"),
        (duckdb, "varint", "BIGNUM"),
        (mysql, "INT(10) UNSIGNED", "int(10) unsigned"),
        (mysql, "set( 'a' , 'b' )", "set('a','b')"),
        (mysql, "int(5) unsigned zerofill", "int(5) unsigned zerofill"),
        (sqlite, "UNSIGNED  BIG INT", "UNSIGNED BIG INT"),
    ],
    **IDS,
)
def test_a_type_is_spelled_as_the_catalogue_spells_it(kind, written, spelling):
    assert kind.column_type(Column("v", {"x-database-type": written})) == spelling


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "mysql", "sqlite", "spark", "oracle", "teradata"])
def test_each_text_is_a_type_or_none(dialect: str):
    words = (
        "bit varying",
        "national character",
        "long",
        "interval",
        "day to second(3)",
        "number(5,",
        "-2)",
        "'a'",
        '"b',
    )
    for text in (*words, *map(" ".join, itertools.permutations(words, 2)), "", "(", '"b', "varchar(" * 90, "\0"):
        assert is_type(text, dialect) in (True, False)
