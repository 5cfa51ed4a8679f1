"""Suites of Great Expectations and schemas of Pandera; with ``uv sync --group quality`` the libraries take them too."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
from typing import Any

import pytest
from hypothesis import given
from test_round_trips import schemas

from schemactl.formats import greatexpectations, pandera
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

STATED: dict[str, dict[str, Any]] = {
    "id": {"data_type": "bigint", "nullable": False, "primary_key": True},
    "day": {"data_type": "date", "nullable": False, "primary_key": True},
    "small": {"data_type": "bigint", "precision": 8, "x-minimum": 0},
    "state": {
        "data_type": "text",
        "precision": 5,
        "x-enum": ["new", "paid"],
        "unique": True,
        "description": "Its state",
    },
    "code": {"data_type": "text", "x-pattern": "^[a-z]+$", "x-owner": "crm"},
    "price": {"data_type": "decimal", "precision": 10, "scale": 2},
    "share": {"data_type": "double", "x-maximum": 1},
    "point": {"data_type": "json", "x-spark-type": "struct<x:bigint>"},
    "points": {"data_type": "json", "x-spark-type": "array<struct<x:bigint>>"},
    "clock": {"data_type": "time"},
}  # fmt: skip


def shop(**columns: dict[str, Any]) -> Schema:
    made = {name: Column(name, {"nullable": True, **stated}) for name, stated in (columns or STATED).items()}
    properties = {"write_disposition": "append", "resource": "orders", "description": "All orders"}
    return new_schema("shop").with_table(Table("orders", made, properties))


def expectations(schema: Schema) -> list[tuple[str, Any]]:
    suite = json.loads(greatexpectations.write(schema))
    found = [(each["type"].removeprefix("expect_"), dict(each["kwargs"])) for each in suite["expectations"]]
    return [(name, kwargs.pop("column", None), kwargs) for name, kwargs in found if "type_list" not in kwargs]  # type: ignore[misc]


def test_a_suite_expects_what_columns_state():
    assert [each for each in expectations(shop()) if each[0] != "column_to_exist"] == [
        ("column_values_to_not_be_null", "id", {}),
        ("column_values_to_not_be_null", "day", {}),
        ("column_values_to_be_between", "small", {"min_value": 0, "max_value": 127}),
        ("column_values_to_be_unique", "state", {}),
        ("column_values_to_be_in_set", "state", {"value_set": ["new", "paid"]}),
        ("column_value_lengths_to_be_between", "state", {"max_value": 5}),
        ("column_values_to_match_regex", "code", {"regex": "^[a-z]+$"}),
        ("column_values_to_be_between", "share", {"max_value": 1}),
        ("compound_columns_to_be_unique", None, {"column_list": ["id", "day"]}),
    ]
    assert [(each.path, each.item) for each in greatexpectations.losses(shop())] == [("orders.code", "x-owner")]


def test_great_expectations_finds_the_rows_that_break_a_suite():
    gx = pytest.importorskip("great_expectations")
    pandas = pytest.importorskip("pandas")
    columns = {name: STATED[name] for name in ("id", "small", "state", "code", "share")}
    suite = gx.ExpectationSuite(**json.loads(greatexpectations.write(shop(**columns))))
    source = gx.get_context(mode="ephemeral").data_sources.add_pandas("here").add_dataframe_asset("orders")
    whole = source.add_batch_definition_whole_dataframe("all")

    def failed(rows: dict[str, list[Any]]) -> set[str]:
        batch = whole.get_batch(batch_parameters={"dataframe": pandas.DataFrame(rows)})
        return {each.expectation_config.type for each in batch.validate(suite).results if not each.success}

    good = {"id": [1, 2], "small": [1, None], "state": ["new", "paid"], "code": ["a", None], "share": [0.5, None]}
    assert failed(good) == set()
    bad = {"id": [1, 1], "small": [1, 200], "state": ["new", "old"], "code": ["1", "a"], "share": [2.5, 0.5]}
    assert failed(bad) == {
        "expect_column_values_to_be_unique", "expect_column_values_to_be_between",
        "expect_column_values_to_be_in_set", "expect_column_values_to_match_regex",
    }  # fmt: skip
    assert failed({**good, "id": ["x", "y"]}) == {"expect_column_values_to_be_in_type_list"}


def test_the_source_names_types_checks_and_hints():
    text = pandera.write(shop())
    assert "    name='orders',\n    description='All orders',\n    unique=['id', 'day'],\n" in text
    assert "'id': Column(T.LongType(), nullable=False),\n" in text
    assert "'price': Column(T.DecimalType(10, 2), nullable=True),\n" in text
    assert "checks=[Check.isin(['new', 'paid'])], description='Its state'" in text
    assert "'point': Column(None, " in text
    assert [(each.path, each.item) for each in pandera.losses(shop())] == [
        ("orders.point", "type"),
        ("orders.clock", "type"),
    ]


def test_tables_of_any_name_are_variables_of_their_own():
    names = sorted({
        *keyword.kwlist, *dir(builtins), "none", "true", "Check", "Column", "DataFrameSchema", "T",
        "1st", "a b", "a-b", "a_b", "ª", "a", "a²", "a2", "ﬁ", "fi", "½", "𐄇", "?",
    })  # fmt: skip
    schema = new_schema("shop", "direct")
    for name in names:
        schema = schema.with_table(Table(name, {name: Column(name, {"data_type": "text", "description": name})}))

    module = ast.parse(pandera.write(schema))
    compile(module, "written.py", "exec")

    assigned = [statement.targets[0].id for statement in module.body if isinstance(statement, ast.Assign)]
    assert len({*assigned, "Check", "Column", "DataFrameSchema", "T"}) == len(names) + 4


def test_pandera_has_the_same_columns_and_types():
    pytest.importorskip("pandera.pyspark")
    types = pytest.importorskip("pyspark.sql.types")
    made = _executed(pandera.write(shop()))["orders"]
    assert {name: str(each.dtype) for name, each in made.columns.items() if each.dtype is not None} == {
        "id": "LongType()", "day": "DateType()", "small": "ByteType()", "state": "StringType()", "code": "StringType()",
        "price": "DecimalType(10,2)", "share": "DoubleType()",
        "points": str(types.ArrayType(types.StructType([types.StructField("x", types.LongType())]))),
    }  # fmt: skip
    assert [check.name for check in made.columns["code"].checks] == ["str_matches"]
    assert made.unique == ["id", "day"]
    assert not made.columns["id"].nullable
    assert made.columns["code"].metadata == {"x-dlt": {"x-owner": "crm"}}


@given(schemas())
def test_every_source_is_python_that_pandera_takes(schema: Schema):
    text = pandera.write(schema)
    compile(text, "written_schemas.py", "exec")
    pytest.importorskip("pandera.pyspark")
    module = _executed(text)
    for table in data_tables(schema):
        assert list(module[table.name].columns) == list(table.columns)


def _executed(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(compile(text, "written_schemas.py", "exec"), module)
    return module
