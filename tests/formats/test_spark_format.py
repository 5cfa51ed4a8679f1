"""Spark's StructType as JSON and as DDL, beside pyspark."""

from __future__ import annotations

import json

import pytest
from fixture_documents import inferred
from hypothesis import given
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.flows.export import _by_table
from schemactl.formats import spark as spark_json
from schemactl.formats import sparkddl
from schemactl.formats._folding import fold
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

NOTE = "it's a \\ path, <a:b> `x`"


def orders(**columns: dict[str, object]) -> Schema:
    return new_schema("shop").with_table(Table("orders", {name: Column(name, each) for name, each in columns.items()}))


SCHEMA = orders(
    id={"data_type": "bigint", "nullable": False, "description": NOTE},
    at={"data_type": "timestamp", "timezone": False},
    price={"data_type": "decimal", "precision": 10, "scale": 2},
    lines={
        "data_type": "json",
        "x-spark-type": "array<struct<sku:string,`odd name`:int,m:map<string,array<double>>>>",
        "x-fields": {"sku": {"nullable": False, "description": NOTE}},
    },
)


@given(schemas())
def test_every_table_is_a_struct_type_to_pyspark(schema: Schema):
    for _, one in _by_table([schema], may_be_several=True):
        written = json.loads(spark_json.write(one))
        assert StructType.fromJson(written).jsonValue() == written


def test_one_struct_in_two_notations():
    read = sparkddl.read(sparkddl.write(SCHEMA), "orders.ddl").schema.tables["orders"]
    assert {name: dict(column.properties) for name, column in read.columns.items()} == {
        name: {"nullable": True, **column.properties} for name, column in SCHEMA.tables["orders"].columns.items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("schema", [SCHEMA, fold(inferred("orders.jsonl")), fold(inferred("github_events.jsonl"))])
def test_spark_reads_the_ddl_as_the_struct(spark: SparkSession, schema: Schema):
    plain = [{**each, "metadata": {key: value for key, value in each["metadata"].items() if key == "comment"}}
             for each in spark_json.struct_of(schema)["fields"]]  # fmt: skip
    assert StructType.fromDDL(sparkddl.write(schema)).jsonValue()["fields"] == plain


def test_types_of_others():
    text = "a INT, b: VARCHAR(20) NOT NULL COMMENT 'it\\'s', c NUMERIC, d map<string,struct<x:real>>, "
    text += "e INTERVAL, `f``g` DATE"
    document = sparkddl.read(text, "t.ddl")
    stated = {name: dict(column.properties) for name, column in document.schema.tables["t"].columns.items()}
    assert stated == {
        "a": {"data_type": "bigint", "precision": 32, "nullable": True},
        "b": {"data_type": "text", "precision": 20, "nullable": False, "description": "it's"},
        "c": {"data_type": "decimal", "precision": 10, "scale": 0, "nullable": True},
        "d": {"data_type": "json", "x-spark-type": "map<string,struct<x:double>>", "nullable": True},
        "e": {"data_type": "json", "nullable": True},
        "f_g": {"data_type": "date", "nullable": True},
    }
    assert [(loss.path, loss.item) for loss in document.losses] == [("t.e", "type")]


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "ends too early", 1),
        ("a", "ends too early", 2),
        ("a INT b INT", "expected `,`, found `b`", 7),
        ("a STRUCT<b INT", "ends too early", 15),
        ("a DECIMAL(x)", "a number", 11),
        ("a INT NOT b", "`NULL`", 11),
        ("a INT COMMENT b", "a string in quotes", 15),
        ("a " + "ARRAY<" * 200, "nested deeper", None),
    ],
)
def test_what_is_no_ddl_is_refused_with_its_place(text: str, message: str, column: int | None):
    with pytest.raises(InputError) as caught:
        sparkddl.read(text, "t.ddl")
    assert message in str(caught.value)
    assert caught.value.at is not None
    assert column is None or caught.value.at.column == column


def test_a_struct_of_others():
    fields = [
        {"name": "a", "type": "varchar(5)", "nullable": False, "metadata": {"pii": True}},
        {"name": "b", "type": {"type": "udt", "class": "x"}, "nullable": True, "metadata": {}},
    ]
    document = spark_json.read(json.dumps({"type": "struct", "fields": fields}), "t.spark.json")
    columns = document.schema.tables["t"].columns
    assert dict(columns["a"].properties) == {"data_type": "text", "precision": 5, "nullable": False}
    assert {(loss.path, loss.item) for loss in document.losses} == {("t.a", "pii"), ("t.b", "type")}


def test_several_tables_are_refused():
    with pytest.raises(InputError, match="has 2"):
        spark_json.write(SCHEMA.with_table(Table("other")))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("7", "t.spark.json:1:30: `fields` must be a list"),
        ('[{"type": "long"}]', "t.spark.json:1:31: an item of `fields` has no `name`"),
        ('[{"name": "a", "type": {"type": "struct", "fields": 7}}]', "`fields` must be a list"),
        ('[{"name": "a", "type": {"type": "array"}}]', "the `array` has no `elementType`"),
    ],
)
def test_a_container_of_a_wrong_type_is_refused_with_its_place(fields: str, message: str):
    with pytest.raises(InputError) as caught:
        spark_json.read(f'{{"type": "struct", "fields": {fields}}}', "t.spark.json")
    assert message in str(caught.value)


def test_spark_puts_no_variable_of_the_environment_into_a_comment(spark: SparkSession):
    note = "${env:HOME} ${system:user.home} \\u0024{ $x"
    text = sparkddl.write(orders(id={"data_type": "bigint", "description": note}))

    (column,) = spark.sql(f"SELECT CAST(NULL AS STRUCT<{text}>)").schema

    assert column.dataType["id"].metadata["comment"] == note
    assert sparkddl.read(text, "orders.ddl").schema.tables["orders"].columns["id"].properties["description"] == note
