"""Avro schemas as a format of schemas, beside fastavro."""

from __future__ import annotations

import io
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from fixture_documents import documents, inferred
from hypothesis import given
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import avro
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table


def table_of(schema: object, name: str):
    document = avro.read(json.dumps(schema), "a.avsc")
    return document.schema.tables[name], document.losses


@given(schemas())
def test_every_schema_is_one_to_fastavro(schema: Schema):
    fastavro.parse_schema(json.loads(avro.write(schema)))
    fastavro.parse_schema(json.loads(avro.write(fold(schema))))


def test_names_that_avro_does_not_permit_come_back():
    columns = {name: Column(name, {"data_type": "text"}) for name in ("Größe", "a b", "1st")}
    schema = new_schema("shop", "direct").with_table(Table("Aufträge", columns, {"resource": "Aufträge"}))
    text = avro.write(schema)
    fastavro.parse_schema(json.loads(text))
    assert list(avro.read(text, "a.avsc").schema.tables["Aufträge"].columns) == list(columns)


def value(of: Any, stated: Any) -> Any:
    """Return a value of a document as fastavro takes it, texts as dlt coerces them."""
    if isinstance(of, list):
        return None if stated is None else value(of[-1], stated)
    kind = of.get("logicalType") or of["type"] if isinstance(of, dict) else of
    match kind:
        case "record":
            return {each["name"]: value(each["type"], stated.get(each["name"])) for each in of["fields"]}
        case "array":
            return [value(of["items"], each) for each in stated]
        case "timestamp-micros":
            return datetime.fromisoformat(stated)
        case "date":
            return date.fromisoformat(stated)
        case "decimal":
            return Decimal(str(stated))
        case "json":
            return json.dumps(stated)
        case "string":
            return str(stated)
    return stated


@pytest.mark.parametrize("name", ["orders.jsonl", "github_events.jsonl", "products.json"])
def test_documents_are_written_and_read_by_the_folded_schema(name: str):
    stated = json.loads(avro.write(fold(inferred(name))))
    parsed = fastavro.parse_schema(stated)
    records = [value(stated, each) for each in documents(name)]
    stream = io.BytesIO()
    fastavro.writer(stream, parsed, records)
    stream.seek(0)
    read = list(fastavro.reader(stream))
    assert len(read) == len(records)
    assert read[0].keys() == records[0].keys()


def test_a_schema_of_others_becomes_a_table():
    address = {
        "type": "record",
        "name": "Address",
        "fields": [{"name": "street", "type": "string", "doc": "With number"}],
    }
    table, losses = table_of(
        {
            "type": "record",
            "name": "shop.Orders",
            "doc": "All orders",
            "fields": [
                {"name": "id", "type": "long", "field-id": 7},
                {
                    "name": "state",
                    "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]},
                    "default": "NEW",
                },
                {"name": "bill", "type": address},
                {"name": "ship", "type": ["null", "Address"]},
                {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 16}},
                {"name": "mixed", "type": ["string", "long"]},
                {"name": "rates", "type": {"type": "map", "values": "double"}, "aliases": ["r"]},
            ],
        },
        "orders",
    )
    stated = {name: dict(column.properties) for name, column in table.columns.items()}
    assert stated["id"] == {"data_type": "bigint", "nullable": False, "x-id": 7}
    assert stated["state"] == {"data_type": "text", "nullable": False, "x-enum": ["NEW", "PAID"]}
    assert stated["ship"]["x-spark-type"] == stated["bill"]["x-spark-type"] == "struct<street:string>"
    assert stated["bill"]["x-fields"] == {"street": {"nullable": False, "description": "With number"}}
    assert (stated["code"]["data_type"], stated["code"]["precision"]) == ("binary", 16)
    assert stated["mixed"]["data_type"] == "json"
    assert stated["rates"]["x-spark-type"] == "map<string,double>"
    assert {(loss.path, loss.item) for loss in losses} == {
        ("Orders.state", "default"), ("Orders.mixed", "union"), ("Orders.rates", "aliases"),
    }  # fmt: skip


def test_a_record_that_holds_itself_ends_as_json():
    node = {"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}
    table, _ = table_of(node, "node")
    assert table.columns["next"].data_type == "json"


@pytest.mark.parametrize("text", ['"string"', "{}", '{"type": "record"}', "[1]"])
def test_what_describes_no_record_is_refused(text: str):
    with pytest.raises(InputError, match="describes no record"):
        avro.read(text, "a.avsc")


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ('"doc": ""', "a.avsc:1:1: the `record` has no `fields`"),
        ('"fields": 7', "a.avsc:1:43: `fields` must be a list"),
        ('"fields": {"id": "long"}', "a.avsc:1:43: `fields` must be a list"),
        ('"fields": [7]', "a.avsc:1:44: an item of `fields` must be an object"),
        ('"fields": [{"type": "long"}]', "a.avsc:1:44: an item of `fields` has no `name`"),
        ('"fields": [{"name": "a", "type": 7}]', "a.avsc:1:66: `type` must be an object or a list or a string"),
        ('"fields": [{"name": "a", "type": {"type": "array", "items": 7}}]', "`items` must be an object or a list"),
        ('"fields": [{"name": "a", "type": {"type": "record", "fields": 7}}]', "`fields` must be a list"),
    ],
)
def test_a_container_of_a_wrong_type_is_refused_with_its_place(inner: str, message: str):
    with pytest.raises(InputError) as caught:
        avro.read(f'{{"type": "record", "name": "c", {inner}}}', "a.avsc")
    assert message in str(caught.value)


@pytest.mark.parametrize("of", ["strng", ["null", "strng"], {"type": "array", "items": "strng"}])
def test_types_that_do_not_exist_are_reported(of: object):
    table, losses = table_of({"type": "record", "name": "c", "fields": [{"name": "x", "type": of}]}, "c")
    assert table.columns["x"].data_type == "json"
    assert [describe_loss(each) for each in losses] == ["c.x: type `type: strng` becomes type `data_type: json`"]


def test_a_type_beside_the_records_that_does_not_exist_is_reported():
    document = avro.read('["strng", {"type": "record", "name": "c", "fields": []}]', "a.avsc")
    assert [describe_loss(each) for each in document.losses] == ["type `type: strng`"]


def test_a_type_is_found_by_its_short_name_in_its_namespace():
    address = {"type": "record", "name": "shop.Address", "fields": [{"name": "street", "type": "string"}]}
    fields = [{"name": "a", "type": address}, {"name": "b", "type": "Address"}]
    table, losses = table_of({"type": "record", "name": "shop.Order", "fields": fields}, "order")
    assert table.columns["b"].properties["x-spark-type"] == "struct<street:string>"
    assert losses == ()


def test_symbols_and_sizes_of_items_are_lost():
    color = {"type": "enum", "name": "Color", "symbols": ["red"]}
    code = {"type": "fixed", "name": "Code", "size": 4}
    fields = [
        {"name": "a", "type": {"type": "array", "items": color}},
        {"name": "b", "type": {"type": "map", "values": code}},
    ]
    document = avro.read(json.dumps({"type": "record", "name": "T", "fields": fields}), "t.avsc")
    assert [describe_loss(loss) for loss in document.losses] == ['T.a: `x-enum: ["red"]`', "T.b: `precision: 4`"]
