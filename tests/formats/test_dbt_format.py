"""dbt's schema.yml as a format of schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from features import FEATURES

from schemactl.errors import InputError
from schemactl.formats import dbt, find_losses
from schemactl.formats._losses import losses_between
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

REFERENCE = {"columns": ["customer_id"], "referenced_table": "customers", "referenced_columns": ["id"]}

MODELS = """
version: 2
models:
  - name: orders
    description: All orders
    config:
      contract: {enforced: true}
    columns:
      - name: id
        data_type: int
        constraints: [{type: primary_key}]
      - name: state
        data_type: character varying(20)
        description: "Where it is"
        tests:
          - not_null
          - unique
          - accepted_values: {arguments: {values: [new, paid]}}
          - dbt_utils.not_empty_string
      - name: customer_id
        data_type: geography
        data_tests:
          - relationships: {to: "ref('customers')", field: id}
seeds:
  - name: countries
    columns:
      - {name: code, quote: true}
"""


def test_tests_say_what_holds_of_columns():
    columns = {
        "id": {"data_type": "bigint", "nullable": False, "unique": True},
        "customer_id": {"data_type": "text", "x-enum": ["a", "b"], "precision": 20},
        "lines": {"data_type": "json", "x-spark-type": "array<struct<sku:string>>"},
    }
    table = Table("orders", {name: Column(name, each) for name, each in columns.items()}, {"references": [REFERENCE]})
    (source,) = yaml.safe_load(dbt.write(new_schema("shop").with_table(table)))["sources"]
    assert source["name"] == "shop"
    first, second, third = source["tables"][0]["columns"]
    assert (first["data_type"], first["data_tests"]) == ("bigint", ["not_null", "unique"])
    assert second["data_type"] == "varchar(20)"
    assert second["data_tests"] == [
        {"accepted_values": {"values": ["a", "b"]}},
        {"relationships": {"to": "source('shop', 'customers')", "field": "id"}},
    ]
    assert third["data_type"] == "array<struct<sku:string>>"


def test_models_with_contracts_become_tables():
    document = dbt.read(MODELS, "schema.yml")
    orders = document.schema.tables["orders"]
    assert {name: dict(column.properties) for name, column in orders.columns.items()} == {
        "id": {"data_type": "bigint", "precision": 32, "nullable": False, "primary_key": True},
        "state": {
            "data_type": "text", "precision": 20, "nullable": False, "unique": True, "x-enum": ["new", "paid"],
            "description": "Where it is",
        },
        "customer_id": {"data_type": "text", "nullable": True},
    }  # fmt: skip
    assert orders.properties["references"] == [REFERENCE]
    assert orders.properties["schema_contract"] == {"columns": "freeze", "data_type": "freeze"}
    assert orders.properties["description"] == "All orders"
    assert "countries" in document.schema.tables
    assert {(loss.path, loss.item) for loss in document.losses} == {
        ("orders.state", "test"), ("orders.customer_id", "type"), ("countries.code", "quote"),
    }  # fmt: skip


def test_files_of_dlt_are_reported_from_dbt_s():
    assert dbt.recognises(MODELS)
    assert not dbt.recognises("name: shop\nengine_version: 11\ntables:\n  orders: {}\n")
    with pytest.raises(InputError, match="not a dbt properties file"):
        dbt.read("tables: {}", "schema.yml")


def columns_of(text: str, dialect: str | None = None) -> dict[str, dict[str, Any]]:
    (table,) = data_tables(dbt.in_dialect(dialect).read(text, "s.yml").schema)
    return {name: dict(column.properties) for name, column in table.columns.items()}


def test_a_dialect_decides_what_types_are():
    text = "models: [{name: t, columns: [{name: i, data_type: INTEGER}, {name: at, data_type: TIMESTAMP}]}]"
    assert columns_of(text) == {
        "i": {"data_type": "bigint", "precision": 32, "nullable": True},
        "at": {"data_type": "timestamp", "nullable": True},
    }
    assert columns_of(text, "postgresql")["at"] == {"data_type": "timestamp", "timezone": False, "nullable": True}
    assert columns_of(text, "snowflake")["i"] == {
        "data_type": "decimal", "precision": 38, "scale": 0, "nullable": True,
    }  # fmt: skip


def test_a_part_of_a_type_that_is_not_read_is_reported():
    text = """
