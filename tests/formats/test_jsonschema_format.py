"""JSON Schema as a format of schemas, beside the library that validates by it."""

from __future__ import annotations

import json

import jsonschema as library
import pytest
from fixture_documents import documents, inferred

from schemactl.errors import InputError
from schemactl.formats import jsonschema
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

SKU = {"type": "string", "maxLength": 8, "description": "Code"}


def shop(**columns: dict[str, object]):
    return new_schema("shop").with_table(Table("orders", {name: Column(name, each) for name, each in columns.items()}))


def table_of(schema: object, name: str = "orders"):
    document = jsonschema.read(json.dumps(schema), f"in/{name}.schema.json")
    return document.schema.tables[name], document.losses


# Values that dlt coerces into a column of texts are of another type in the documents.
@pytest.mark.parametrize(
    ("name", "coerced"),
    [("orders.jsonl", {"amount", "gift"}), ("github_events.jsonl", set()), ("products.json", set())],
)
def test_documents_are_valid_under_the_folded_schema(name: str, coerced: set[str]):
    written = json.loads(jsonschema.write(fold(inferred(name))))
    validator = library.Draft202012Validator(written)
    validator.check_schema(written)
    assert {error.absolute_path[0] for each in documents(name) for error in validator.iter_errors(each)} == coerced


def test_documents_of_other_types_are_not_valid():
    written = json.loads(jsonschema.write(fold(inferred("orders.jsonl"))))
    first = documents("orders.jsonl")[0]
    validator = library.Draft202012Validator(written)
    assert not validator.is_valid({**first, "shipping": "by mail"})
    assert not validator.is_valid({**first, "items": [{"quantity": "many"}]})


def test_what_is_required_may_not_be_null():
    schema = shop(id={"data_type": "bigint", "nullable": False}, note={"data_type": "text"})
    validator = library.Draft202012Validator(json.loads(jsonschema.write(schema)))
    assert validator.is_valid({"id": 1, "note": None})
    assert not validator.is_valid({"id": None})
    assert not validator.is_valid({"note": "x"})


def test_a_schema_of_others_becomes_a_table():
    table, losses = table_of(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "description": "All orders",
            "required": ["orderId", "status"],
            "additionalProperties": False,
            "properties": {
                "orderId": {"type": "integer", "format": "int32", "$id": "order-id"},
                "status": {"enum": ["new", "paid"]},
                "paidAt": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
                "address": {"$ref": "#/$defs/address"},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": SKU}}},
                "mail": {"type": "string", "format": "email", "pattern": "@"},
                "mixed": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "$defs": {"address": {"properties": {"street": {"type": "string"}, "of": {"$ref": "#/$defs/address"}}}},
        }
    )  # fmt: skip
    stated = {name: dict(column.properties) for name, column in table.columns.items()}
    assert stated["order_id"] == {"data_type": "bigint", "nullable": False, "precision": 32, "x-id": "order-id"}
    assert stated["status"] == {"data_type": "text", "nullable": False, "x-enum": ["new", "paid"]}
    assert stated["paid_at"] == {"data_type": "timestamp", "nullable": True}
    assert stated["address"]["x-spark-type"] == "struct<street:string,of:string COMMENT 'json'>"
    assert stated["lines"]["x-spark-type"] == "array<struct<sku:string>>"
    assert stated["lines"]["x-fields"] == {"sku": {"description": "Code", "precision": 8}}
    assert (stated["mail"]["data_type"], stated["mail"]["x-pattern"]) == ("text", "@")
    assert stated["mixed"]["data_type"] == "json"
    assert table.properties["description"] == "All orders"
    assert {(loss.place, loss.what) for loss in losses} == {
        ("orders", "additionalProperties"), ("orders.mail", "format"), ("orders.mixed", "oneOf"),
    }  # fmt: skip


def test_a_title_that_is_not_the_table_s_name_is_lost():
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    _, losses = table_of({**schema, "title": "Customer"})
    assert [(loss.place, loss.what, loss.before) for loss in losses] == [("orders", "title", "Customer")]
    assert table_of({**schema, "title": "Orders"})[1] == ()


def test_all_of_is_one_object():
    table, _ = table_of(
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "boolean"}}},
            ]
        }
    )
    assert {name: (column.data_type, column.nullable) for name, column in table.columns.items()} == {
        "a": ("text", False), "b": ("bool", True),
    }  # fmt: skip


