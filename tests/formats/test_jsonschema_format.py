"""JSON Schema as a format of schemas, beside the library that validates by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import jsonschema as library
import pytest
from fixture_documents import documents, inferred
from pydantic import BaseModel
from pydantic import Field as PydanticField

from schemactl.errors import InputError
from schemactl.formats import jsonschema
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss
from schemactl.formats._tables import data_tables
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
    assert {(loss.path, loss.item) for loss in losses} == {
        ("orders", "additionalProperties"), ("orders.mail", "format"), ("orders.mixed", "oneOf"),
    }  # fmt: skip


def test_a_title_that_is_not_the_table_s_name_is_lost():
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    _, losses = table_of({**schema, "title": "Customer"})
    assert [(loss.path, loss.item, loss.before) for loss in losses] == [("orders", "title", "Customer")]
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


@pytest.mark.parametrize(("text", "message"), [
    ("[]", "is an object"),
    ('{"type": "string"}', "describes no object"),
    ('{"type": "object", "properties": {"A b": {}, "a_b": {}}}', "both become `a_b`"),
    ('{"x-dlt": {}, "$defs": {"t": {"properties": {"a": {"x-dlt": {"data_type": "int"}}}}}}', "invalid for a column"),
    ('{"x-dlt": {"settings": 1}, "$defs": {}}', "cannot express the whole file"),
    ('{"type": ', "ends within a value"),
    ('{"properties": 7}', "a.json:1:16: `properties` must be an object"),
    ('{"properties": {"a": {"properties": []}}}', "a.json:1:37: `properties` must be an object"),
    ('{"properties": {"a": 7}}', "a.json:1:22: `a` must be an object or true or false"),
    ('{"properties": {"a": {"type": 7}}}', "a.json:1:31: `type` must be a list or a string"),
    ('{"$defs": 7}', "a.json:1:11: `$defs` must be an object"),
    ('{"x-dlt": {}, "$defs": {"orders": true}}', "a.json:1:35: `orders` must be an object"),
    ('{"x-dlt": {}, "$defs": {"orders": {"type": "object"}}}', "a.json:1:35: `orders` has no `properties`"),
    ('{"x-dlt": {}}', "a.json:1:1: the document has no `$defs`"),
])  # fmt: skip
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
        ({"$ref": "other.json#/$defs/a"}, "$ref: other.json#/$defs/a"),
        ({"anyOf": [{"$ref": "other.json"}, {"type": "null"}]}, "$ref: other.json"),
    ],
)
def test_types_that_do_not_exist_are_reported(stated: object, lost: str):
    table, losses = table_of({"properties": {"a": stated}, "$defs": {"strng": {"type": "strng"}}})
    assert table.columns["a"].data_type == "json"
    assert [describe_loss(each) for each in losses] == [f"orders.a: type `{lost}` becomes type `data_type: json`"]


def test_a_list_whose_items_have_different_schemas_is_reported():
    _, losses = table_of({"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}})
    assert [(loss.path, loss.item) for loss in losses] == [("orders.a", "items")]


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


VARIANTS = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
LOSSY: dict[str, tuple[dict[str, Any], list[str]]] = {
    "variants": (VARIANTS, ["oneOf"]),
    "a default": ({"type": "string", "default": "x"}, ["default"]),
    "a format": ({"type": "string", "format": "email"}, ["format"]),
    "a format of another type": ({"type": "integer", "format": "date"}, ["format"]),
    "keys by pattern": ({"type": "object", "patternProperties": {"^x": {}}}, ["patternProperties"]),
    "conditions": ({"type": "string", "if": {"minLength": 2}, "then": {"pattern": "a"}}, ["if", "then"]),
    "a negation": ({"not": {"type": "string"}}, ["not"]),
    "a length that the type does not use": ({"type": "string", "format": "date", "maxLength": 3}, ["maxLength"]),
    "a closed object": ({"properties": {"a": {"type": "string"}}, "additionalProperties": False},
                        ["additionalProperties"]),
    "further keys": ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
                     ["additionalProperties"]),
    "a required key that is not described": ({"properties": {"a": {"type": "string"}}, "required": ["b"]},
                                             ["required"]),
    "a tuple": ({"type": "array", "prefixItems": [{"type": "string"}]}, ["prefixItems"]),
    "a mix of types": ({"type": ["string", "integer"]}, ["type"]),
    "an unknown word": ({"type": "string", "xml": {"name": "x"}}, ["xml"]),
    "nothing at all": ({"type": "string", "$comment": "c", "title": "T"}, []),
}  # fmt: skip
PLACES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "inline": lambda schema: schema,
    "by reference": lambda _: {"$ref": "#/$defs/lossy"},
    "by a chain": lambda _: {"$ref": "#/$defs/chain"},
    "by anchor": lambda _: {"$ref": "#lossy"},
    "in allOf": lambda schema: {"allOf": [schema]},
    "by reference in allOf": lambda _: {"allOf": [{"$ref": "#/$defs/lossy"}], "description": "d"},
    "beside a reference": lambda schema: {**schema, "$ref": "#/$defs/any"},
    "beside null": lambda _: {"anyOf": [{"$ref": "#/$defs/lossy"}, {"type": "null"}]},
    "in a list": lambda _: {"type": "array", "items": {"$ref": "#/$defs/lossy"}},
    "in a map": lambda _: {"type": "object", "additionalProperties": {"$ref": "#/$defs/lossy"}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("lossy", LOSSY)
def test_a_schema_loses_the_same_wherever_it_is_and_however_it_is_referred_to(lossy: str, place: str):
    schema, words = LOSSY[lossy]
    definitions = {"lossy": {"$anchor": "lossy", **schema}, "chain": {"$ref": "#/$defs/lossy"}, "any": True}
    _, losses = table_of({"properties": {"pet": PLACES[place](schema)}, "$defs": definitions})
    assert [(loss.path, loss.item) for loss in losses] == [("orders.pet", word) for word in words]


@pytest.mark.parametrize(("items", "words"), [
    ({"type": "string", "enum": ["a"], "description": "d"}, ["x-enum", "description"]),
    ({"type": "string", "maxLength": 5, "pattern": "^a", "minLength": 1}, ["precision", "x-pattern", "x-min-length"]),
    ({"type": "integer", "minimum": 1, "multipleOf": 2}, ["x-minimum", "x-multiple-of"]),
    ({"type": "array", "items": {"type": "number", "exclusiveMaximum": 1}}, ["x-exclusive-maximum"]),
    ({"type": ["string", "null"]}, []),
    ({"type": "object", "properties": {"a": {"type": "string", "maxLength": 5, "description": "d"}}}, []),
])  # fmt: skip
@pytest.mark.parametrize("place", ["in a list", "in a map"])
def test_what_no_hint_of_a_list_or_a_map_has_is_lost(place: str, items: dict[str, Any], words: list[str]):
    _, losses = table_of({"properties": {"pet": PLACES[place](items)}, "$defs": {"lossy": items}})
    assert sorted((loss.path, loss.item) for loss in losses) == [("orders.pet", word) for word in sorted(words)]


@pytest.mark.parametrize("place", ["by reference", "in allOf", "by reference in allOf", "beside a reference"])
def test_a_table_loses_the_same_however_it_is_referred_to(place: str):
    schema = {
        "properties": {"id": {"type": "integer"}}, "oneOf": [{"required": ["id"]}, {"minProperties": 2}],
        "required": ["id", "key"], "additionalProperties": False, "default": {},
    }  # fmt: skip
    definitions = {"lossy": schema, "any": True}
    _, losses = table_of({**PLACES[place](schema), "$defs": definitions})
    assert sorted((loss.path, loss.item) for loss in losses) == [
        ("orders", word) for word in ("additionalProperties", "default", "oneOf", "required")
    ]


@pytest.mark.parametrize(
    ("schema", "reference", "column"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/no"}}}, "#/$defs/no", 23),
        ({"properties": {"a": {"$ref": "#no"}}}, "#no", 23),
        ({"allOf": [{"$ref": "#/$defs/no"}], "properties": {"a": {}}}, "#/$defs/no", 13),
        ({"$ref": "#/$defs/no", "properties": {"a": {}}}, "#/$defs/no", 2),
        ({"$ref": "#/$defs/no"}, "#/$defs/no", 2),
        ({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/no"}, {"type": "null"}]}}}, "#/$defs/no", 34),
        ({"properties": {"a": {"oneOf": [{}, {"$ref": "#/$defs/no"}]}}}, "#/$defs/no", 38),
        ({"properties": {"a": {"prefixItems": [{"$ref": "#/$defs/no"}]}}}, "#/$defs/no", 40),
        ({"properties": {"a": {"items": {"$ref": "#/properties/a/no"}}}}, "#/properties/a/no", 33),
        ({"properties": {"a": {}}, "$defs": {"b": {"$ref": "#/$defs/c"}}}, "#/$defs/c", 43),
        ({"properties": {"a": {"$ref": "#/properties/a/type"}, "b": {}}}, "#/properties/a/type", 23),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error_with_its_place(schema: object, reference: str, column: int):
    with pytest.raises(InputError) as caught:
        table_of(schema)
    assert str(caught.value) == f"in/orders.schema.json:1:{column}: `$ref: {reference}` leads nowhere"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string"}}, "$ref": "other.json"},
        {"properties": {"a": {"type": "string"}}, "allOf": [{"$ref": "other.json"}]},
    ],
)
def test_a_reference_to_another_file_is_reported_beside_what_is_read(schema: object):
    table, losses = table_of(schema)
    assert list(table.columns) == ["a"]
    assert [describe_loss(each) for each in losses] == ["orders: `$ref: other.json`"]


def test_a_file_that_is_but_a_reference_to_another_one_is_refused():
    with pytest.raises(InputError, match=r":1:2: `\$ref: other.json` refers to another file"):
        table_of({"$ref": "other.json"})


def test_references_are_resolved_by_identity_anchor_and_pointer():
    table, losses = table_of(
        {
            "$id": "https://example.com/root.json",
            "properties": {
                "by_id": {"$ref": "item.json"},
                "by_anchor": {"$ref": "#flag"},
                "by_uri": {"$ref": "https://example.com/root.json#/$defs/number"},
                "within": {"$ref": "item.json#/properties/sku"},
                "in_list": {"$ref": "#/$defs/number/allOf/0"},
                "escaped": {"$ref": "#/$defs/a~1b%20c"},
                "old": {"$ref": "#old"},
            },
            "$defs": {
                "number": {"allOf": [{"type": "integer"}]},
                "flag": {"$anchor": "flag", "type": "boolean"},
                "a/b c": {"type": "number"},
                "old": {"$id": "#old", "type": "string", "format": "date"},
                "item": {
                    "$id": "item.json",
                    "properties": {"sku": {"type": "string"}, "other": {"$ref": "#/properties/sku"}},
                },
            },
        }
    )
    assert losses == ()
    types = {name: column.properties.get("x-spark-type", column.data_type) for name, column in table.columns.items()}
    assert types == {
        "by_id": "struct<sku:string,other:string>", "by_anchor": "bool", "by_uri": "bigint", "within": "text",
        "in_list": "bigint", "escaped": "double", "old": "date",
    }  # fmt: skip
    assert not any("x-id" in column.properties for column in table.columns.values())


def test_what_several_parts_say_of_a_column_is_combined_or_reported():
    parts = [
        {"type": ["number", "null"], "minimum": 1, "default": 2, "description": "first"},
        {"type": "integer", "minimum": 5, "maximum": 9, "multipleOf": 2},
        {"maximum": 7, "multipleOf": 3, "description": "second"},
    ]
    table, losses = table_of({"properties": {"a": {"allOf": parts}}})
    assert dict(table.columns["a"].properties) == {
        "data_type": "bigint", "x-minimum": 5, "x-maximum": 7, "x-multiple-of": 2, "description": "first",
    }  # fmt: skip
    assert sorted(map(describe_loss, losses)) == ["orders.a: `default: 2`", "orders.a: `multipleOf: 3`"]


def test_a_property_that_two_parts_describe_is_both():
    first = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    second = {"properties": {"a": {"maxLength": 7, "default": "x"}}, "required": ["a"]}
    table, losses = table_of({"allOf": [first, second]})
    assert {name: dict(column.properties) for name, column in table.columns.items()} == {
        "a": {"data_type": "text", "precision": 7, "nullable": False}, "b": {"data_type": "text", "nullable": False},
    }  # fmt: skip
    assert [describe_loss(each) for each in losses] == ["orders.a: `default: x`"]


@pytest.mark.parametrize("count", [100, 3000])
def test_definitions_that_lead_to_each_other_without_end_are_any_json(count: int):
    chain = {f"a{at}": {"$ref": f"#/$defs/a{at + 1}"} for at in range(count)}
    nested = {f"b{at}": {"properties": {"n": {"$ref": f"#/$defs/b{at + 1}"}}} for at in range(count)}
    definitions = {**chain, **nested, f"a{count}": {"type": "string"}, f"b{count}": {"type": "string"}}
    table, losses = table_of(
        {"properties": {"a": {"$ref": "#/$defs/a0"}, "b": {"$ref": "#/$defs/b0"}}, "$defs": definitions}
    )
    types = {"a": "json" if count > 150 else "text", "b": "json"}
    assert {name: column.data_type for name, column in table.columns.items()} == types
    assert [loss.path for loss in losses if loss.item == "nested fields"] == [
        f"orders.{name}" for name in types if types[name] == "json"
    ]


@pytest.mark.parametrize("place", ["by reference", "beside null", "in a list"])
def test_definitions_that_include_each_other_twice_are_refused(place: str):
    twice = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(40)}
    document = {"properties": {"a": PLACES[place]({})}, "$defs": {"lossy": twice["a0"], **twice, "a40": {}}}
    with pytest.raises(InputError, match="types that refer to each other do so more than"):
        table_of(document)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """An address."""

    street: str = PydanticField(max_length=20)
    zip: str | None = None


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Person(BaseModel):
    id: int
    name: str = "Ann"
    color: Color
    home: Address
    work: Address | None = PydanticField(None, description="Office")
    others: list[Address]
    by_name: dict[str, Address]
    pair: tuple[int, Address]
    pet: Cat | Dog = PydanticField(discriminator="kind")
    uid: UUID
    boss: Person | None = None


def test_a_model_of_pydantic_is_read_with_its_definitions():
    document = jsonschema.read(json.dumps(Person.model_json_schema()), "person.schema.json")
    columns = document.schema.tables["person"].columns
    address = "struct<street:string,zip:string>"
    assert {name: column.properties.get("x-spark-type", column.data_type) for name, column in columns.items()} == {
        "id": "bigint", "name": "text", "color": "text", "home": address, "work": address,
        "others": f"array<{address}>", "by_name": f"map<string,{address}>", "pair": "json", "pet": "json",
        "uid": "text", "boss": columns["boss"].properties["x-spark-type"],
    }  # fmt: skip
    assert columns["color"].properties["x-enum"] == ["red", "blue"]
    assert columns["work"].properties["description"] == "Office"
    assert [name for name, column in columns.items() if column.nullable] == ["name", "work", "boss"]
    lost = {(loss.path, loss.item) for loss in document.losses if not loss.path.startswith("person.boss.")}
    assert lost == {
        ("person.name", "default"), ("person.pair", "prefixItems"), ("person.pet", "oneOf"),
        ("person.pet", "discriminator"), ("person.uid", "format"), ("person.others", "description"),
        ("person.by_name", "description"),
    }  # fmt: skip


def test_components_of_openapi_are_tables():
    schemas = {
        "Pet": {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "integer", "format": "int64"},
                "tag": {"allOf": [{"$ref": "#/components/schemas/Tag"}], "nullable": True},
                "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            },
        },
        "Tag": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "example": "x"}}},
        "Puppy": {
            "allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"age": {"type": "integer"}}}],
            "discriminator": {"propertyName": "kind"},
        },
        "Unused": {"enum": ["a"]},
    }
    document = jsonschema.read(
        json.dumps({"openapi": "3.0.3", "info": {"title": "T"}, "paths": {}, "components": {"schemas": schemas}}),
        "api.json",
    )
    tables = {table.name: table for table in data_tables(document.schema)}
    assert {name: list(table.columns) for name, table in tables.items()} == {
        "pet": ["id", "tag", "weight"], "tag": ["name"], "puppy": ["id", "tag", "weight", "age"],
    }  # fmt: skip
    pet = tables["pet"].columns
    assert dict(pet["weight"].properties) == {"data_type": "double", "x-exclusive-minimum": 0}
    assert (pet["id"].nullable, pet["tag"].nullable) == (False, True)
    assert {(loss.path, loss.item) for loss in document.losses} == {
        ("", "definition"), ("", "info"), ("", "paths"), ("Puppy", "discriminator"),
        ("Pet.tag.name", "example"), ("Puppy.tag.name", "example"), ("Tag.name", "example"),
    }  # fmt: skip


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