models:
- name: t
  columns:
  - {name: a, data_type: "character varying(20)[]"}
  - {name: b, data_type: "MAP(INTEGER, VARCHAR)"}
  - {name: c, data_type: "varchar(10) not null"}
  - {name: d, data_type: geography}
"""
    assert {name: each.get("x-spark-type", each["data_type"]) for name, each in columns_of(text).items()} == {
        "a": "array<string>", "b": "json", "c": "text", "d": "text",
    }  # fmt: skip
    assert {(loss.path, loss.item) for loss in dbt.read(text, "s.yml").losses} == {
        ("t.a", "type"), ("t.b", "type"), ("t.c", "constraint"), ("t.d", "type"),
    }  # fmt: skip


@pytest.mark.parametrize("dialect", [None, "postgres", "snowflake", "bigquery", "databricks", "clickhouse", "mysql"])
@pytest.mark.parametrize("feature", FEATURES)
def test_a_schema_comes_back_in_each_dialect(dialect: str | None, feature: str):
    schema, file = FEATURES[feature], dbt.in_dialect(dialect)
    document = file.read(file.write(schema), "s.yml")
    assert losses_between(schema, document.schema) == losses_between(schema, dbt.read(dbt.write(schema), "s").schema)
    assert not document.losses


def test_types_are_written_in_the_words_of_a_dialect():
    table = Table("orders", {"a": Column("a", {"data_type": "text"}), "b": Column("b", {"data_type": "json"})}, {})
    (source,) = yaml.safe_load(dbt.in_dialect("snowflake").write(new_schema("s").with_table(table)))["sources"]
    assert [column["data_type"] for column in source["tables"][0]["columns"]] == ["VARCHAR", "VARIANT"]


VERSIONS = """
models:
- name: customers
  latest_version: 2
  description: All customers
  config: {contract: {enforced: true}}
  columns:
  - {name: id, data_type: int}
  - {name: country, data_type: text}
  - {name: name, data_type: text}
  versions:
  - v: 1
    config: {alias: old_customers}
  - v: 2
    description: Without countries
    columns:
    - {include: all, exclude: [country, planet]}
    - {name: name, data_type: varchar(80)}
    - {name: city, data_type: text}
  - v: 10
    columns: [{include: [id]}, {name: next, data_type: date}]
- name: orders
  columns:
  - name: customer_id
    data_type: int
    data_tests: [{relationships: {to: ref('customers'), field: id}}]
  - name: old_customer_id
    data_type: int
    data_tests: [{relationships: {arguments: {to: "ref('customers', v=1)", field: id}}}]
