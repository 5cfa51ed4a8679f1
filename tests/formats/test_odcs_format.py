"""Data contracts as a format of schemas, beside the standard's own JSON Schema and library."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
import yaml
from fixture_documents import inferred
from hypothesis import given, settings
from open_data_contract_standard.model import OpenDataContractStandard
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import odcs
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss, losses_between
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Schema

STANDARD = json.loads((files("open_data_contract_standard") / "schema.json").read_text())
VALIDATOR = jsonschema.validators.validator_for(STANDARD)(STANDARD)

CONTRACT = """
apiVersion: v3.0.2
kind: DataContract
id: 53581432
version: 1.0.0
status: active
description: {purpose: What we sell}
schema:
  - name: orders
    physicalName: tbl_1
    description: All orders
    quality: [{type: text, description: complete}]
    properties:
      - name: id
        id: order-id
        logicalType: integer
        physicalType: int
        required: true
        primaryKey: true
        primaryKeyPosition: 1
      - name: state
        logicalType: string
        logicalTypeOptions: {maxLength: 8}
        classification: public
        tags: [a, b]
        partitioned: true
      - name: lines
        logicalType: array
        items:
          logicalType: object
          properties:
            - {name: sku, logicalType: string, required: true, description: Code}
      - name: at
        logicalType: date
        examples: ["2024-01-01"]
"""


@settings(max_examples=8)
@given(schemas())
def test_every_schema_is_a_valid_contract(schema: Schema):
    for each in (schema, fold(schema)):
        text = odcs.write(each)
        assert [error.message for error in VALIDATOR.iter_errors(yaml.load(text, Loader=yaml.CSafeLoader))] == []
        OpenDataContractStandard.from_string(text)


@pytest.mark.parametrize("name", ["orders.jsonl", "github_events.jsonl"])
def test_documents_are_described_with_all_that_is_nested(name: str):
    contract = OpenDataContractStandard.from_string(odcs.write(fold(inferred(name))))
    assert contract.schema_ is not None
    (table,) = contract.schema_
    types = {each.name: each.logicalType for each in table.properties or ()}
    assert types["shipping" if name == "orders.jsonl" else "actor"] == "object"
    assert "array" in types.values() or name == "github_events.jsonl"


def test_a_contract_of_others_becomes_a_schema():
    document = odcs.read(CONTRACT, "c.yaml")
    assert document.schema.description == "What we sell"
    columns = document.schema.tables["tbl_1"].columns
    assert {name: dict(column.properties) for name, column in columns.items()} == {
        "id": {"data_type": "bigint", "precision": 32, "nullable": False, "primary_key": True, "x-id": "order-id"},
        "state": {
            "data_type": "text", "precision": 8, "nullable": True, "x-classification": "public", "x-tags": ["a", "b"],
            "partition": True,
        },
        "lines": {
            "data_type": "json", "nullable": True, "x-spark-type": "array<struct<sku:string>>",
            "x-fields": {"sku": {"nullable": False, "description": "Code"}},
        },
        "at": {"data_type": "date", "nullable": True},
    }  # fmt: skip
    assert {(loss.path, loss.item) for loss in document.losses} >= {("tbl_1", "quality"), ("tbl_1.at", "examples")}


PHYSICAL = """
apiVersion: v3.1.0
kind: DataContract
schema:
- name: Orders
  physicalName: sales.tbl_orders_1
  businessName: Orders of the shop
  tags: [sales]
  dataGranularityDescription: one row an order
  customProperties: [{property: owner, value: me}]
  properties:
  - {name: orderId, physicalName: ORDER_ID, logicalType: integer, primaryKey: true}
  - {name: state, logicalType: string}
  - name: place
    physicalName: addr
    logicalType: object
    properties: [{name: street, physicalName: str_1, logicalType: string}, {name: city, logicalType: string}]
  - name: lines
    logicalType: array
    items: {logicalType: object, properties: [{name: code, physicalName: sku, logicalType: string}]}
  - {name: tags, logicalType: array, physicalType: "ARRAY<INT64>"}
  - {name: names, logicalType: array, physicalType: "varchar(20)[]"}
