"""Protocol Buffers as a format of schemas, beside protoc."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import pytest
from fixture_documents import inferred
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import HealthCheck, given, settings
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import protobuf
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

INCLUDES = str(importlib.resources.files("grpc_tools") / "_proto")

FOREIGN = """
/* License of
 * somebody
 */
syntax = "proto3";
package acme.shop.v1;
import "google/protobuf/timestamp.proto";
option go_package = "acme/shop;shop";

// An order,
// as it was placed.
message Order {
  reserved 4, 9 to 11;
  string id = 1;
  optional int32 count = 2 [deprecated = true];  // how many
  State state = 3;
  repeated Line lines = 5;
  map<string, double> rates = 6;
  google.protobuf.Timestamp placed_at = 7 [(acme.rule).required = true, (acme.other) = { a: "x]" }];
  oneof payment {
    string card = 8;
    acme.shop.v1.Order.Address invoice = 12;
  }
  Order parent = 13;
  uint64 total_wei = 14;
  message Address { string street = 1; }
}

message Line { string sku = 1; bytes image = 2; }
enum State { option allow_alias = true; STATE_UNKNOWN = 0; STATE_PAID = 1 [deprecated = true]; }
service Orders { rpc Get (Order) returns (Order) { option idempotency_level = NO_SIDE_EFFECTS; } }
"""


def compiled(text: str, folder: Path) -> FileDescriptorSet:
    from grpc_tools import protoc  # takes a tenth of a second, in each process that collects this file

    (folder / "shop.proto").write_text(text)
    out = folder / "shop.binpb"
    assert protoc.main(["protoc", f"-I{folder}", f"-I{INCLUDES}", f"--descriptor_set_out={out}", "shop.proto"]) == 0, (
        text
    )
    found = FileDescriptorSet()
    found.ParseFromString(out.read_bytes())
    return found


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=schemas())
def test_every_schema_compiles(schema: Schema, tmp_path: Path):
    compiled(protobuf.write(schema), tmp_path)
    compiled(protobuf.write(fold(schema)), tmp_path)


@pytest.mark.parametrize("name", ["orders.jsonl", "github_events.jsonl", "products.json"])
def test_documents_are_messages(name: str, tmp_path: Path):
    (file,) = compiled(protobuf.write(fold(inferred(name))), tmp_path).file
    assert [each.name for each in file.message_type] == [name.partition(".")[0]]
    assert file.message_type[0].nested_type


def test_odd_names_keep_their_name_in_json(tmp_path: Path):
    names = ["google", "Größe", "a b", "a_b", "a__b", "aB", "_a_b", "1st", "a1", "a_1", "string"]
    types = {name: {"data_type": "timestamp" if name == "a b" else "text"} for name in names}
    nested = {"data_type": "json", "x-spark-type": "struct<`Nested`:struct<`x y`:int>,nested:struct<z:int>>"}
    columns = {name: Column(name, each) for name, each in {**types, "Nested": nested}.items()}
    schema = new_schema("shop", "direct").with_table(Table("Aufträge", columns, {"resource": "Aufträge"}))
    text = protobuf.write(schema)
    compiled(text, tmp_path)
    read = protobuf.read(text, "shop.proto").schema.tables["Aufträge"]
    assert {name: dict(each.properties) for name, each in read.columns.items()} == {**types, "Nested": nested}


def test_numbers_are_those_of_ids(tmp_path: Path):
    columns = {"a": 3, "b": None, "c": 1, "d": 19500, "e": 3}
    made = {
        name: Column(name, {"data_type": "text", **({"x-id": id_} if id_ else {})}) for name, id_ in columns.items()
    }
    (file,) = compiled(protobuf.write(new_schema("shop").with_table(Table("orders", made))), tmp_path).file
    assert {field.name: field.number for field in file.message_type[0].field} == {
        "a": 3,
        "b": 2,
        "c": 1,
        "d": 4,
        "e": 5,
    }


def test_a_file_of_others_becomes_tables():
    document = protobuf.read(FOREIGN, "order.proto")
    assert [name for name in document.schema.tables if not name.startswith("_dlt")] == ["order"]
    order = document.schema.tables["order"]
    assert order.properties["description"] == "An order,\nas it was placed."
    assert {name: dict(column.properties) for name, column in order.columns.items()} == {
        "id": {"data_type": "text", "nullable": False, "x-id": 1},
        "count": {
            "data_type": "bigint", "precision": 32, "nullable": True, "description": "how many", "x-id": 2,
            "x-deprecated": True,
        },
        "state": {"data_type": "text", "nullable": False, "x-enum": ["STATE_UNKNOWN", "STATE_PAID"], "x-id": 3},
        "lines": {
            "data_type": "json", "nullable": True, "x-spark-type": "array<struct<sku:string,image:binary>>", "x-id": 5,
            "x-fields": {"sku": {"nullable": False, "x-id": 1}, "image": {"nullable": False, "x-id": 2}},
        },
        "rates": {"data_type": "json", "nullable": True, "x-spark-type": "map<string,double>", "x-id": 6},
        "placed_at": {"data_type": "timestamp", "nullable": True, "x-id": 7},
        "card": {"data_type": "text", "nullable": True, "x-id": 8},
        "invoice": {
            "data_type": "json", "nullable": True, "x-spark-type": "struct<street:string>", "x-id": 12,
            "x-fields": {"street": {"nullable": False, "x-id": 1}},
        },
        "parent": {"data_type": "json", "nullable": True, "x-id": 13},
        "total_wei": {"data_type": "wei", "nullable": False, "x-id": 14},
    }  # fmt: skip
    assert {(loss.place, loss.what) for loss in document.losses} == {
        ("Order", "reserved"), ("Order.placed_at", "(acme.rule).required"), ("Order.placed_at", "(acme.other)"),
        ("Order.card", "oneof"), ("Order.invoice", "oneof"),
    }  # fmt: skip


def test_numbers_of_others_survive_a_column_that_goes(tmp_path: Path):
    schema = protobuf.read(FOREIGN, "order.proto").schema
    table = schema.tables["order"]
    left = {name: column for name, column in table.columns.items() if name != "count"}
    (file,) = compiled(protobuf.write(schema.with_table(Table("order", left, table.properties))), tmp_path).file
    assert [field.number for field in file.message_type[0].field] == [1, 3, 5, 6, 7, 8, 12, 13, 14]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no message"),
        ("message A { string a = 1; ", "the file ends where `}`"),
        ("message A { string a = x; }", "`x` stands where the number of a field"),
        ("message A { string a = 1 [x = ", "the file ends where `]`"),
        ("hello world;", "`hello` stands where"),
        ("message A { string a = 1; string b = 1; }", "a.proto:1:38: `b` has the number of `a`"),
        ("message A { int32 a = 1; oneof o { int32 b = 2; int32 c = 1; } }", "`c` has the number of `a`"),
        ("message A { ~ }", "this is not understood"),
        ("message A {" * 200, "nested deeper"),
        ("// x-dlt-schema: {\nmessage A { string a = 1; }", "is not JSON"),
    ],
)
def test_what_is_no_proto_file_is_refused(text: str, message: str):
    with pytest.raises(InputError) as caught:
        protobuf.read(text, "a.proto")
    assert message in str(caught.value)


def test_types_that_the_file_does_not_define_are_reported():
    inner = "message Inner { Foreign z = 1; message Own { int32 a = 1; } Own own = 2; }"
    fields = "strng x = 1; repeated .acme.Other y = 2; Inner inner = 3; google.protobuf.Any any = 4; Empty e = 5;"
    document = protobuf.read(f"{inner} message Empty {{}} message A {{ {fields} }}", "a.proto")
    assert [describe_loss(each) for each in document.losses] == [
        "A.x: type `type: strng` becomes type `data_type: json`",
        "A.y: type `type: acme.Other` becomes type `data_type: json`",
        "A.inner.z: type `type: Foreign` becomes type `data_type: json`",
    ]
