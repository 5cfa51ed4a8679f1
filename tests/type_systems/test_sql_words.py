"""SQL's words for types where no dialect is named, both ways."""

from __future__ import annotations

import pytest

from schemactl.type_systems.fields import Field
from schemactl.type_systems.sql_words import read_sql_type, write_sql_type


@pytest.mark.parametrize(
    ("stated", "properties"),
    [
        ("NUMBER(10, 2)", {"data_type": "decimal", "precision": 10, "scale": 2}),
        ("number", {"data_type": "decimal"}),
        ("timestamp(3) without time zone", {"data_type": "timestamp", "timezone": False, "precision": 3}),
        ("TIMESTAMP_NTZ(9)", {"data_type": "timestamp", "timezone": False, "precision": 9}),
        ("character varying(12)", {"data_type": "text", "precision": 12}),
        ("double precision", {"data_type": "double"}),
        ("int64", {"data_type": "bigint"}),
        ("STRUCT<a INT>", {"data_type": "json", "x-spark-type": "struct<a:int>"}),
        ("UInt64", {"data_type": "wei"}),
        ("bit", {"data_type": "bool"}),
        ("bit(8)", None),
        ("geography", None),
        ("text)", None),
        ("ARRAY<INT64>", {"data_type": "json", "x-spark-type": "array<bigint>"}),
        ("STRUCT<a INT64>", {"data_type": "json", "x-spark-type": "struct<a:bigint>"}),
        ("ARRAY<STRUCT<a INT64, b STRING>>", {"data_type": "json", "x-spark-type": "array<struct<a:bigint,b:string>>"}),
        ("text[]", {"data_type": "json", "x-spark-type": "array<string>"}),
        ("INTEGER[]", {"data_type": "json", "x-spark-type": "array<int>"}),
        ("int[][]", {"data_type": "json", "x-spark-type": "array<array<int>>"}),
        ("decimal(10,2)[]", {"data_type": "json", "x-spark-type": "array<decimal(10,2)>"}),
        ("STRUCT(a INTEGER)", {"data_type": "json", "x-spark-type": "struct<a:int>"}),
        ("STRUCT(a INTEGER)[]", {"data_type": "json", "x-spark-type": "array<struct<a:int>>"}),
        ("row(a integer, b varchar)", {"data_type": "json", "x-spark-type": "struct<a:int,b:string>"}),
        ("OBJECT(a INT)", {"data_type": "json", "x-spark-type": "struct<a:int>"}),
        ("ARRAY(VARCHAR)", {"data_type": "json", "x-spark-type": "array<string>"}),
        ("MAP(VARCHAR, INTEGER)", {"data_type": "json", "x-spark-type": "map<string,int>"}),
        ("MAP<STRING, INT>", {"data_type": "json", "x-spark-type": "map<string,int>"}),
        ("varchar(max)", {"data_type": "text"}),
        ("nvarchar(MAX)", {"data_type": "text"}),
        ("varbinary(max)", {"data_type": "binary"}),
        ("VARCHAR2(20 CHAR)", {"data_type": "text", "precision": 20}),
        ("uniqueidentifier", {"data_type": "text"}),
        ("int unsigned", {"data_type": "bigint"}),
        ("Nullable(Int32)", {"data_type": "bigint", "precision": 32}),
        ("Int8", {"data_type": "bigint", "precision": 8}),
        ("int8", {"data_type": "bigint"}),
        ("LowCardinality(Nullable(String))", {"data_type": "text"}),
        ("HUGEINT", {"data_type": "bigint", "precision": 128}),
        ("Array(Nullable(Int32))", {"data_type": "json", "x-spark-type": "array<int>"}),
        ("Tuple(a Int32, b String)", {"data_type": "json", "x-spark-type": "struct<a:int,b:string>"}),
        ("DateTime64(3, 'UTC')", {"data_type": "timestamp", "precision": 3}),
        ("Enum8('a' = 1, 'b' = 2)", {"data_type": "text", "x-enum": ["a", "b"]}),
        ("timestamp_ntz", {"data_type": "timestamp", "timezone": False}),
        ("number(38,0)", {"data_type": "decimal", "precision": 38, "scale": 0}),
        ("NUMBER(*,0)", {"data_type": "decimal", "precision": 38, "scale": 0}),
        ("super", {"data_type": "json"}),
        ("variant", {"data_type": "json"}),
        ("serial4", {"data_type": "bigint", "precision": 32}),
        ("int, b int", None),
        ("int); drop table t; create table u (a int", None),
        ("'x'", None),
        ("interval", None),
        ("RANGE<DATE>", None),
        ("AggregateFunction(sum, UInt64)", None),
        ("(" * 100_000, None),
        ("Array(" * 2_000 + "Int8" + ")" * 2_000, None),
        ("text" + "[]" * 3_000, None),
    ],
)
def test_types_of_engines_are_understood(stated: str, properties: dict[str, object] | None):
    assert read_sql_type(stated) == properties


@pytest.mark.parametrize(
    ("sizes", "written"),
    [
        ({}, "decimal(38,9)"),
        ({"precision": 10}, "decimal(10,9)"),
        ({"precision": 10, "scale": 0}, "decimal(10,0)"),
        ({"scale": 4}, "decimal(38,4)"),
    ],
)
def test_decimals_have_the_sizes_that_dlt_gives_them_in_databases(sizes: dict[str, int], written: str):
    assert write_sql_type(Field("d", {"data_type": "decimal", **sizes})) == written


def test_a_column_of_no_known_type_is_a_text():
    assert Field("a", {}).data_type == "text"