"""


def test_the_latest_version_of_a_model_is_its_table():
    document = dbt.read(VERSIONS, "s.yml")
    assert [table.name for table in data_tables(document.schema)] == ["customers", "orders"]
    customers = document.schema.tables["customers"]
    assert list(customers.columns) == ["id", "name", "city"]
    assert customers.columns["name"].properties["precision"] == 80
    assert customers.properties["description"] == "Without countries"
    assert customers.properties["schema_contract"] == {"columns": "freeze", "data_type": "freeze"}
    (reference,) = document.schema.tables["orders"].properties["references"]
    assert (reference["columns"], reference["referenced_table"]) == (["customer_id"], "customers")
    assert {(loss.path, loss.item, str(loss.before)) for loss in document.losses} == {
        ("customers", "version", "1"), ("customers", "version", "10"), ("customers.v2", "exclude", "planet"),
        ("orders", "references", "{'to': \"ref('customers', v=1)\", 'field': 'id'}"),
    }  # fmt: skip


def test_all_versions_of_a_model_are_tables_where_that_is_wanted():
    document = dbt.in_versions("all").read(VERSIONS, "s.yml")
    tables = {table.name: list(table.columns) for table in data_tables(document.schema)}
    assert tables == {
        "old_customers": ["id", "country", "name"],
        "customers_v2": ["id", "name", "city"],
        "customers_v10": ["id", "next"],
        "orders": ["customer_id", "old_customer_id"],
    }
    references = document.schema.tables["orders"].properties["references"]
    assert [each["referenced_table"] for each in references] == ["customers_v2", "old_customers"]
    assert [loss.item for loss in document.losses] == ["exclude"]


@pytest.mark.parametrize(
    ("versions", "columns"),
    [
        ("[{v: 2}, {v: 10, columns: [{include: '*', exclude: [a]}]}, {v: 9}]", ["b"]),
        ("[{v: '2', columns: [{include: [a]}]}, {v: 1.0}]", ["a"]),
        ("[{v: old}, {v: new}, {v: newer, columns: []}]", ["a", "b"]),
        ("[{v: 1, columns: [{include: b}, {name: c, data_type: int}]}]", ["b", "c"]),
    ],
)
def test_without_a_latest_version_the_greatest_one_is_it(versions: str, columns: list[str]):
    text = f"models: [{{name: t, columns: [{{name: a}}, {{name: b}}], versions: {versions}}}]"
    assert list(columns_of(text)) == columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: [{name: t, latest_version: 3, versions: [{v: 1}, {v: 2}]}]", "s.yml: `t` has no version 3"),
        ("models: [{name: t, versions: [{columns: []}]}]", "an item of `versions` has no `v`"),
        ("models: [{name: t, versions: {v: 1}}]", "`versions` must be a list"),
    ],
)
def test_versions_that_mean_nothing_are_refused(text: str, message: str):
    with pytest.raises(InputError) as caught:
        dbt.read(text, "s.yml")
    assert message in str(caught.value)


def test_constraints_of_tables_and_columns_are_keys():
    text = """
models:
- name: lines
  constraints:
  - {type: primary_key, columns: [order_id, number]}
  - {type: unique, columns: [code]}
  - {type: not_null, columns: [amount]}
  - {type: foreign_key, columns: [order_id], to: ref('orders'), to_columns: [id]}
  - {type: foreign_key, columns: [order_id, number], expression: "shop.heads (id, number)"}
  - {type: unique, columns: [amount, code]}
  - {type: check, expression: "amount > 0"}
  columns:
  - {name: order_id, data_type: int}
  - {name: number, data_type: int}
  - {name: code, data_type: text, constraints: [{type: foreign_key, expression: codes (code)}, {type: check}]}
  - {name: amount, data_type: int}
"""
    document = dbt.read(text, "s.yml")
    lines = document.schema.tables["lines"]
    assert [name for name, column in lines.columns.items() if column.properties.get("primary_key")] == [
        "order_id", "number",
    ]  # fmt: skip
    assert lines.columns["code"].properties["unique"] is True
    assert lines.columns["amount"].nullable is False
    assert [tuple(reference.values()) for reference in lines.properties["references"]] == [
        (["order_id"], "orders", ["id"]),
        (["order_id", "number"], "heads", ["id", "number"]),
        (["code"], "codes", ["code"]),
    ]
    assert [(loss.path, loss.item) for loss in document.losses] == [
        ("lines", "constraint"), ("lines", "constraint"), ("lines.code", "constraint"),
    ]  # fmt: skip


def test_a_primary_key_of_one_column_is_tested_to_be_unique_and_comes_back_as_it_was():
    key = {"data_type": "bigint", "nullable": False, "primary_key": True}
    one = Table("one", {"id": Column("id", key), "n": Column("n", {"data_type": "text"})}, {})
    two = Table("two", {"a": Column("a", key), "b": Column("b", {**key, "unique": True})}, {})
    schema = new_schema("shop").with_table(one).with_table(two)
    (source,) = yaml.safe_load(dbt.write(schema))["sources"]
    tests = {
        f"{table['name']}.{column['name']}": column.get("data_tests")
        for table in source["tables"]
        for column in table["columns"]
    }
    assert tests == {
        "one.id": ["not_null", "unique"], "one.n": None, "two.a": ["not_null"], "two.b": ["not_null", "unique"],
    }  # fmt: skip
    assert not losses_between(schema, dbt.read(dbt.write(schema), "s.yml").schema)


def test_tables_have_the_names_of_the_database():
    text = """
