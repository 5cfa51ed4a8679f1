"""SQL as a format: round trips in many dialects, engines that run what is written, files that others wrote."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Final

import duckdb
import psycopg
import pytest
import sqlglot
from features import FEATURES
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import Loss, find_losses, in_dialect, sql
from schemactl.formats._ddl_tables import read_tables
from schemactl.formats._losses import describe_loss, losses_between
from schemactl.formats._tables import Record, data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

DIALECTS = (
    *("postgres", "duckdb", "snowflake", "bigquery", "redshift", "databricks", "tsql", "clickhouse", "sqlite", "mysql"),
    *("athena", "spark", "trino", "oracle"),
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_schemas_state_comes_back(dialect: str) -> None:
    format_ = sql.in_dialect(dialect)
    for feature, schema in FEATURES.items():
        document = format_.read(format_.write(schema), "shop.sql")
        assert losses_between(schema, document.schema) == (), feature
        assert document.losses == (), feature


@given(schemas(), st.sampled_from(DIALECTS), st.booleans())
def test_whole_schemas_come_back(schema: Schema, dialect: str, has_references: bool) -> None:
    format_ = sql.in_dialect(dialect, has_references=has_references)
    assert losses_between(schema, format_.read(format_.write(schema), "shop.sql").schema) == ()


def assert_same_columns(schema: Schema, found: list[tuple[Any, ...]]) -> None:
    """Compare tables, columns and nulls as a catalog tells them with those of a schema."""
    assert sorted(found) == sorted(
        (table.name, column.name, column.nullable) for table in data_tables(schema) for column in table.columns.values()
    )


@pytest.fixture(scope="module")
def duckdb_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@given(schema=schemas())
def test_engines_run_it(duckdb_connection: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    with rolled_back(duckdb_connection):
        assert_duckdb_runs_it(duckdb_connection, schema)
    assert_sqlite_runs_it(schema)


@contextmanager
def rolled_back(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.begin()
    try:
        yield
    finally:
        connection.rollback()


def assert_duckdb_runs_it(connection: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    connection.execute(sql.in_dialect("duckdb").write(schema))
    columns = connection.execute("SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns")
    assert_same_columns(schema, columns.fetchall())
    described = connection.execute("SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL").fetchall()
    stated = [each.properties.get("description") for table in data_tables(schema) for each in table.columns.values()]
    assert sorted(text for (text,) in described) == sorted(text for text in stated if text)


def assert_sqlite_runs_it(schema: Schema) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql.in_dialect("sqlite").write(schema))
        names = [table.name for table in data_tables(schema)]
        rows = [(name, row) for name in names for row in connection.execute(f"PRAGMA table_info('{name}')")]
    assert_same_columns(schema, [(name, row[1], not row[3]) for name, row in rows])


OTHERS = """
-- made by hand
CREATE TABLE IF NOT EXISTS shop.customers (
    id          SERIAL PRIMARY KEY,
    "Full Name" VARCHAR(80) NOT NULL UNIQUE,
    born        DATE,
    balance     NUMERIC(12, 2) DEFAULT 0 CHECK (balance >= 0),
    seen        TIMESTAMPTZ(3),
    local       TIMESTAMP,
    tags        TEXT[],
    place       GEOMETRY
);
CREATE TABLE orders (
    a INT, b SMALLINT, customer INT REFERENCES shop.customers (id),
    CONSTRAINT pk PRIMARY KEY (a, b),
    FOREIGN KEY (a) REFERENCES lines (x)
);
CREATE TABLE lines (x INT UNIQUE);
ALTER TABLE lines ADD CONSTRAINT f FOREIGN KEY (x) REFERENCES orders (a);
COMMENT ON TABLE orders IS 'All of them';
COMMENT ON COLUMN orders.a IS 'It''s a key';
CREATE INDEX i ON orders (b);
"""


def test_a_file_of_others() -> None:
    document = sql.read(OTHERS, "shop.sql")
    customers, orders = document.schema.tables["customers"], document.schema.tables["orders"]
    assert {name: dict(each.properties) for name, each in customers.columns.items()} == {
        "id": {"data_type": "bigint", "precision": 32, "nullable": False, "primary_key": True},
        "full_name": {"data_type": "text", "precision": 80, "nullable": False, "unique": True},
        "born": {"data_type": "date", "nullable": True},
        "balance": {"data_type": "decimal", "precision": 12, "scale": 2, "nullable": True},
        "seen": {"data_type": "timestamp", "precision": 3, "nullable": True},
        "local": {"data_type": "timestamp", "timezone": False, "nullable": True},
        "tags": {"data_type": "json", "nullable": True, "x-spark-type": "array<string>"},
        "place": {"data_type": "text", "nullable": True},
    }
    assert orders.properties["description"] == "All of them"
    assert orders.columns["a"].properties["description"] == "It's a key"
    assert [name for name, each in orders.columns.items() if each.properties.get("primary_key")] == ["a", "b"]
    assert orders.properties["references"] == [
        {"columns": ["customer"], "referenced_table": "customers", "referenced_columns": ["id"]},
        {"columns": ["a"], "referenced_table": "lines", "referenced_columns": ["x"]},
    ]
    assert document.schema.tables["lines"].properties["references"][0]["referenced_table"] == "orders"
    assert [(loss.path, loss.item) for loss in document.losses] == [
        ("customers.balance", "constraint"), ("customers.balance", "constraint"), ("customers.place", "type"),
        ("line 22", "statement"),
    ]  # fmt: skip


@pytest.mark.parametrize(("dialect", "kind", "properties"), [
    ("snowflake", "NUMBER(38,0)", {"data_type": "decimal", "precision": 38, "scale": 0}),
    ("snowflake", "NUMBER(19,0)", {"data_type": "bigint"}),
    ("snowflake", "TIMESTAMP_NTZ(3)", {"data_type": "timestamp", "timezone": False, "precision": 3}),
    ("bigquery", "TIMESTAMP", {"data_type": "timestamp"}),
    ("bigquery", "DATETIME", {"data_type": "timestamp", "timezone": False}),
    ("bigquery", "BIGNUMERIC", {"data_type": "wei"}),
    ("bigquery", "ARRAY<STRUCT<a INT64>>", {"data_type": "json", "x-spark-type": "array<struct<a:bigint>>"}),
    ("tsql", "NVARCHAR(20)", {"data_type": "text", "precision": 20}),
    ("tsql", "DATETIMEOFFSET", {"data_type": "timestamp"}),
    ("clickhouse", "Nullable(Int32)", {"data_type": "bigint", "precision": 32}),
    ("mysql", "TINYINT", {"data_type": "bigint", "precision": 8}),
    ("mysql", "TINYINT(1)", {"data_type": "bool"}),
    ("redshift", "SUPER", {"data_type": "json"}),
    ("mysql", "ENUM('a', 'b')", {"data_type": "text", "x-enum": ["a", "b"]}),
    ("duckdb", "ENUM('a', 'b')", {"data_type": "text", "x-enum": ["a", "b"]}),
    ("clickhouse", "Nullable(Enum8('a' = 1))", {"data_type": "text", "x-enum": ["a"]}),
    ("mysql", "BIGINT UNSIGNED", {"data_type": "wei"}),
    ("clickhouse", "Nullable(UInt64)", {"data_type": "wei"}),
    ("mysql", "INT UNSIGNED", {"data_type": "bigint"}),
    ("mysql", "DECIMAL(10, 2) UNSIGNED", {"data_type": "decimal", "precision": 10, "scale": 2}),
    ("mysql", "BIT(1)", {"data_type": "bool"}),
    ("tsql", "BIT", {"data_type": "bool"}),
    ("mysql", "SERIAL", {"data_type": "wei", "nullable": False, "unique": True}),
    ("postgres", "serial", {"data_type": "bigint", "precision": 32, "nullable": False}),
    ("postgres", "bigserial", {"data_type": "bigint", "nullable": False}),
    ("postgres", "serial4", {"data_type": "bigint", "precision": 32, "nullable": False}),
    ("mysql", "MEDIUMINT UNSIGNED", {"data_type": "bigint", "precision": 32}),
    ("mysql", "YEAR", {"data_type": "bigint", "precision": 16}),
    ("sqlite", "INTEGER", {"data_type": "bigint"}),
    ("sqlite", "INT8", {"data_type": "bigint"}),
    ("sqlite", "BIGINT", {"data_type": "bigint"}),
    ("sqlite", "BOOLEAN", {"data_type": "bool"}),
    ("sqlite", "DECIMAL(10, 2)", {"data_type": "decimal", "precision": 10, "scale": 2}),
    ("oracle", "INTEGER", {"data_type": "decimal", "precision": 38, "scale": 0}),
    ("oracle", "NUMBER(*, 2)", {"data_type": "decimal", "precision": 38, "scale": 2}),
    ("oracle", "NUMBER(5, -2)", {"data_type": "decimal", "precision": 7, "scale": 0}),
    ("postgres", "numeric(3,-1)", {"data_type": "decimal", "precision": 4, "scale": 0}),
    ("oracle", "DATE", {"data_type": "timestamp", "timezone": False, "precision": 0}),
    ("oracle", "LONG", {"data_type": "text"}),
    ("oracle", "LONG RAW", {"data_type": "binary"}),
    ("oracle", "RAW(16)", {"data_type": "binary", "precision": 16}),
    ("oracle", "NCLOB", {"data_type": "text"}),
    ("mysql", "INT8", {"data_type": "bigint"}),
    ("mysql", "MIDDLEINT", {"data_type": "bigint", "precision": 32}),
    ("mysql", "LONG VARBINARY", {"data_type": "binary"}),
    ("mysql", "NATIONAL VARCHAR(10)", {"data_type": "text", "precision": 10}),
    ("postgres", "national character varying(5)", {"data_type": "text", "precision": 5}),
    ("sqlite", "UNSIGNED BIG INT", {"data_type": "bigint"}),
    ("sqlite", "VARYING CHARACTER(255)", {"data_type": "text", "precision": 255}),
    ("teradata", "BYTE(5)", {"data_type": "binary", "precision": 5}),
    ("teradata", "LONG VARCHAR", {"data_type": "text"}),
    ("tsql", "image", {"data_type": "binary"}),
    ("clickhouse", "Nullable(DateTime('UTC'))", {"data_type": "timestamp"}),
    ("tsql", "SMALLMONEY", {"data_type": "decimal"}),
    ("clickhouse", "Nullable(Decimal32(2))", {"data_type": "decimal", "precision": 9, "scale": 2}),
    ("clickhouse", "Int256", {"data_type": "wei", "nullable": False}),
    ("clickhouse", "LowCardinality(String)", {"data_type": "text", "nullable": False}),
    ("clickhouse", "LowCardinality(Nullable(String))", {"data_type": "text"}),
    ("clickhouse", "Int8 NULL", {"data_type": "bigint", "precision": 8}),
    ("postgres", "text[]", {"data_type": "json", "x-spark-type": "array<string>"}),
    ("postgres", "int[][]", {"data_type": "json", "x-spark-type": "array<array<int>>"}),
    ("snowflake", "INT", {"data_type": "decimal", "precision": 38, "scale": 0}),
    ("snowflake", "SMALLINT", {"data_type": "decimal", "precision": 38, "scale": 0}),
    ("snowflake", "ARRAY", {"data_type": "json"}),
    ("databricks", "MAP<STRING, INT>", {"data_type": "json", "x-spark-type": "map<string,int>"}),
    ("databricks", "STRUCT<a: INT NOT NULL COMMENT 'one', b: ARRAY<DATE>>",
     {"data_type": "json", "x-spark-type": "struct<a:int,b:array<date>>",
      "x-fields": {"a": {"nullable": False, "description": "one"}}}),
    ("bigquery", "STRUCT<a INT64 OPTIONS(description='one')>",
     {"data_type": "json", "x-spark-type": "struct<a:bigint>", "x-fields": {"a": {"description": "one"}}}),
    ("clickhouse", "Nested(a String)",
     {"data_type": "json", "x-spark-type": "array<struct<a:string>>", "nullable": False}),
])  # fmt: skip
def test_types_of_dialects(dialect: str, kind: str, properties: dict[str, Any]) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (c {kind})", "t.sql")
    assert {"nullable": True, **properties} == dict(document.schema.tables["t"].columns["c"].properties)
    assert document.losses == ()


@pytest.mark.parametrize(
    ("dialect", "kind", "lost"),
    [
        ("postgres", "bit(8)", "t.c: type `type: BIT(8)` becomes type `data_type: text`"),
        ("postgres", "bit", "t.c: type `type: BIT` becomes type `data_type: text`"),
        ("duckdb", "BIT", "t.c: type `type: BIT` becomes type `data_type: text`"),
        ("mysql", "POINT", "t.c: type `type: POINT` becomes type `data_type: text`"),
        ("mysql", "bit(8)", "t.c: type `type: BIT(8)` becomes type `data_type: text`"),
        ("postgres", "bit varying(5)", "t.c: type `type: varbit(5)` becomes type `data_type: text`"),
        ("postgres", "varchar(10)[]", "t.c: type `type: VARCHAR(10)[]` becomes type `data_type: json`"),
        ("sqlite", "", "t.c: type `type: unspecified` becomes type `data_type: text`"),
        ("sqlite", "ANY", "t.c: type `type: unspecified` becomes type `data_type: text`"),
        ("sqlite", "UNIQUE", "t.c: type `type: unspecified` becomes type `data_type: text`"),
        ("duckdb", "INT[3]", "t.c: type `type: INT[3]` becomes type `data_type: json`"),
        ("databricks", "MAP<INT, STRING>", "t.c: type `type: MAP<INT, STRING>` becomes type `data_type: json`"),
        ("databricks", "STRUCT<a: INTERVAL>", "t.c.a: type `type: INTERVAL` becomes type `data_type: text`"),
    ],
)
def test_types_that_schemas_have_not_are_reported(dialect: str, kind: str, lost: str) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (c {kind}, d date)", "t.sql")
    assert list(document.schema.tables["t"].columns) == ["c", "d"]
    assert [describe_loss(each) for each in document.losses] == [lost]


@pytest.mark.parametrize("dialect", ["snowflake", "postgres"])
def test_names_in_capitals_are_no_camel_case(dialect: str) -> None:
    text = """-- x-dlt: {"x-table": 1}
        CREATE TABLE EVENTS2GO (
        -- x-dlt: {"x-column": 1}
        ADDR2LINE text, Addr3Line text, PRIMARY KEY (ADDR2LINE));
        COMMENT ON COLUMN EVENTS2GO.ADDR2LINE IS 'ADDR2LINE';"""
    table = sql.in_dialect(dialect).read(text, "t.sql").schema.tables["events2go"]
    assert list(table.columns) == ["addr2line", "addr3_line"]
    assert table.properties["x-table"] == 1
    found = table.columns["addr2line"].properties
    assert (found["primary_key"], found["description"], found["x-column"]) == (True, "ADDR2LINE", 1)


def test_names_in_capitals_stay_where_the_dialect_folds_none() -> None:
    text = "CREATE TABLE EVENTS2GO (ADDR2LINE text);"
    assert list(sql.in_dialect("mysql").read(text, "t.sql").schema.tables["events2_go"].columns) == ["addr2_line"]


def test_names_come_back_from_capitals() -> None:
    columns = {name: Column(name, {"data_type": "text", "nullable": True}) for name in ("_2nd", "addr2line")}
    table = Table("v2x", columns, {"write_disposition": "append"})
    schema = replace(new_schema("s"), tables={**new_schema("s").tables, "v2x": table})
    snowflake = sql.in_dialect("snowflake")
    read = snowflake.read(snowflake.write(schema), "t.sql").schema
    assert list(read.tables["v2x"].columns) == ["_2nd", "addr2line"]


def test_words_of_types_in_texts_and_comments_stay() -> None:
    text = """CREATE TABLE t (a bit varying(5), "bit" int, varying int);
        COMMENT ON COLUMN t.a IS 'a bit varying, second(3)'; -- bit varying"""
    table = sql.read(text, "t.sql").schema.tables["t"]
    assert list(table.columns) == ["a", "bit", "varying"]
    assert table.columns["a"].properties["description"] == "a bit varying, second(3)"


def test_columns_may_be_named_like_types() -> None:
    text = "CREATE TABLE t (int8 int8, `long` INT, note LONG, PRIMARY KEY (int8));"
    table = sql.in_dialect("mysql").read(text, "t.sql").schema.tables["t"]
    types = {name: (column.data_type, column.properties.get("precision")) for name, column in table.columns.items()}
    assert types == {"int8": ("bigint", None), "long": ("bigint", 32), "note": ("text", None)}
    assert table.columns["int8"].properties["primary_key"] is True


@pytest.mark.parametrize(
    ("constraint", "lost"),
    [
        ("UNIQUE KEY u (q)", []),
        ("UNIQUE INDEX u (q)", []),
        ("UNIQUE (q)", []),
        ("CONSTRAINT u UNIQUE (q)", []),
        ("UNIQUE KEY u (q(10))", ["t: `constraint: UNIQUE u (q(10))`"]),
        ("UNIQUE KEY u (q, p)", ["t: `constraint: UNIQUE u (q, p)`"]),
    ],
)
def test_a_unique_key_of_one_column_is_the_columns(constraint: str, lost: list[str]) -> None:
    document = sql.in_dialect("mysql").read(f"CREATE TABLE t (q bigint, p bigint, {constraint})", "t.sql")
    assert document.schema.tables["t"].columns["q"].properties.get("unique") == (None if lost else True)
    assert [describe_loss(each) for each in document.losses] == lost


@pytest.mark.parametrize(("dialect", "clauses", "hints"), [
    ("bigquery", "PARTITION BY DATE(g) CLUSTER BY g, d", {"g": {"partition", "cluster"}, "d": {"cluster"}}),
    ("bigquery", "PARTITION BY d", {"d": {"partition"}}),
    ("snowflake", "CLUSTER BY (d)", {"d": {"cluster"}}),
    ("databricks", "PARTITIONED BY (d)", {"d": {"partition"}}),
    ("hive", "PARTITIONED BY (h date)", {"h": {"partition"}}),
    ("redshift", "DISTKEY (d) SORTKEY (g, d)", {"d": {"cluster", "sort"}, "g": {"sort"}}),
    ("clickhouse", "ENGINE = MergeTree PARTITION BY d ORDER BY (d, g)", {"d": {"partition", "sort"}, "g": {"sort"}}),
    ("clickhouse", "ENGINE = MergeTree ORDER BY tuple()", {}),
])  # fmt: skip
def test_clauses_that_name_columns_are_hints(dialect: str, clauses: str, hints: dict[str, set[str]]) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (g timestamp, d date) {clauses}", "t.sql")
    columns = document.schema.tables["t"].columns.values()
    found = {each.name: each.properties.keys() & {"partition", "cluster", "sort"} for each in columns}
    assert {name: of for name, of in found.items() if of} == hints
    assert document.losses == ()


@pytest.mark.parametrize(
    ("dialect", "clause"),
    [
        ("bigquery", "PARTITION BY TIMESTAMP_TRUNC(g, MONTH)"),
        ("postgres", "PARTITION BY RANGE(d)"),
        ("clickhouse", "PARTITION BY toYYYYMM(d)"),
    ],
)
def test_clauses_that_say_more_are_reported(dialect: str, clause: str) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (g timestamp, d date) {clause}", "t.sql")
    assert [describe_loss(each) for each in document.losses] == [f"t: `clause: {clause}`"]


def test_hints_are_clauses_where_an_engine_has_words_for_them() -> None:
    hinted = FEATURES["other hints of dlt on columns"]
    assert sql.in_dialect("bigquery").write(hinted).endswith(")\nCLUSTER BY `a`;\n")
    assert sql.in_dialect("redshift").write(hinted).endswith(')\nDISTKEY ("a")\nSORTKEY ("a");\n')
    described = sql.in_dialect("databricks").write(FEATURES["`description` of a column"])
    assert "`a` STRING COMMENT 'A \"word\", or two'" in described


@pytest.mark.parametrize("dialect", ["hive", "athena"])
def test_a_table_is_described_before_what_partitions_it(dialect: str) -> None:
    stated = {"description": "Days", "write_disposition": "append", "resource": "t"}
    schema = sql.read("CREATE TABLE t (d date, n bigint)", "t.sql").schema
    table = schema.tables["t"]
    columns = {**table.columns, "d": Column("d", {**table.columns["d"].properties, "partition": True})}
    text = sql.in_dialect(dialect).write(schema.with_table(Table("t", columns, stated)))
    assert text.endswith(")\nCOMMENT 'Days'\nPARTITIONED BY (`d`);\n")
    assert sql.in_dialect(dialect).read(text, "t.sql").schema.tables["t"].properties["description"] == "Days"


def test_references_are_foreign_keys_where_asked() -> None:
    schema = FEATURES["`references`"]
    assert "FOREIGN KEY" not in sql.write(schema)
    text = sql.in_dialect("postgres", has_references=True).write(schema)
    assert 'FOREIGN KEY ("id") REFERENCES "orders" ("id")' in text


def referring(**tables: list[str]) -> Schema:
    """Return tables with a key each, and references to that of others."""
    schema = new_schema("shop")
    for name, others in tables.items():
        keys = {"id": Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True})}
        columns = keys | {f"{each}_id": Column(f"{each}_id", {"data_type": "bigint"}) for each in others}
        references = [
            {"columns": [f"{each}_id"], "referenced_table": each, "referenced_columns": ["id"]} for each in others
        ]
        properties = {"write_disposition": "append", "resource": name, "references": references}
        schema = schema.with_table(Table(name, columns, properties))
    return schema


def made_in(text: str) -> list[str]:
    return re.findall(r'(?:CREATE TABLE|ALTER TABLE) ["`]?(\w+)', text)


def test_a_table_comes_after_those_that_its_foreign_keys_name() -> None:
    schema = referring(lines=["loans", "books"], loans=["books"], books=["books"], others=[])
    text = sql.in_dialect("duckdb", has_references=True).write(schema)
    assert made_in(text) == ["books", "loans", "lines", "others"]
    with duckdb.connect() as connection:
        connection.execute(text)


CIRCLE: Final = {"lines": ["a"], "a": ["b"], "b": ["c"], "c": ["a", "others"], "others": []}


def test_a_circle_of_foreign_keys_is_closed_when_all_tables_are_there() -> None:
    schema = referring(**CIRCLE)
    module = sql.in_dialect("postgres", has_references=True)
    text = module.write(schema)
    assert made_in(text) == ["others", "a", "lines", "c", "b", "a"]
    assert text.endswith('ALTER TABLE "a" ADD FOREIGN KEY ("b_id") REFERENCES "b" ("id");\n')
    assert list(find_losses(module, schema, text, "t.sql")) == []


def test_a_circle_of_foreign_keys_needs_no_order_in_sqlite() -> None:
    text = sql.in_dialect("sqlite", has_references=True).write(referring(**CIRCLE))
    assert "ALTER" not in text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(text)
        connection.execute("INSERT INTO others VALUES (1)")


def test_a_foreign_key_that_duckdb_cannot_add_is_reported() -> None:
    schema = referring(**CIRCLE)
    module = sql.in_dialect("duckdb", has_references=True)
    text = module.write(schema)
    lost = [describe_loss(each) for each in find_losses(module, schema, text, "t.sql")]
    assert len(lost) == 1
    assert lost[0].startswith("a: `references: ")
    with duckdb.connect() as connection:
        connection.execute(text)


def test_what_foreign_keys_do_with_rows_is_reported() -> None:
    text = """
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE c (
      a int REFERENCES p (id) ON DELETE CASCADE ON UPDATE NO ACTION,
      b int,
      FOREIGN KEY (a, b) REFERENCES p (x, y) ON UPDATE SET NULL MATCH SIMPLE
    );
    ALTER TABLE c ADD FOREIGN KEY (b) REFERENCES p (id) ON DELETE RESTRICT;
    ALTER TABLE c ADD CONSTRAINT k CHECK (b > 0);
    """
    assert [describe_loss(each) for each in sql.read(text, "t.sql").losses] == [
        "c.a: `constraint: ON DELETE CASCADE`",
        "c.a,b: `constraint: ON UPDATE SET NULL`",
        "c.b: `constraint: ON DELETE RESTRICT`",
        "c: `constraint: CHECK (b > 0)`",
    ]


def test_which_columns_take_nulls_may_be_altered(caplog: pytest.LogCaptureFixture) -> None:
    text = """
    CREATE TABLE c (a int, b int NOT NULL, d int);
    ALTER TABLE c ALTER COLUMN a SET NOT NULL, ALTER COLUMN b DROP NOT NULL;
    ALTER TABLE c ALTER COLUMN d SET DEFAULT 1;
    ALTER TABLE other ALTER COLUMN a SET NOT NULL;
    """
    document = sql.read(text, "t.sql")
    assert [each.nullable for each in document.schema.tables["c"].columns.values()] == [False, True, True]
    assert [(loss.path, loss.item) for loss in document.losses] == [("c", "statement"), ("line 5", "statement")]
    assert not caplog.records


CLAUSES: dict[str, list[tuple[str, list[str]]]] = {
    "postgres": [
        ("CREATE UNLOGGED TABLE t (a int)", ["t: `clause: UNLOGGED`"]),
        ("CREATE TEMP TABLE t (a int)", ["t: `clause: TEMPORARY`"]),
        ("CREATE TABLE t (a int) WITH (fillfactor=70)", ["t: `clause: fillfactor=70`"]),
        ("CREATE TABLE t (a int) TABLESPACE x", ["t: `clause: TABLESPACE x`"]),
        ("CREATE TABLE t (a int) USING heap", []),
        ("CREATE TABLE IF NOT EXISTS s.t (a int)", []),
        ("CREATE TABLE t (a int) INHERITS (s.base)", ["t: `clause: INHERITS (s.base)`"]),
        ("CREATE TABLE t (a int, LIKE base)", ["t: `clause: (LIKE base)`"]),
        ("CREATE TABLE t (a int) AS SELECT 1", ["t: `clause: SELECT 1`"]),
        ("CREATE TABLE t (a int, EXCLUDE USING gist (a WITH =))", ["t: `constraint: EXCLUDE USING gist(a WITH =)`"]),
        ("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY)", ["t.a: `constraint: GENERATED ALWAYS AS IDENTITY`"]),
        ("CREATE TABLE t (a int GENERATED ALWAYS AS (1 + 1) STORED)",
         ["t.a: `constraint: GENERATED ALWAYS AS (1 + 1) STORED`"]),
        ('CREATE TABLE t (a text COLLATE "C")', ['t.a: `constraint: COLLATE "C"`']),
        ("CREATE TABLE t (a int PRIMARY KEY DEFERRABLE)", ["t.a: `constraint: DEFERRABLE`"]),
        ("CREATE TABLE t (a int, CONSTRAINT k PRIMARY KEY (a) INCLUDE (b), b int)", ["t: `constraint: INCLUDE (b)`"]),
        ("CREATE TABLE t (a int, PRIMARY KEY (b))", ["t: `constraint: PRIMARY KEY (b)`"]),
        ("CREATE TABLE t (a int UNIQUE NULLS NOT DISTINCT)", ["t.a: `constraint: NULLS NOT DISTINCT`"]),
        ("CREATE TABLE t (a int, UNIQUE (a) INCLUDE (b), b int)", ["t.a: `constraint: INCLUDE (b)`"]),
        ("CREATE TABLE t (a int REFERENCES x (y) ON UPDATE NO ACTION)", []),
        ("CREATE TABLE t (a int REFERENCES x)", ["t.a: `constraint: REFERENCES x`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES x (y) NOT VALID",
         ["t: `statement: ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES x (y) NOT VALID`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t DROP COLUMN a", ["t: `statement: ALTER TABLE t DROP COLUMN a`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t RENAME TO u", ["t: `statement: ALTER TABLE t RENAME TO u`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t OWNER TO me", ["line 1: `statement: ALTER TABLE t OWNER TO me`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t ALTER a TYPE bigint",
         ["t: `statement: ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT`"]),
        ("CREATE TABLE t (a int); COMMENT ON COLUMN t.b IS 'x'", ["line 1: `statement: COMMENT ON COLUMN t.b IS 'x'`"]),
        ("CREATE TABLE t (a int); COMMENT ON INDEX t IS 'x'", ["line 1: `statement: COMMENT ON INDEX t IS 'x'`"]),
        ("CREATE TABLE t (a int); CREATE UNIQUE INDEX i ON t (a)",
         ["line 1: `statement: CREATE UNIQUE INDEX i ON t(a)`"]),
    ],
    "mysql": [
        ("CREATE TABLE t (a int) ENGINE=InnoDB", []),
        ("CREATE TABLE t (a int) ENGINE=MyISAM", ["t: `clause: ENGINE=MyISAM`"]),
        ("CREATE TABLE t (a int) AUTO_INCREMENT=5 DEFAULT CHARSET=utf8 COLLATE=utf8_bin",
         ["t: `clause: AUTO_INCREMENT=5`", "t: `clause: DEFAULT CHARACTER SET=utf8`", "t: `clause: COLLATE=utf8_bin`"]),
        ("CREATE TABLE t (a int) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9))",
         ["t: `clause: PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9))`"]),
        ("CREATE TABLE t (a int DEFAULT NULL)", []),
        ("CREATE TABLE t (a int); ALTER TABLE t ENGINE=MyISAM", ["t: `statement: ALTER TABLE t ENGINE=MyISAM`"]),
        ("CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN b int FIRST", ["t.b: `constraint: FIRST`"]),
    ],
    "doris": [
        ("CREATE TABLE t (a int, b int) UNIQUE KEY (a, b)", ["t: `clause: UNIQUE KEY (a, b)`"]),
        ("CREATE TABLE t (a int) DUPLICATE KEY (a) PROPERTIES ('x'='1')",
         ["t: `clause: DUPLICATE KEY (a)`", "t: `clause: 'x'='1'`"]),
        ("CREATE TABLE t (a int) DISTRIBUTED BY HASH (a)", ["t: `clause: DISTRIBUTED BY HASH (a)`"]),
    ],
    "clickhouse": [
        ("CREATE TABLE t (a Int32, at Date) ENGINE=MergeTree ORDER BY a TTL at + INTERVAL 1 DAY",
         ["t: `clause: TTL at + INTERVAL '1' DAY`"]),
        ("CREATE TABLE t (a Int32) ENGINE=MergeTree PRIMARY KEY toDate(a)",
         ["t: `constraint: PRIMARY KEY (toDate(a))`"]),
        ("CREATE TABLE t (a Int32) ENGINE=ReplacingMergeTree(a)", ["t: `clause: ENGINE=ReplacingMergeTree(a)`"]),
        ("CREATE TABLE t (a Int32) ENGINE=MergeTree ORDER BY a DESC", ["t: `clause: ORDER BY a DESC`"]),
        ("CREATE TABLE t (a Int32) ENGINE=MergeTree() ORDER BY a SAMPLE BY a", ["t: `clause: SAMPLE BY a`"]),
        ("CREATE TABLE t ON CLUSTER c (a Int32) ENGINE=MergeTree", ["t: `clause: ON CLUSTER c`"]),
        ("CREATE TABLE t (a Int32) ENGINE=MergeTree SETTINGS index_granularity = 8",
         ["t: `clause: SETTINGS index_granularity = 8`"]),
        ("CREATE TABLE t (a Int32 DEFAULT 1 CODEC(ZSTD) TTL b)",
         ["t.a: `constraint: DEFAULT 1`", "t.a: `constraint: CODEC(ZSTD)`", "t.a: `constraint: TTL b`"]),
    ],
    "bigquery": [
        ("CREATE TABLE t (a INT64 OPTIONS(description='x', rounding_mode='R'))",
         ["t.a: `constraint: rounding_mode='R'`"]),
        ("CREATE TABLE t (a STRUCT<b INT64 OPTIONS(description='x', c='d')>)", ["t.a.b: `constraint: c='d'`"]),
        ("CREATE TABLE t (a INT64) OPTIONS(description='x', labels=[('a', 'b')])",
         ["t: `clause: labels=[('a', 'b')]`"]),
        ("CREATE TABLE t (a INT64, PRIMARY KEY (a) NOT ENFORCED)", []),
        ("CREATE EXTERNAL TABLE t (a INT64)", ["t: `clause: EXTERNAL`"]),
    ],
    "snowflake": [
        ("CREATE TRANSIENT TABLE t (a INT)", ["t: `clause: TRANSIENT`"]),
        ("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS=5 COPY GRANTS",
         ["t: `clause: DATA_RETENTION_TIME_IN_DAYS=5`", "t: `clause: COPY GRANTS`"]),
        ("CREATE TABLE t (a INT) WITH TAG (x='y')", ["t: `clause: TAG (x='y')`"]),
    ],
    "redshift": [
        ("CREATE TABLE t (a INT ENCODE zstd) DISTSTYLE EVEN",
         ["t.a: `constraint: ENCODE zstd`", "t: `clause: DISTSTYLE EVEN`"]),
    ],
    "databricks": [
        ("CREATE TABLE t (a INT) USING DELTA TBLPROPERTIES ('x'='y') LOCATION 's3://x'",
         ["t: `clause: 'x'='y'`", "t: `clause: LOCATION 's3://x'`"]),
        ("CREATE TABLE t (a INT) USING CSV CLUSTER BY AUTO",
         ["t: `clause: USING CSV`", "t: `clause: CLUSTER BY AUTO`"]),
    ],
    "hive": [
        ("CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS STORED AS ORC",
         ["t: `clause: CLUSTERED BY (a) INTO 4 BUCKETS`", "t: `clause: STORED AS ORC`"]),
    ],
    "trino": [
        ("CREATE TABLE t (a int WITH (p=1)) WITH (format='ORC', partitioning=ARRAY['a'])",
         ["t.a: `constraint: p=1`", "t: `clause: format='ORC'`", "t: `clause: partitioning=ARRAY['a']`"]),
    ],
    "athena": [("CREATE EXTERNAL TABLE t (a int) LOCATION 's3://x'", ["t: `clause: EXTERNAL`",
                                                                     "t: `clause: external_location='s3://x'`"])],
    "tsql": [
        ("CREATE TABLE t (a INT IDENTITY(1, 1))", ["t.a: `constraint: IDENTITY(1, 1)`"]),
        ("CREATE TABLE t (a INT, CONSTRAINT p PRIMARY KEY CLUSTERED (a ASC) WITH (PAD_INDEX=OFF) ON [PRIMARY])",
         ["t: `constraint: WITH (PAD_INDEX=OFF)`", "t: `constraint: ON [PRIMARY]`"]),
        ("CREATE TABLE t (a INT, CONSTRAINT u UNIQUE NONCLUSTERED (a ASC))", []),
        ("CREATE TABLE t (a INT, CONSTRAINT u UNIQUE CLUSTERED (a))", ["t.a: `constraint: CLUSTERED`"]),
    ],
    "oracle": [("CREATE GLOBAL TEMPORARY TABLE t (a INT) ON COMMIT PRESERVE ROWS",
                ["t: `clause: GLOBAL TEMPORARY`", "t: `clause: ON COMMIT PRESERVE ROWS`"])],
    "sqlite": [("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)", ["t.a: `constraint: AUTO_INCREMENT`"])],
    "duckdb": [("CREATE TEMP TABLE t (a INT CHECK (a > 0))", ["t.a: `constraint: CHECK (a > 0)`",
                                                             "t: `clause: TEMPORARY`"])],
    "teradata": [("CREATE MULTISET TABLE t, NO FALLBACK (a INT) PRIMARY INDEX (a)",
                  ["t: `clause: MULTISET`", "t: `clause: NO FALLBACK`", "t: `clause: PRIMARY INDEX (a)`"])],
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "text", "losses"), [(dialect, *case) for dialect, cases in CLAUSES.items() for case in cases]
)
def test_each_clause_is_read_or_reported(dialect: str, text: str, losses: list[str]) -> None:
    assert [describe_loss(loss) for loss in sql.in_dialect(dialect).read(text, "t.sql").losses] == losses


def subclasses(kind: type[exp.Expression]) -> Iterator[type[exp.Expression]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def node_of(kind: type[exp.Expression]) -> exp.Expression:
    """Return a node whose arguments name a column that no table has."""
    named: dict[str, Any] = {key: exp.to_identifier("x") for key, required in kind.arg_types.items() if required}
    lists = {"expressions"} | ({"this"} if kind is exp.SortKeyProperty else set())
    return kind(**named | {key: [exp.to_identifier("x")] for key in lists & kind.arg_types.keys()})


PLAIN: Final = "CREATE TABLE t (a INT)"


def read_plain(change: Callable[[exp.Create, exp.ColumnDef], object]) -> tuple[Record, list[Loss]]:
    """Return the table of a statement that was changed, and its losses."""
    statements = [statement for statement in sqlglot.parse(PLAIN) if statement is not None]
    column = statements[0].find(exp.ColumnDef)
    assert isinstance(statements[0], exp.Create)
    assert column is not None
    change(statements[0], column)
    (table,), losses = read_tables(statements, "postgres", sql.SqlDialect().codec, "t.sql", {})
    return table, losses


def named_kinds(*kinds: type[exp.Expression], but: Collection[type[exp.Expression]]) -> list[type[exp.Expression]]:
    found = {kind for base in kinds for kind in subclasses(base)} - set(but)
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", named_kinds(exp.Property, but=[exp.SchemaCommentProperty]))
def test_no_kind_of_clause_that_sqlglot_has_is_dropped_in_silence(kind: type[exp.Expression]) -> None:
    plain, _ = read_plain(lambda *_: None)
    table, losses = read_plain(
        lambda statement, _: statement.set("properties", exp.Properties(expressions=[node_of(kind)]))
    )
    assert losses
    assert table == plain


READ_CONSTRAINTS: Final = (
    *(exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint, exp.CommentColumnConstraint),
    exp.UniqueColumnConstraint,
)


@pytest.mark.parametrize("kind", named_kinds(exp.ColumnConstraintKind, but=READ_CONSTRAINTS))
def test_no_kind_of_constraint_that_sqlglot_has_is_dropped_in_silence(kind: type[exp.Expression]) -> None:
    plain, _ = read_plain(lambda *_: None)
    of_column = read_plain(lambda _, column: column.append("constraints", exp.ColumnConstraint(kind=node_of(kind))))
    of_table = read_plain(lambda statement, _: statement.this.append("expressions", node_of(kind)))
    for table, losses in (of_column, of_table):
        assert losses
        assert table == plain


HARMLESS: Final = {"this", "kind", "exists", "replace", "properties", "concurrently"}


@pytest.mark.parametrize("key", sorted(exp.Create.arg_types.keys() - HARMLESS))
def test_no_argument_of_create_table_is_dropped_in_silence(key: str) -> None:
    _, losses = read_plain(lambda statement, _: statement.set(key, exp.to_identifier("x")))
    assert losses


def test_no_kind_of_change_to_a_table_is_dropped_in_silence() -> None:
    read_kinds = (exp.AddConstraint, exp.ColumnDef, exp.SchemaCommentProperty)
    silent = []
    for kind in named_kinds(exp.Expression, but=read_kinds):
        statements = [statement for statement in sqlglot.parse(f"{PLAIN}; ALTER TABLE t ADD COLUMN b INT") if statement]
        statements[1].set("actions", [node_of(kind)])
        _, losses = read_tables(statements, "postgres", sql.SqlDialect().codec, "t.sql", {})
        silent += [kind] if [loss.item for loss in losses] != ["statement"] else []
    assert silent == []


def columns_of(text: str, name: str = "t", dialect: str = "postgres") -> dict[str, dict[str, Any]]:
    table = sql.in_dialect(dialect).read(text, "t.sql").schema.tables[name]
    return {column.name: dict(column.properties) for column in table.columns.values()}


def test_a_table_has_the_columns_of_those_that_it_inherits_but_not_their_keys() -> None:
    text = """
    CREATE TABLE base (id int PRIMARY KEY, n text NOT NULL UNIQUE, at date);
    CREATE TABLE more (m bigint);
    CREATE TABLE t (a int, n text, at date NOT NULL) INHERITS (base, more);
    """
    columns = columns_of(text)
    assert {name: properties["nullable"] for name, properties in columns.items()} == {
        "id": False, "n": False, "at": False, "m": True, "a": True,
    }  # fmt: skip
    assert not any(properties.keys() & {"primary_key", "unique"} for properties in columns.values())
    assert [describe_loss(each) for each in sql.read(text, "t.sql").losses] == ["t: `clause: INHERITS (base, more)`"]


BASE = "CREATE TABLE base (id int PRIMARY KEY, n text); COMMENT ON COLUMN base.n IS 'Name';"
KEY = {"data_type": "bigint", "precision": 32, "nullable": False}


@pytest.mark.parametrize(
    ("dialect", "copy", "more"),
    [
        ("postgres", "CREATE TABLE t (LIKE base)", {}),
        ("postgres", "CREATE TABLE t (LIKE base EXCLUDING ALL)", {}),
        ("postgres", "CREATE TABLE t (LIKE base INCLUDING DEFAULTS INCLUDING INDEXES)", {"primary_key": True}),
        ("postgres", "CREATE TABLE t (LIKE base INCLUDING ALL)", {"primary_key": True, "note": True}),
        ("mysql", "CREATE TABLE t LIKE base", {"primary_key": True}),
        ("snowflake", "CREATE TABLE t CLONE base", {"primary_key": True, "note": True}),
    ],
)
def test_a_copy_of_a_table_has_its_columns(dialect: str, copy: str, more: dict[str, bool]) -> None:
    base = BASE if dialect != "mysql" else BASE.partition(";")[0] + ";"
    columns = columns_of(f"{base} {copy}", dialect=dialect)
    assert list(columns) == ["id", "n"]
    assert columns["id"].get("primary_key") == more.get("primary_key")
    assert columns["id"]["nullable"] is False
    assert columns["n"].get("description") == ("Name" if "note" in more else None)
    assert sql.in_dialect(dialect).read(f"{base} {copy}", "t.sql").losses == ()


def test_keys_are_read_wherever_a_dialect_states_them() -> None:
    for dialect, text in (
        ("clickhouse", "CREATE TABLE t (a Int32) ENGINE=MergeTree PRIMARY KEY a"),
        ("clickhouse", "CREATE TABLE t (a Int32, PRIMARY KEY (a)) ENGINE=MergeTree"),
        ("starrocks", "CREATE TABLE t (a int) PRIMARY KEY (a)"),
        ("tsql", "CREATE TABLE t (a INT, CONSTRAINT p PRIMARY KEY CLUSTERED (a ASC))"),
    ):
        assert columns_of(text, dialect=dialect)["a"]["primary_key"] is True
    for dialect, text in (
        ("doris", "CREATE TABLE t (a int) UNIQUE KEY (a)"),
        ("tsql", "CREATE TABLE t (a INT, CONSTRAINT u UNIQUE NONCLUSTERED (a ASC))"),
    ):
        assert columns_of(text, dialect=dialect)["a"]["unique"] is True


def test_columns_that_are_added_later_are_columns() -> None:
    columns = columns_of("CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN b bigint NOT NULL, ADD COLUMN c date;")
    assert list(columns) == ["a", "b", "c"]
    assert columns["b"]["nullable"] is False


def test_a_foreign_key_without_columns_refers_to_the_primary_key() -> None:
    text = "CREATE TABLE t (a int REFERENCES p); CREATE TABLE p (id int, n int, PRIMARY KEY (id));"
    assert sql.read(text, "t.sql").schema.tables["t"].properties["references"] == [
        {"columns": ["a"], "referenced_table": "p", "referenced_columns": ["id"]}
    ]


@pytest.mark.parametrize(
    ("dialect", "clauses"),
    [
        ("spark", "ROW FORMAT SERDE 'x' DEFAULT LOCATION 'y'"),
        ("sqlite", "without rowid"),
        ("mysql", "ENGINE=InnoDB PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9) ENGINE = InnoDB)"),
        ("mysql", "PARTITION BY HASH(a) PARTITIONS 4"),
        ("oracle", "SEGMENT CREATION IMMEDIATE PCTFREE 10 STORAGE (INITIAL 64K)"),
    ],
)
def test_clauses_after_the_columns_that_sqlglot_does_not_parse_are_lost_and_the_columns_are_read(
    dialect: str, clauses: str
) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (a int, b varchar(5)) {clauses};", "t.sql")
    assert list(document.schema.tables["t"].columns) == ["a", "b"]
    assert [(loss.path, loss.item, loss.before) for loss in document.losses] == [("t", "clause", clauses)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("CREATE TABLE a (x int);\n\nCREATE TABLE b (\n  x int,\n  y bogus bogus\n);", 5),
        ("CREATE TABLE a (x int);\n-- new\nALTER TABLE a\n  ADD COLUMN;", 3),
        ("CREATE TABLE a (x int);\nALTER TABLE a\n  ADD COLUMN y int DEFAULT (1;", 3),
        ("CREATE TABLE a (x int);\nCREATE TEMP TABLE b (y 'int);", 2),
        ("CREATE TABLE a (x int);\ncreate or replace table b (((;", 2),
        ("CREATE TABLE a (x int)\nCREATE TABLE b (x int);", 1),
        ("CREATE TABLE a (x int);\nSELECT 1\nCREATE TABLE b (x int);", 3),
        ("CREATE TABLE a (x int);\nBEGIN\n\n  CREATE TABLE b (x int);\nEND;", 4),
    ],
)
def test_a_table_that_sqlglot_does_not_parse_is_an_error_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InputError, match="this is not `postgres` SQL") as caught:
        sql.read(text, "t.sql")
    assert str(caught.value.at) == f"t.sql:{line}"
    assert "correct the statement" in str(caught.value.hint)


OTHER_STATEMENTS: Final = [
    ("postgres", "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN; IF x THEN y; END IF; END; $$"),
    ("postgres", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN x THEN 1 END; END"),
    ("postgres", "DO $$ BEGIN\n  CREATE TABLE x (y int);\nEND $$"),
    ("snowflake", "GRANT\n  USAGE, CREATE TABLE ON SCHEMA s TO ROLE r"),
    ("mysql", "CREATE PROCEDURE p()\nBEGIN\n  CREATE TABLE x (y int);\nEND"),
    ("postgres", "DO $do$ BEGIN EXECUTE 'CREATE TABLE x (y int);'; END $do$"),
    ("postgres", "SET search_path TO shop, public"),
    ("postgres", "COMMENT ON CONSTRAINT c ON t IS NULL"),
    ("postgres", "INSERT INTO t VALUES ('it''s; \\', E'\\'; CREATE TABLE no (x int);')"),
    ("postgres", "ALTER TABLE t ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME s)"),
    ("postgres", "ALTER TABLE ONLY t ATTACH PARTITION u FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')"),
    ("postgres", "CREATE PUBLICATION p FOR TABLE t WHERE (a > 1)"),
    ("postgres", "CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING"),
    ("mysql", "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; IF b THEN SET c = 2; END IF; END"),
    ("mysql", "CREATE DEFINER=`a`@`%` PROCEDURE p() BEGIN SELECT 'it\\'s;'; SELECT 2; END"),
    ("mysql", "LOCK TABLES `t` WRITE"),
    (
        "sqlite",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN b THEN 1 ELSE 2 END; SELECT 1; END",
    ),
    ("sqlite", "CREATE VIRTUAL TABLE f USING fts5(a, b)"),
    ("sqlite", "PRAGMA foreign_keys=OFF"),
    ("snowflake", "CREATE FUNCTION f() RETURNS INT AS $$ 1; 2 $$"),
    ("tsql", "CREATE PROCEDURE p AS BEGIN SELECT 1; SELECT 2; END"),
    ("bigquery", 'ASSERT """a; b""" = "x\\";" AS \'y\''),
    ("oracle", "GRANT SELECT ON t TO me"),
]


@pytest.mark.parametrize(("dialect", "statement"), OTHER_STATEMENTS)
def test_a_statement_that_defines_no_table_is_a_loss_with_its_line(dialect: str, statement: str) -> None:
    text = f"CREATE TABLE t (a int);\n-- it's; new\n/* a; 'b */\n{statement};\nCREATE TABLE u (b int);\n"
    document = sql.in_dialect(dialect).read(text, "t.sql")
    assert [name for name in document.schema.tables if not name.startswith("_dlt")] == ["t", "u"]
    assert [(loss.path, loss.item) for loss in document.losses] == [("line 4", "statement")]


@pytest.mark.parametrize(("dialect", "action"), [
    ("oracle", "ADD (b NUMBER, c DATE)"), ("spark", "ADD COLUMNS (b INT, c STRING)"), ("tsql", "ADD b INT NULL, c INT"),
    ("postgres", "ADD b int, ADD COLUMN IF NOT EXISTS c int"),
])  # fmt: skip
def test_columns_that_are_added_together_are_read(dialect: str, action: str) -> None:
    document = sql.in_dialect(dialect).read(f"CREATE TABLE t (a int); ALTER TABLE t {action};", "t.sql")
    assert list(document.schema.tables["t"].columns) == ["a", "b", "c"]
    assert document.losses == ()


def test_rows_and_commands_of_psql_are_no_statements() -> None:
    text = (
        "\\restrict abc'def\nCREATE TABLE t (a int, b text);\n\\connect shop\n"
        "COPY t (a, b) FROM stdin;\n1\tO'Brien; CREATE TABLE no (x int);\n2\t\\N\n\\.\n\n"
        "ALTER TABLE ONLY t ADD CONSTRAINT k PRIMARY KEY (a);\n\\unrestrict abc\n"
    )
    document = sql.read(text, "dump.sql")
    assert document.schema.tables["t"].columns["a"].properties["primary_key"] is True
    assert [describe_loss(loss) for loss in document.losses] == [
        "line 1: `statement: \\restrict abc'def`",
        "line 3: `statement: \\connect shop`",
        "line 4: `statement: COPY t (a, b) FROM stdin`",
        "line 10: `statement: \\unrestrict abc`",
    ]


def test_delimiters_and_conditional_comments_of_mysql_are_followed() -> None:
    text = """/*M!999999\\- enable the sandbox mode */
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE `t` (`a` int /*!80023 INVISIBLE */, `b` int /*!50606 NOT NULL */) /*!50100 PARTITION BY KEY (`a`) */;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER r BEFORE INSERT ON t FOR EACH ROW
BEGIN SET NEW.a = 1; SET NEW.b = 2; END */;;
DELIMITER ;
CREATE TABLE u (c int);
"""
    document = sql.in_dialect("mysql").read(text, "dump.sql")
    assert document.schema.tables["t"].columns["b"].nullable is False
    assert "c" in document.schema.tables["u"].columns
    assert [describe_loss(loss) for loss in document.losses] == [
        "t.a: `constraint: INVISIBLE`",
        "t: `clause: PARTITION BY KEY (`a`)`",
        "line 2: `statement: SET NAMES utf8mb4`",
        "line 5: `statement: CREATE DEFINER=`a`@`b` TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.…`",
    ]


@pytest.mark.parametrize("name", ["event", "trigger", "package", "t"])
def test_a_table_whose_name_is_that_of_a_routine_ends_at_its_semicolon(name: str) -> None:
    text = f"""CREATE TABLE "{name}" ("begin" int);
