"""Scripts for engines that are not connected: what is written can be read again, and nothing is said beside it."""

import datetime
import logging
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
import sqlglot
from schema_parts import column
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from schemactl.errors import InputError
from schemactl.flows.migrate.script import abilities_of, render_for, write_script
from schemactl.migration.options import PlanOptions
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Taken,
)
from schemactl.migration.ways import Way
from schemactl.schema.conversions import Conversion
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

NOTE = Column("note", {"data_type": "text"})
REQUIRED = Column("note", {"data_type": "text", "nullable": False})
STEPS = (
    AddColumn("orders", NOTE),
    DropColumn("orders", NOTE),
    DropNotNull("orders", REQUIRED),
    RenameColumn("orders", "note", 'a"b`c]; --'),
    RenameTable("orders", "sales"),
    SetNotNull("orders", NOTE),
)


@pytest.mark.parametrize("dialect", sorted(set(Dialect.classes) - {"", "dax", "prql"}))  # these have no ALTER
@pytest.mark.filterwarnings("error")
def test_steps_are_written_as_the_engine_reads_them(dialect, caplog):
    render, abilities = render_for(dialect), abilities_of(dialect)
    with caplog.at_level(logging.WARNING):
        for step in STEPS:
            if step.way(abilities) is Way.NONE:
                continue
            (statement,) = render(step, None)
            assert "\x1b" not in statement
            if dialect == "oracle" and isinstance(step, DropNotNull):  # which sqlglot writes as no Oracle reads it
                assert statement == 'ALTER TABLE "orders" MODIFY ("note" NULL)'
                continue
            (read,) = sqlglot.parse(statement, read=dialect)
            assert not isinstance(read, exp.Command), statement
    assert caplog.messages == []


@pytest.mark.parametrize("dialect", sorted(set(Dialect.classes) - {""}))
def test_descriptions_are_written_where_the_engine_keeps_them(dialect):
    texts = {"": "it's all", "note": None}
    step = DescribeTable("orders", {"": None, "note": "old"}, texts)
    if step.way(abilities_of(dialect)) is Way.NONE:
        assert dialect in _WITHOUT_COMMENTS
        return
    of_table, of_column = render_for(dialect)(step, Table("orders", {"note": NOTE}))
    assert all(text in of_table.lower() for text in ("orders", "comment" if dialect != "bigquery" else "description"))
    assert "all'" in of_table
    assert "note" in of_column.lower()
    assert "old" not in of_column


_WITHOUT_COMMENTS = (
    *("athena", "dax", "doris", "dremio", "drill", "druid", "dune", "fabric", "presto", "prql", "singlestore"),
    *("solr", "spark2", "sqlite", "starrocks", "tableau", "tsql"),
)


@pytest.mark.parametrize(("dialect", "statements"), [
    ("duckdb", ("""COMMENT ON TABLE "orders" IS 'it''s'""", """COMMENT ON COLUMN "orders"."note" IS NULL""")),
    ("snowflake", ("""COMMENT ON TABLE "ORDERS" IS 'it\\'s'""", """COMMENT ON COLUMN "ORDERS"."NOTE" IS ''""")),
    ("spark", ("COMMENT ON TABLE `orders` IS 'it\\'s'", "ALTER TABLE `orders` ALTER COLUMN `note` COMMENT ''")),
    ("mysql",
     ("ALTER TABLE `orders` COMMENT = 'it''s'", "ALTER TABLE `orders` MODIFY COLUMN `note` longtext NULL COMMENT ''")),
    ("bigquery",
     ("ALTER TABLE `orders` SET OPTIONS (description = 'it\\'s')",
      "ALTER TABLE `orders` ALTER COLUMN `note` SET OPTIONS (description = '')")),
])  # fmt: skip
def test_descriptions_are_said_in_the_engine_s_words(dialect, statements):
    step = DescribeTable("orders", {"": None, "note": "old"}, {"": "it's", "note": None})
    assert render_for(dialect)(step, Table("orders", {"note": NOTE})) == statements