sources:
- name: shop
  description: The shop
  tables:
  - name: orders
    identifier: tbl_orders_1
    columns: [{name: id}, {name: next_id, tests: [{relationships: {to: "source('shop', 'orders')", field: id}}]}]
models:
- {name: days, config: {alias: dim_days}}
"""
    schema = dbt.read(text, "s.yml").schema
    assert [table.name for table in data_tables(schema)] == ["dim_days", "tbl_orders_1"]
    assert schema.description == "The shop"
    orders = schema.tables["tbl_orders_1"]
    assert orders.properties["references"][0]["referenced_table"] == "tbl_orders_1"
    assert orders.properties["x-logical-name"] == "orders"
    written = dbt.write(schema)
    (source,) = yaml.safe_load(written)["sources"]
    assert [(table["name"], table["identifier"]) for table in source["tables"]] == [
        ("days", "dim_days"), ("orders", "tbl_orders_1"),
    ]  # fmt: skip
    assert source["tables"][1]["columns"][1]["data_tests"][0]["relationships"]["to"] == "source('imported', 'orders')"
    assert not losses_between(schema, dbt.read(written, "s.yml").schema)


def test_what_tables_say_besides_is_read_or_reported():
    text = """
models:
- name: t
  docs: {show: false}
  access: public
  freshness: {warn_after: {count: 1, period: day}}
  deprecation_date: 2027-01-01
  meta: {owner: me}
  config: {materialized: incremental, partition_by: {field: day}, unique_key: id}
  columns: [{name: id, config: {tags: [pii]}}]