CREATE TABLE {name}s (begin int, "end" int);
CREATE TABLE IF NOT EXISTS {name} (begin int, "case" int);
CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END; END;
CREATE TABLE v (c int);"""
    document = sql.in_dialect("sqlite").read(text.partition("\n")[2], "t.sql")
    assert [table for table in document.schema.tables if not table.startswith("_dlt")] == [f"{name}s", name, "v"]


def test_statements_of_sql_server_need_no_semicolons() -> None:
    text = """USE [shop]
SET ANSI_NULLS ON
CREATE TABLE t (a INT)
  CREATE TABLE u (b INT)
ALTER TABLE u ADD CONSTRAINT k PRIMARY KEY (b)
GO
CREATE PROCEDURE p AS
CREATE TABLE #no (a INT)
SELECT 1
GO
CREATE TABLE v (c INT)"""
    document = sql.in_dialect("tsql").read(text, "t.sql")
    assert [name for name in document.schema.tables if not name.startswith("_dlt")] == ["t", "u", "v"]
    assert document.schema.tables["u"].columns["b"].properties["primary_key"] is True
    assert [(loss.path, loss.item) for loss in document.losses] == [("line 1", "statement"), ("line 7", "statement")]


@pytest.mark.parametrize(("dialect", "line"), [("tsql", "GO"), ("tsql", " go \t\r"), ("oracle", "/")])
def test_lines_that_end_statements_without_semicolons(dialect: str, line: str) -> None:
    text = f"CREATE TABLE t (a int)\n{line}\nCREATE TABLE u (b int)\n{line}\n"
    document = sql.in_dialect(dialect).read(text, "t.sql")
    assert [name for name in document.schema.tables if not name.startswith("_dlt")] == ["t", "u"]
    assert document.losses == ()


def test_sql_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        sql.read("CREATE TABLE t (a int DEFAULT " + "(" * 20_000, "t.sql")


def test_a_reference_that_becomes_no_foreign_key_is_lost_where_they_are_asked_for() -> None:
    reference = {"columns": ["id"], "referenced_table": "nowhere", "referenced_columns": ["id"]}
    columns = {"id": Column("id", {"data_type": "bigint"})}
    schema = new_schema("shop").with_table(Table("t", columns, {"references": [reference]}))
    for has_references, expected in ((True, [Loss("t", "references", [reference])]), (False, [])):
        module = sql.in_dialect("postgres", has_references=has_references)
        assert list(find_losses(module, schema, module.write(schema), "t.sql")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE a.t (x int); CREATE TABLE b.t (y int)", "two statements create a table `t`"),
        ("CREATE TABLE (", "this is not `postgres` SQL"),
        ("SELECT 1", "there is no CREATE TABLE"),
        ("", "there is no"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sql.read(text, "shop.sql")


def test_statements_that_are_not_known_are_named_by_line_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match="there is no CREATE TABLE with columns; not read: `CREATE TABEL x`") as caught:
        sql.read("SELECT 1;\n\nCREATE TABEL x;\n", "bad.sql")
    assert str(caught.value.at) == "bad.sql:3"
    assert not caplog.records


def test_dialects_that_nobody_knows() -> None:
    with pytest.raises(InputError, match="there is no dialect `postgre`") as caught:
        sql.in_dialect("postgre")
    assert "postgres" in (caught.value.hint or "")


@pytest.mark.destinations
def test_postgresql_runs_it(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for at, schema in enumerate(FEATURES.values()):
            connection.execute(f"CREATE SCHEMA made_{at}")
            connection.execute(f"SET search_path TO made_{at}")
            connection.execute(sql.write(schema))
            rows = connection.execute(
                "SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns "
                "WHERE table_schema = %s",
                [f"made_{at}"],
            )
            assert_same_columns(schema, rows.fetchall())


@pytest.mark.destinations
def test_postgresql_makes_foreign_keys_in_a_circle(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA circle")
        connection.execute("SET search_path TO circle")
        connection.execute(sql.in_dialect("postgres", has_references=True).write(referring(**CIRCLE)))
        keys = connection.execute(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'circle'::regnamespace"
        )
        assert keys.fetchone() == (sum(map(len, CIRCLE.values())),)


def test_names_are_those_that_dlt_gives_tables_in_snowflake() -> None:
    assert 'CREATE TABLE "ORDERS" (\n  "ID" NUMBER(19,0) NOT NULL' in sql.in_dialect("snowflake").write(
        FEATURES["type text"]
    )
    kept = sql.in_dialect("snowflake").write(FEATURES["naming convention"])
    assert 'CREATE TABLE "Orders" (\n  "Id"' in kept


def test_hints_belong_to_their_table_whatever_stands_between() -> None:
    schema = FEATURES["other hints of dlt on columns"]
    text = "CREATE TABLE others (x int);\nCREATE INDEX i ON others (x);\n" + sql.write(schema)
    assert losses_between(schema, sql.read(text, "shop.sql").schema) == ()


@pytest.mark.parametrize("hints", ["{no}", "{" + '"a":{' * 100_000 + "}"])
def test_hints_that_are_no_json_have_a_place(hints: str) -> None:
    with pytest.raises(InputError, match="`x-dlt` is followed by JSON") as caught:
        sql.read(f"CREATE TABLE t (\n  -- x-dlt: {hints}\n  a int\n)", "shop.sql")
    assert str(caught.value.at) == "shop.sql:3"


@pytest.mark.parametrize("dialect", ["spark", "databricks", "hive"])
def test_texts_name_no_variables_where_engines_replace_them(dialect: str) -> None:
    note = "${env:HOME} \\u0024{ $x"
    column = Column("a", {"data_type": "text", "description": note})
    schema = new_schema("s").with_table(Table("t", {"a": column}, {"description": note}))
    form = in_dialect(sql, "sql", dialect)

    written = str(form.write(schema))

    assert "${" not in written
    assert find_losses(form, schema, written, "t.sql") == ()


def test_columns_of_a_database_that_sqlglot_does_not_parse_are_lost_alone() -> None:
    table = """CREATE TABLE t (a int REFERENCES u, -- of, u
      b int not null on conflict replace, c varchar(9) default 'x, y', check (a > 1), primary key (a desc)
    ) without rowid"""
    definitions = [
        ("t", table),
        ("t", "CREATE INDEX i ON t (c)"),
        ("u", "CREATE TABLE u (id integer primary key, o blob)"),
        ("v", "CREATE VIEW v AS SELECT a FROM t"),
        ("w", "CREATE TABLE w ((("),
    ]
    references, losses = sql.in_dialect("sqlite").read_definitions(definitions)
    assert references["t"] == [{"columns": ["a"], "referenced_table": "u", "referenced_columns": ["id"]}]
    assert [describe_loss(loss) for loss in losses] == [
        "t.c: `constraint: DEFAULT 'x, y'`",
        "t: `constraint: CHECK (a > 1)`",
        "t: `clause: without rowid`",
        "t: `statement: CREATE INDEX i ON t(c)`",
        "v: `statement: CREATE VIEW v AS SELECT a FROM t`",
        "t: `definition: b int not null on conflict replace`",
        "t: `definition: primary key (a desc)`",
        "w: `definition: CREATE TABLE w (((`",
    ]