def executed(step, *values):
    """What DuckDB makes of stored values by a script's statement."""
    made = {"id__new_1": "BIGINT", "id__v_text": "VARCHAR", "id__v_double": "DOUBLE", "kept": "BIGINT"}
    kind = {"text": "VARCHAR", "double": "DOUBLE", "timestamp": "TIMESTAMPTZ"}[str(step.source.data_type)]
    columns = {"id": kind, **made, "day": "DATE"}
    with duckdb.connect() as database:
        database.execute("SET timezone = 'UTC'")
        database.execute(f"CREATE TABLE orders ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        for value in values:
            database.execute("INSERT INTO orders (id) VALUES (?)", [value])
        table = Table("orders", {name: Column(name) for name in columns})
        for statement in render_for("duckdb")(step, table):
            database.execute(statement)
        return [row[0] for row in database.execute(f"SELECT {step.target.name} FROM orders").fetchall()]


def test_value_that_a_cast_would_round_stays_null():
    numbers = Backfill("orders", column("id", "double"), column("id__new_1", "bigint"), Conversion.DEPENDS)
    texts = replace(numbers, source=column("id", "text"))

    assert executed(numbers, 3.7, 4.0, -5.0, None) == [None, 4, -5, None]
    assert executed(texts, "3.7", "4", " 007", "abc", "9007199254740993") == [None, 4, 7, None, 9007199254740993]
    days = replace(texts, target=column("day", "date"))
    assert executed(days, "2026-01-31", "2026-01-31 10:00:00") == [datetime.date(2026, 1, 31), None]


def test_variant_takes_only_what_does_not_fit():
    step = Backfill("orders", column("id", "double"), column("id__v_double", "double"), Conversion.DEPENDS, Taken.UNFIT)
    (statement,) = render_for("duckdb")(step, Table("orders", {"id__new_1": Column("id__new_1")}))

    assert statement.endswith('WHERE "id" IS NOT NULL AND "id__new_1" IS NULL')


@pytest.mark.parametrize(
    ("before", "after", "stored", "refused"),
    [("double", "bigint", 4.0, 3.7), ("text", "bigint", "4", "3.7"), ("text", "bigint", "4", "abc")],
)
def test_retype_in_place_stops_at_a_value_that_it_would_round(before, after, stored, refused):
    step = ChangeType("orders", column("id", before), column("id", after), Conversion.DEPENDS, needs_check=True)
    (statement,) = render_for("duckdb")(step, None)
    for value, fails in ((stored, False), (refused, True)):
        with duckdb.connect() as database:
            database.execute(f"CREATE TABLE orders (id {'DOUBLE' if before == 'double' else 'VARCHAR'})")
            database.execute("INSERT INTO orders VALUES (?), (NULL)", [value])
            with pytest.raises(duckdb.Error, match="does not survive") if fails else nullcontext():
                database.execute(statement)


@pytest.mark.parametrize(
    ("dialect", "conversion"),
    [
        ("snowflake", 'CASE WHEN TRY_CAST("ID" AS NUMBER(38,9)) = CAST(TRY_CAST("ID" AS NUMBER(19,0)) AS NUMBER(38,9)) '
         'THEN TRY_CAST("ID" AS NUMBER(19,0)) END'),
        ("bigquery", "CASE WHEN SAFE_CAST(`id` AS NUMERIC) = CAST(SAFE_CAST(`id` AS INT64) AS NUMERIC) "
         "THEN SAFE_CAST(`id` AS INT64) END"),
    ],
)  # fmt: skip
def test_guard_is_written_as_the_engine_has_it(dialect, conversion):
    step = Backfill("orders", column("id", "text"), column("id__new_1", "bigint"), Conversion.DEPENDS)
    (statement,) = render_for(dialect)(step, None)

    assert conversion in statement


@pytest.mark.parametrize(
    ("dialect", "kind", "cast"),
    [
        ("mysql", {"data_type": "text"}, "CAST(`id` AS CHAR)"),  # no LONGTEXT, which CAST refuses
        ("mysql", {"data_type": "binary"}, "CAST(`id` AS BINARY)"),
        ("mysql", {"data_type": "timestamp"}, "CAST(`id` AS DATETIME(6))"),
        ("bigquery", {"data_type": "wei"}, "SAFE_CAST(`id` AS BIGNUMERIC)"),
        ("bigquery", {"data_type": "decimal", "precision": 9, "scale": 2}, "ROUND(SAFE_CAST(`id` AS NUMERIC), 2)"),
        ("athena", {"data_type": "text"}, 'TRY_CAST("id" AS VARCHAR)'),
        ("clickhouse", {"data_type": "timestamp"}, """CAST("id" AS Nullable(DateTime64(6,'UTC')))"""),
        ("duckdb", {"data_type": "bigint", "precision": 128}, 'TRY_CAST("id" AS HUGEINT)'),
    ],
)
def test_values_are_cast_to_what_the_engine_s_cast_takes(dialect, kind, cast):
    step = Backfill("orders", column("id", "double"), Column("id__new_1", kind), Conversion.WHOLE)
    (statement,) = render_for(dialect)(step, None)

    assert f" = {cast} WHERE " in statement


@pytest.mark.parametrize(
    ("dialect", "data_type", "value", "written"),
    [
        ("mysql", "text", "it's \\", r"'it''s \\'"),
        ("mysql", "bool", True, "1"),
        ("mysql", "timestamp", "2026-01-01T10:00:00Z", "'2026-01-01 10:00:00.000000'"),
        ("sqlite", "bool", True, "1"),
        ("sqlite", "date", "2026-01-01", "'2026-01-01'"),
        ("snowflake", "bool", True, "CAST('true' AS BOOLEAN)"),
        ("postgres", "json", {"a": [1]}, """CAST('{"a":[1]}' AS jsonb)"""),
        ("postgres", "binary", "YWI=", "decode('6162', 'hex')"),
        ("tsql", "binary", "YWI=", "CONVERT(VARBINARY(MAX), '6162', 2)"),
        ("trino", "binary", "YWI=", "X'6162'"),
    ],
)
def test_values_that_fill_a_column_are_those_that_dlt_would_store(dialect, data_type, value, written):
    (statement,) = render_for(dialect)(FillColumn("orders", column("c", data_type), value), None)

    assert f" = {written} WHERE " in statement


@pytest.mark.parametrize(
    ("dialect", "after"), [("mysql", "MODIFY COLUMN `id` bigint {}"), ("tsql", "ALTER COLUMN [id] bigint {}")]
)
def test_column_that_is_stated_again_keeps_whether_it_takes_nulls(dialect, after):
    render, required = render_for(dialect), column("id", "bigint", nullable=False)
    narrow = column("id", "bigint", nullable=False, precision=16)

    assert render(ChangeType("orders", narrow, required), None)[0].endswith(after.format("NOT NULL"))
    assert render(DropNotNull("orders", required), None)[0].endswith(after.format("NULL"))
    assert render(SetNotNull("orders", column("id", "bigint")), None)[0].endswith(after.format("NOT NULL"))
    assert SetNotNull("orders", required).way(abilities_of(dialect)) is Way.SCAN


def test_mysql_keeps_the_descriptions_of_columns_that_change():
    def shop(**properties):
        stated = {"id": column("id", "bigint", description="the key", **properties)}
        return bump(new_schema("shop").with_table(Table("orders", stated, {"x-normalizer": {"seen-data": True}})))

    before, after = shop(precision=32, nullable=False), shop()
    report = write_script(after, before, "mysql", Path("none"), PlanOptions())

    start = "ALTER TABLE `orders` MODIFY COLUMN `id`"
    assert [each.statements for each in report.plan.steps] == [
        (f"{start} int NULL COMMENT 'the key'",),
        (f"{start} bigint NULL COMMENT 'the key'",),
    ]


def test_clickhouse_changes_columns_and_rows_in_its_own_words():
    render, required = render_for("clickhouse"), column("id", "bigint", nullable=False)

    assert render(DropNotNull("t", required), None) == ('ALTER TABLE "t" MODIFY COLUMN "id" Nullable(Int64)',)
    (filled,) = render(FillColumn("t", column("note", "text"), "{x}"), None)
    start = """ALTER TABLE "t" UPDATE "note" = '{x}' WHERE "note" IS NULL"""
    assert filled == f"{start} SETTINGS mutations_sync = 2"


def test_columns_of_clickhouse_take_nulls_where_they_say_so():
    table = Table("t", {"id": column("id", "bigint", nullable=False), "n": column("n", "text")})
    (statement,) = render_for("clickhouse")(CreateTable(table), None)

    assert statement == 'CREATE TABLE "t" ("id" Int64 NOT NULL, "n" Nullable(String))'


def test_engine_that_takes_no_expression_with_a_retype_gets_a_new_column():
    retype = abilities_of("mysql").retype

    assert retype(column("id", "double"), column("id", "bigint")) is Way.NONE
    assert retype(column("id", "bigint"), column("id", "text")) is Way.REWRITE


@pytest.mark.parametrize(
    ("dialect", "properties", "word"),
    [
        ("postgres", {"data_type": "text", "precision": 20}, "varchar(20)"),
        ("postgres", {"data_type": "timestamp", "precision": 3}, "timestamp (3) with time zone"),
        ("redshift", {"data_type": "bigint", "precision": 16}, "smallint"),
        ("bigquery", {"data_type": "wei"}, "BIGNUMERIC"),
        ("snowflake", {"data_type": "bigint"}, "NUMBER(19,0)"),
        ("mysql", {"data_type": "text", "precision": 20}, "varchar(20)"),
        ("mysql", {"data_type": "timestamp"}, "datetime(6)"),
        ("snowflake", {"data_type": "decimal", "precision": 12}, "NUMBER(12,9)"),
    ],
)
def test_new_columns_have_the_types_and_sizes_that_dlt_gives_them(dialect, properties, word):
    (statement,) = render_for(dialect)(AddColumn("t", Column("c", properties)), None)
    assert word in statement


def test_sizes_that_dlt_refuses_are_refused():
    with pytest.raises(InputError, match="`postgres` has no bigint of precision 128"):
        render_for("postgres")(AddColumn("t", Column("c", {"data_type": "bigint", "precision": 128})), None)