exposures: [{name: board}]
"""
    assert {(loss.path, loss.item) for loss in dbt.read(text, "s.yml").losses} == {
        ("t", "deprecation_date"), ("t", "partition_by"), ("t", "unique_key"), ("t", "meta"), ("t.id", "tags"),
    }  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [
    ("models: nope", "s.yml:1:9: `models` must be a list"),
    ("version: 2\nsources: 5", "s.yml:2:10: `sources` must be a list"),
    ("sources:\n- name: shop\n  tables: {orders: {}}", "s.yml:3:11: `tables` must be a list"),
    ("models:\n- columns: []", "s.yml:2:3: an item of `models` has no `name`"),
    ("models:\n- name: a\n  columns: 7", "s.yml:3:12: `columns` must be a list"),
    ("models:\n- name: a\n  columns: {id: {data_type: bigint}}", "s.yml:3:12: `columns` must be a list"),
    ("models:\n- name: a\n  columns: [{name: yes}]", "s.yml:3:20: `name` must be a string"),
    ("models:\n- name: a\n  columns: [{name: b, tests: 7}]", "s.yml:3:30: `tests` must be a list"),
    ("models:\n- name: a\n  columns: [{name: b, constraints: [{type: []}]}]", "s.yml:3:44: `type` must be a string"),
])  # fmt: skip
def test_a_container_of_a_wrong_type_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(InputError) as caught:
        dbt.read(text, "s.yml")
    assert str(caught.value) == message


TEMPLATES = (
    "{{ env_var('SECRET') }}", "{% raw %}{{ x }}{% endraw %}", "{# gone #}", "{{{ 1 }}}", "{%- set x = 1 -%}",
    "50% {x} }}", "{{ '{' }}{ 1 }}", '{{ "x" }}', "a\\n{{ 1 }}", "env_var('SECRET')", ' source("a", "b") ',
    'doc(\n"x")', 'é {{ "é" }} 😀',
)  # fmt: skip


def with_texts(text: str) -> Schema:
    """Return a schema that states a text wherever one can be stated."""
    hints = {"x-note": {"list": [text]}, "x-owner": text}
    column = Column("a", {"data_type": "text", "description": text, "x-enum": [text, "b"], "x-e": [text], **hints})
    reference = {"columns": ["a"], "referenced_table": "other", "referenced_columns": ["id"]}
    table = Table("t", {"a": column}, {"description": text, "references": [reference], **hints})
    other = Table("other", {"id": Column("id", {"data_type": "text"})})
    schema = replace(new_schema("s"), description=text, extensions=hints)
    return schema.with_table(table).with_table(other)


def texts_of(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts_of(inner)
        case list():
            for inner in value:
                yield from texts_of(inner)


@pytest.mark.parametrize("text", TEMPLATES)
def test_texts_stay_texts_where_dbt_renders_jinja(text: str):
    jinja = pytest.importorskip("jinja2")
    environment = jinja.Environment(undefined=jinja.StrictUndefined)
    (source,) = yaml.safe_load(dbt.write(with_texts(text)))["sources"]

    rendered = {
        environment.from_string(each).render() for each in texts_of(source) if not each.startswith("source('s'")
    }

    assert text in rendered
    assert rendered - {text, "b", "s", "t", "a", "other", "id", "not_null"} <= {
        "text",
        "dlt.common.normalizers.json.relational",
    }
    # dbt evaluates arguments of tests that look like calls without braces.
    tests = (each for each in _tests_of(source) if "accepted_values" in each)
    arguments = [value for each in tests for value in each["accepted_values"]["values"]]
    assert bool(arguments) == (not set("'\\") & set(text))
    assert not any(re.fullmatch(r"\s*(env_var|ref|var|source|doc)\s*\(.+\)\s*", each, re.DOTALL) for each in arguments)


def _tests_of(source: dict[str, Any]) -> list[Any]:
    return [each for table in source["tables"] for column in table["columns"] for each in column.get("data_tests", ())]


@pytest.mark.parametrize("text", TEMPLATES)
def test_texts_with_jinja_come_back(text: str):
    schema = with_texts(text)
    written = dbt.write(schema)

    assert dbt.read(written, "s.yml").schema.tables == schema.tables
    assert find_losses(dbt, schema, written, "s.yml") == ()


def test_names_of_tables_end_no_call_of_dbt():
    name = "o'), env_var('SECRET') {{ 1 }}"
    reference = {"columns": ["a"], "referenced_table": name, "referenced_columns": ["env_var('SECRET')"]}
    table = Table("t", {"a": Column("a", {"data_type": "text"})}, {"references": [reference]})
    schema = new_schema("s", "direct").with_table(table).with_table(Table(name, {}))

    ((relationship,),) = ([*each.values()] for each in _tests_of(yaml.safe_load(dbt.write(schema))["sources"][0]))

    jinja = pytest.importorskip("jinja2")
    assert (
        jinja.Environment().from_string(f"{{{{ {relationship['to']} }}}}").render(source=lambda *names: names[-1])
        == name
    )
    assert jinja.Environment().from_string(relationship["field"]).render() == "env_var('SECRET')"


@pytest.mark.parametrize("value", ["it's", "a\\", "'); drop table x; --"])
def test_values_that_would_end_a_text_of_sql_are_hints_for_dbt(value: str):
    column = Column("a", {"data_type": "text", "x-enum": [value, "b"]})
    schema = new_schema("s").with_table(Table("t", {"a": column}))
    written = dbt.write(schema)

    assert _tests_of(yaml.safe_load(written)["sources"][0]) == []
    assert dbt.read(written, "s.yml").schema.tables["t"].columns["a"].properties["x-enum"] == [value, "b"]