"""


def test_tables_and_fields_have_their_physical_names():
    document = odcs.read(PHYSICAL, "c.yaml")
    (table,) = data_tables(document.schema)
    assert table.name == "tbl_orders_1"
    assert {key: table.properties[key] for key in ("x-logical-name", "x-business-name", "x-tags")} == {
        "x-logical-name": "Orders", "x-business-name": "Orders of the shop", "x-tags": ["sales"],
    }  # fmt: skip
    assert {name: column.properties.get("x-logical-name") for name, column in table.columns.items()} == {
        "order_id": "orderId", "state": None, "addr": "place", "lines": None, "tags": None, "names": None,
    }  # fmt: skip
    assert table.columns["addr"].properties["x-spark-type"] == "struct<str_1:string,city:string>"
    assert table.columns["lines"].properties["x-spark-type"] == "array<struct<sku:string>>"
    assert table.columns["tags"].properties["x-spark-type"] == "array<bigint>"
    assert [describe_loss(loss) for loss in document.losses] == [
        "tbl_orders_1: dataGranularityDescription",
        "tbl_orders_1: `physicalName: sales.tbl_orders_1` becomes `physicalName: tbl_orders_1`",
        "tbl_orders_1: `customProperties: owner`",
        "tbl_orders_1.names: type `type: VARCHAR(20)[]` becomes type `data_type: json`",
    ]


def test_physical_names_are_written_and_come_back():
    schema = odcs.read(PHYSICAL, "c.yaml").schema
    written = odcs.write(schema)
    contract = yaml.safe_load(written)
    assert [error.message for error in VALIDATOR.iter_errors(contract)] == []
    (table,) = contract["schema"]
    assert (table["name"], table["physicalName"], table["businessName"]) == (
        "Orders", "tbl_orders_1", "Orders of the shop",
    )  # fmt: skip
    key, state, place, *_ = table["properties"]
    assert (key["name"], key["physicalName"]) == ("orderId", "order_id")
    assert (state["name"], "physicalName" in state) == ("state", False)
    assert place["properties"][0]["physicalName"] == "str_1"
    document = odcs.read(written, "c.yaml")
    assert not losses_between(schema, document.schema)
    assert not document.losses


def test_options_of_types_are_hints_and_only_the_others_are_reported():
    document = odcs.read(
        """
        {"apiVersion": "v3.0.2", "kind": "DataContract", "schema": [{"name": "t", "properties": [
          {"name": "a", "logicalType": "string",
           "logicalTypeOptions": {"maxLength": 5, "minLength": 1, "pattern": "^a", "format": "uuid"}},
          {"name": "b", "logicalType": "integer",
           "logicalTypeOptions": {"minimum": 0, "exclusiveMaximum": 9, "multipleOf": 3}},
          {"name": "c", "logicalType": "array", "items": {"logicalType": "string"},
           "logicalTypeOptions": {"minItems": 1, "maxItems": 2, "uniqueItems": true}},
          {"name": "d", "logicalType": "string", "physicalType": "text", "logicalTypeOptions": {"maxLength": 5}},
          {"name": "e", "logicalType": "string", "physicalType": "varchar(9)", "logicalTypeOptions": {"maxLength": 5}},
          {"name": "f", "logicalType": "date", "logicalTypeOptions": {"minimum": "2020-01-01"}}
        ]}]}""",
        "c.json",
    )
    columns = document.schema.tables["t"].columns
    assert {name: {**column.properties, "nullable": None} for name, column in columns.items()} == {
        "a": {"data_type": "text", "precision": 5, "x-min-length": 1, "x-pattern": "^a", "nullable": None},
        "b": {
            "data_type": "bigint", "x-minimum": 0, "x-exclusive-maximum": 9, "x-multiple-of": 3, "nullable": None
        },
        "c": {
            "data_type": "json", "x-spark-type": "array<string>", "x-min-items": 1, "x-max-items": 2,
            "x-unique-items": True, "nullable": None,
        },
        "d": {"data_type": "text", "precision": 5, "nullable": None},
        "e": {"data_type": "text", "precision": 9, "nullable": None},
        "f": {"data_type": "date", "nullable": None},
    }  # fmt: skip
    assert [describe_loss(each) for each in document.losses] == [
        "t.a: `logicalTypeOptions.format: uuid`",
        "t.e: `logicalTypeOptions.maxLength: 5`",
        "t.f: `logicalTypeOptions.minimum: 2020-01-01`",
    ]


def test_other_versions_are_refused():
    with pytest.raises(InputError, match="not an ODCS 3 data contract"):
        odcs.read(CONTRACT.replace("v3.0.2", "v2.2.2"), "c.yaml")


def test_contracts_are_reported_from_other_files():
    assert odcs.recognises(CONTRACT)
    assert not odcs.recognises("kind: Deployment")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("", "c.yaml:1:1: the document has no `schema`"),
        ("schema: 7", "c.yaml:2:9: `schema` must be a list"),
        ("schema: nope", "c.yaml:2:9: `schema` must be a list"),
        ("schema:", "c.yaml:2:8: `schema` must be a list"),
        ("schema: {orders: {}}", "c.yaml:2:9: `schema` must be a list"),
        ("schema: [7]", "c.yaml:2:10: an item of `schema` must be an object"),
        ("schema:\n- properties: []", "c.yaml:3:3: an item of `schema` has no `name`"),
        ("schema:\n- name: no", "c.yaml:3:9: `name` must be a string"),
        ("schema:\n- name: orders\n  properties: 7", "c.yaml:4:15: `properties` must be a list"),
        ("schema:\n- name: orders\n  properties: {id: {}}", "c.yaml:4:15: `properties` must be a list"),
        ("schema:\n- name: orders\n  properties:\n  - {name: id, items: 7}", "c.yaml:5:23: `items` must be an object"),
        ("schema: []\ncustomProperties: 7", "c.yaml:3:19: `customProperties` must be a list"),
    ],
)
def test_a_container_of_a_wrong_type_is_refused_with_its_place(schema: str, message: str):
    with pytest.raises(InputError) as caught:
        odcs.read(f"apiVersion: v3.0.2\n{schema}\n", "c.yaml")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("stated", "loss"),
    [
        ("logicalType: strng", "type `type: strng` becomes type `data_type: text`"),
        ("logicalType: array, items: {logicalType: strng}", "type `type: strng` becomes type `data_type: text`"),
        ("physicalType: strng", "type `type: strng` becomes type `data_type: text`"),
        ("logicalType: strng, physicalType: int", "`logicalType: strng`"),
    ],
)
def test_types_that_do_not_exist_are_reported(stated: str, loss: str):
    text = f"apiVersion: v3.0.2\nschema: [{{name: orders, properties: [{{name: a, {stated}}}]}}]"
    assert [describe_loss(each) for each in odcs.read(text, "c.yaml").losses] == [f"orders.a: {loss}"]


def test_a_type_that_is_not_stated_is_reported():
    large = 10**22
    contract = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "schema": [
            {
                "name": "t",
                "properties": [
                    {"name": "a"},
                    {"name": "s", "logicalType": "string", "logicalTypeOptions": {"maxLength": large}},
                    {"name": "o", "properties": [{"name": "b"}]},
                ],
            }
        ],
    }
    document = odcs.read(json.dumps(contract), "t.odcs.json")
    assert [describe_loss(each) for each in document.losses] == [
        "t.a: type `type: unspecified` becomes type `data_type: text`",
        f"t.s: `logicalTypeOptions.maxLength: {large}`",
        "t.o.b: type `type: unspecified` becomes type `data_type: text`",
    ]


def test_limits_of_items_are_lost():
    items = {"logicalType": "string", "logicalTypeOptions": {"maxLength": 5, "pattern": "x"}, "classification": "pii"}
    tags = {"name": "tags", "logicalType": "array", "items": items}
    contract = {
        "kind": "DataContract", "apiVersion": "v3.0.2", "id": "x", "version": "1",
        "schema": [{"name": "t", "properties": [tags]}],
    }  # fmt: skip
    document = odcs.read(json.dumps(contract), "t.odcs.json")
    assert sorted((loss.path, loss.item, loss.before) for loss in document.losses) == [
        ("t.tags", "precision", 5), ("t.tags", "x-classification", "pii"), ("t.tags", "x-pattern", "x"),
    ]  # fmt: skip
