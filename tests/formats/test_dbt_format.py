"""dbt's schema.yml as a format of schemas."""

from __future__ import annotations

import pytest
import yaml

from schemactl.errors import InputError
from schemactl.formats import dbt
from schemactl.formats._fields import Field
from schemactl.formats._sql_types import read_sql_type, write_sql_type
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

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
    assert {(loss.place, loss.what) for loss in document.losses} == {
        ("orders.state", "test"), ("orders.customer_id", "type"), ("countries.code", "quote"),
    }  # fmt: skip


def test_files_of_dlt_are_reported_from_dbt_s():
    assert dbt.recognises(MODELS)
    assert not dbt.recognises("name: shop\nengine_version: 11\ntables:\n  orders: {}\n")
    with pytest.raises(InputError, match="not a dbt properties file"):
        dbt.read("tables: {}", "schema.yml")


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: nope", "s.yml:1:9: `models` must be a list"),
        ("version: 2\nsources: 5", "s.yml:2:10: `sources` must be a list"),
        ("sources:\n- name: shop\n  tables: {orders: {}}", "s.yml:3:11: `tables` must be a list"),
        ("models:\n- columns: []", "s.yml:2:3: an item of `models` has no `name`"),
        ("models:\n- name: a\n  columns: 7", "s.yml:3:12: `columns` must be a list"),
        ("models:\n- name: a\n  columns: {id: {data_type: bigint}}", "s.yml:3:12: `columns` must be a list"),
        ("models:\n- name: a\n  columns: [{name: yes}]", "s.yml:3:20: `name` must be a text"),
        ("models:\n- name: a\n  columns: [{name: b, tests: 7}]", "s.yml:3:30: `tests` must be a list"),
        ("models:\n- name: a\n  columns: [{name: b, constraints: [{type: []}]}]", "s.yml:3:44: `type` must be a text"),
    ],
)
def test_a_container_of_a_wrong_type_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(InputError) as caught:
        dbt.read(text, "s.yml")
    assert str(caught.value) == message