def test_an_edited_type_wins_over_its_hints():
    written = json.loads(
        jsonschema.write(shop(price={"data_type": "decimal", "precision": 10, "scale": 2, "x-owner": "crm"}))
    )
    written["$defs"]["orders"]["properties"]["price"]["type"] = ["string", "null"]
    del written["$defs"]["orders"]["properties"]["price"]["format"]
    table, _ = table_of(written)
    assert dict(table.columns["price"].properties) == {"data_type": "text", "x-owner": "crm"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is an object"),
        ('{"type": "string"}', "describes no object"),
        ('{"type": "object", "properties": {"A b": {}, "a_b": {}}}', "become one name `a_b`"),
        ('{"x-dlt": {}, "$defs": {"t": {"properties": {"a": {"x-dlt": {"data_type": "int"}}}}}}', "no column can have"),
        ('{"x-dlt": {"settings": 1}, "$defs": {}}', "what no schema can"),
        ('{"type": ', "ends within a value"),
        ('{"properties": 7}', "a.json:1:16: `properties` must be an object"),
        ('{"properties": {"a": {"properties": []}}}', "a.json:1:37: `properties` must be an object"),
        ('{"properties": {"a": 7}}', "a.json:1:22: `a` must be an object or true or false"),
        ('{"properties": {"a": {"type": 7}}}', "a.json:1:31: `type` must be a list or a text"),
        ('{"$defs": 7}', "a.json:1:11: `$defs` must be an object"),
        ('{"x-dlt": {}, "$defs": {"orders": true}}', "a.json:1:35: `orders` must be an object"),
        ('{"x-dlt": {}, "$defs": {"orders": {"type": "object"}}}', "a.json:1:35: `orders` has no `properties`"),
        ('{"x-dlt": {}}', "a.json:1:1: the document has no `$defs`"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, message: str):
    with pytest.raises(InputError) as caught:
        jsonschema.read(text, "a.json")
    assert message in str(caught.value)


def test_texts_are_reported_from_other_formats():
    assert jsonschema.recognises(jsonschema.write(shop(id={"data_type": "bigint"})))
    assert jsonschema.recognises('{"type": "object", "properties": {}}')
    assert not jsonschema.recognises('{"type": "struct", "fields": []}')


@pytest.mark.parametrize(
    ("stated", "lost"),
    [
        ({"type": "strng"}, "type: strng"),
        ({"type": "array", "items": {"type": "strng"}}, "type: strng"),
        ({"$ref": "#/$defs/strng"}, "type: strng"),
        ({"$ref": "#/$defs/nothing"}, "$ref: #/$defs/nothing"),
        ({"$ref": "#nothing"}, "$ref: #nothing"),
        ({"$ref": "other.json#/$defs/a"}, "$ref: other.json#/$defs/a"),
        ({"anyOf": [{"$ref": "#/$defs/nothing"}, {"type": "null"}]}, "$ref: #/$defs/nothing"),
    ],
)
def test_types_that_do_not_exist_are_reported(stated: object, lost: str):
    table, losses = table_of({"properties": {"a": stated}, "$defs": {"strng": {"type": "strng"}}})
    assert table.columns["a"].data_type == "json"
    assert [describe_loss(each) for each in losses] == [f"orders.a: type `{lost}` becomes type `data_type: json`"]


def test_a_list_whose_items_have_different_schemas_is_reported():
    _, losses = table_of({"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}})
    assert [(loss.place, loss.what) for loss in losses] == [("orders.a", "items")]


def test_definitions_that_all_refer_to_each_other_end_as_json():
    names = [f"n{number}" for number in range(12)]
    of = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    document = {"properties": {"id": {"type": "integer"}, "all": of}, "$defs": dict.fromkeys(names, of)}
    read = jsonschema.read(json.dumps(document), "t.json")
    assert dict(read.schema.tables["t"].columns["all"].properties) == {"data_type": "json"}
    assert [describe_loss(each) for each in read.losses] == ["t.all: `nested fields: more than 10,000`"]


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_what_holds_itself_among_alternatives_ends_as_json(word: str):
    table, losses = table_of({"properties": {"id": {"type": "integer"}, "next": {word: [{"$ref": "#"}]}}})
    assert table.columns["next"].properties["x-spark-type"] == "struct<id:bigint,next:string COMMENT 'json'>"
    assert losses == ()


def test_numbers_that_no_schema_holds_are_reported_with_their_place():
    large = 10**22
    inner = {"type": "object", "properties": {"m": {"type": "integer", "minimum": -large, "maximum": 9}}}
    properties = {
        "n": {"type": "integer", "maximum": large},
        "e": {"enum": [1, large]},
        "s": {"type": "string", "maxLength": large},
        "o": inner,
    }
    document = jsonschema.read(json.dumps({"type": "object", "properties": properties}), "t.schema.json")
    assert [describe_loss(each) for each in document.losses] == [
        f"t.n: `maximum: {large}`",
        f"t.e: `enum: [1, {large}]`",
        f"t.s: `maxLength: {large}`",
        f"t.o.m: `minimum: {-large}`",
    ]
    assert document.schema.tables["t"].columns["n"].properties == {"data_type": "bigint"}
