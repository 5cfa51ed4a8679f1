"""Protocol Buffers as a format of schemas, beside protoc."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixture_documents import inferred
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from hypothesis import HealthCheck, given, settings
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import protobuf
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss, losses_between
from schemactl.formats._tables import data_tables
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
        "state": {
            "data_type": "text", "nullable": False, "x-enum": ["STATE_UNKNOWN", "STATE_PAID"], "x-id": 3,
            "x-proto-type": "State", "x-proto-enum": {"STATE_UNKNOWN": 0, "STATE_PAID": 1},
        },
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
        "total_wei": {"data_type": "wei", "nullable": False, "x-id": 14, "x-proto-type": "uint64"},
    }  # fmt: skip
    assert order.properties["x-proto-reserved"] == ["4, 9 to 11"]
    assert document.schema.extensions["x-proto-package"] == "acme.shop.v1"
    assert {(loss.path, loss.item) for loss in document.losses} == {
        ("Order.placed_at", "(acme.rule).required"), ("Order.placed_at", "(acme.other)"),
        ("Order.card", "oneof"), ("Order.invoice", "oneof"), ("Order.parent", "type"), ("", "option"),
        ("State", "STATE_PAID.deprecated"), ("", "service"),
    }  # fmt: skip


def wire_of(file: FileDescriptorProto, message: DescriptorProto) -> dict[int, tuple[Any, ...]]:
    """What messages carry of each field, by number: label, type, and of messages the same of theirs."""
    types = {f".{file.package}.{name}": inner for name, inner in nested_of("", file.message_type)}

    def inner_wire(name: str) -> Any:
        return wire_of(file, types[name]) if name in types else name if name.startswith(".google") else None

    repeated = FieldDescriptorProto.LABEL_REPEATED
    return {field.number: (field.label == repeated, field.type, inner_wire(field.type_name)) for field in message.field}


def nested_of(scope: str, messages: Iterable[DescriptorProto]) -> Iterator[tuple[str, DescriptorProto]]:
    for message in messages:
        name = f"{scope}.{message.name}".lstrip(".")
        yield name, message
        yield from nested_of(name, message.nested_type)


WIRE = """
syntax = "proto3";
package acme.v1;
import "google/protobuf/wrappers.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
enum Color { option allow_alias = true; COLOR_NONE = 0; COLOR_RED = 5; COLOR_ROT = 5; COLOR_DARK = -1; }
message Order {
  reserved 2, 40 to 45, 90 to max;
  reserved "gone", "lost";
  sint32 a1 = 1; sint64 a3 = 3; fixed32 a4 = 4; fixed64 a5 = 5; sfixed32 a6 = 6; sfixed64 a7 = 7;
  uint32 a8 = 8; uint64 a9 = 9; int32 a10 = 10; int64 a11 = 11; float a12 = 12; double a13 = 13;
  bool a14 = 14; string a15 = 15; bytes a16 = 16; Color a17 = 17; optional Color a18 = 18; Level a19 = 19;
  google.protobuf.StringValue a20 = 20; google.protobuf.UInt64Value a21 = 21; google.protobuf.FloatValue a22 = 22;
  google.protobuf.Duration a23 = 23; google.protobuf.Struct a24 = 24; google.protobuf.ListValue a25 = 25;
  google.protobuf.Any a26 = 26; google.protobuf.Value a27 = 27;
  repeated sint64 a30 = 30; repeated Color a31 = 31; map<int32, fixed64> a32 = 32; map<string, Level> a33 = 33;
  map<uint64, Part> a34 = 34; repeated Part a35 = 35; Part a36 = 36; optional float a37 = 37;
  repeated google.protobuf.StringValue a38 = 38;
  oneof one { sfixed32 b1 = 50; Color b2 = 51; }
  enum Level { NONE = 0; HIGH = 9; a1 = 2; }
  message Part {
    reserved 3;
    uint32 size = 1;
    repeated Kind kinds = 7;
    enum Kind { NONE = 0; OTHER = 3; }
  }
}
"""


def test_messages_of_others_are_read_by_what_is_exported(tmp_path: Path):
    (source,) = compiled(WIRE.replace("a1 = 2; }", "LOW = 2; }"), tmp_path).file
    schema = protobuf.read(WIRE.replace("a1 = 2; }", "LOW = 2; }"), "order.proto").schema
    (written,) = compiled(protobuf.write(schema), tmp_path).file
    assert wire_of(written, written.message_type[0]) == wire_of(source, source.message_type[0])
    assert (written.package, len(written.message_type)) == ("acme.v1", 1)
    (order,) = written.message_type
    assert [(each.start, each.end) for each in order.reserved_range] == [(2, 3), (40, 46), (90, 2**29)]
    assert list(order.reserved_name) == ["gone", "lost"]
    enums = {f"{name}.{each.name}": each for name, message in nested_of("", [order]) for each in message.enum_type}
    values = {name: {value.name: value.number for value in each.value} for name, each in enums.items()}
    assert values == {
        "order.Color": {"COLOR_NONE": 0, "COLOR_RED": 5, "COLOR_ROT": 5, "COLOR_DARK": -1},
        "order.Level": {"NONE": 0, "HIGH": 9, "LOW": 2},
        **{f"order.A{number}.Kind": {"NONE": 0, "OTHER": 3} for number in (34, 35, 36)},
    }


def test_what_was_imported_comes_back_from_an_export():
    schema = protobuf.read(WIRE, "order.proto").schema
    document = protobuf.read(protobuf.write(schema), "order.proto")
    assert not losses_between(schema, document.schema)
    assert not document.losses


def test_an_enum_whose_values_are_names_of_its_message_gets_a_message_of_its_own(tmp_path: Path):
    enums = "enum A { X = 0; y = 1; } enum B { X1 = 0; X = 1; }"
    text = f'syntax = "proto3"; {enums} message M {{ A a = 1; B b = 2; int32 y = 3; }}'
    schema = protobuf.read(text, "m.proto").schema
    written = protobuf.write(schema)
    (file,) = compiled(written, tmp_path).file
    assert {field.number: field.type for field in file.message_type[0].field} == {1: 14, 2: 14, 3: 5}
    assert not losses_between(schema, protobuf.read(written, "m.proto").schema)


def test_a_new_value_of_an_enum_gets_the_next_number_and_a_removed_one_goes(tmp_path: Path):
    schema = protobuf.read("enum E { A = 0; B = 4; C = 2; } message M { E e = 1; }", "m.proto").schema
    column = schema.tables["m"].columns["e"]
    edited = Column("e", {**column.properties, "x-enum": ["A", "C", "D"]})
    (file,) = compiled(protobuf.write(schema.with_table(Table("m", {"e": edited}))), tmp_path).file
    (enum,) = file.message_type[0].enum_type
    assert {value.name: value.number for value in enum.value} == {"A": 0, "C": 2, "D": 5}


def test_an_enum_without_a_zero_gets_one(tmp_path: Path):
    text = 'syntax = "proto2"; enum E { A = 1; B = 0x10; C = 010; } message M { required E e = 1; }'
    (file,) = compiled(protobuf.write(protobuf.read(text, "m.proto").schema), tmp_path).file
    (enum,) = file.message_type[0].enum_type
    assert {value.name: value.number for value in enum.value} == {"E_UNSPECIFIED": 0, "A": 1, "B": 16, "C": 8}


def test_a_column_of_another_type_by_now_has_the_usual_type(tmp_path: Path):
    schema = protobuf.read("message M { sint32 a = 1; fixed64 b = 2; }", "m.proto").schema
    columns = {
        name: Column(name, {**column.properties, "data_type": "text", "precision": None})
        for name, column in schema.tables["m"].columns.items()
    }
    (file,) = compiled(protobuf.write(schema.with_table(Table("m", columns))), tmp_path).file
    assert {field.type for field in file.message_type[0].field} == {9}


def test_new_columns_get_no_reserved_number(tmp_path: Path):
    text = (
        "message M { reserved 2, 4 to 5; reserved old; string a = 1; N n = 3; } message N { reserved 1; string b = 2; }"
    )
    schema = protobuf.read(text, "m.proto").schema
    table = schema.tables["m"]
    nested = {"data_type": "json", "x-spark-type": "struct<b:string,c:string>", "x-fields": {"b": {"x-id": 2}}}
    added = {
        **table.columns,
        "n": Column("n", {**table.columns["n"].properties, **nested}),
        **{name: Column(name, {"data_type": "text"}) for name in ("c", "d", "old")},
    }
    (file,) = compiled(protobuf.write(schema.with_table(Table("m", added, table.properties))), tmp_path).file
    (message,) = file.message_type
    assert {field.name: field.number for field in message.field} == {"a": 1, "n": 3, "c": 6, "d": 7, "old": 8}
    assert {field.name: field.number for field in message.nested_type[0].field} == {"b": 2, "c": 3}
    assert list(message.reserved_name) == []


@pytest.mark.parametrize(("text", "tables"), [
    ("message A { B b = 1; } message B { int32 x = 1; }", ["a"]),
    ("message A { A a = 1; }", ["a"]),
    ("message A { B b = 1; } message B { A a = 1; }", ["a", "b"]),
    ("message C { int32 x = 1; } message A { B b = 1; } message B { A a = 1; D d = 2; } message D {}",
     ["a", "b", "c", "d"]),
    ("message C { A a = 1; } message A { B b = 1; } message B { A a = 1; }", ["c"]),
])  # fmt: skip
def test_messages_that_hold_each_other_are_tables_unless_a_table_holds_them(text: str, tables: list[str]):
    schema = protobuf.read(text, "m.proto").schema
    assert sorted(table.name for table in data_tables(schema)) == tables


def test_no_number_is_left_where_all_are_reserved():
    schema = protobuf.read("message M { reserved 2 to max; string a = 1; }", "m.proto").schema
    table = schema.tables["m"]
    with pytest.raises(InputError, match="the numbers that are not reserved are too few"):
        protobuf.write(schema.with_table(replace(table, columns={**table.columns, "b": Column("b", {})})))


def test_hints_that_mean_nothing_to_protobuf_are_left_out(tmp_path: Path):
    hints = {"x-proto-type": "int32; } message X {", "x-proto-key": ["a"], "x-proto-enum": {"A": "x"}}
    columns = {
        "a": Column("a", {"data_type": "text", **hints}),
        "b": Column("b", {"data_type": "json", "x-spark-type": "map<string,string>", **hints}),
        "c": Column("c", {"data_type": "text", "x-proto-type": 7, "x-proto-enum": {"A": 0}}),
        "d": Column("d", {"data_type": "text", "x-proto-type": "E", "x-proto-enum": {"A": 2**40}}),
    }
    table = Table("m", columns, {"x-proto-reserved": ["1; } message Y {", 7, "6 to 7"]})
    schema = replace(new_schema("shop").with_table(table), extensions={"x-proto-package": "a; message Z {"})
    (file,) = compiled(protobuf.write(schema), tmp_path).file
    assert [message.name for message in file.message_type] == ["m"]
    assert not losses_between(schema, protobuf.read(protobuf.write(schema), "m.proto").schema)


def test_what_no_column_says_is_reported():
    text = """
syntax = "proto2";
package a.b;
option java_package = "x";
import "other.proto";
message M {
  extensions 100 to 199;
  option deprecated = true;
  optional E e = 1 [default = B];
  optional M self = 2;
  optional Empty nothing = 3;
  message Unused { optional int32 x = 1; }
  enum UnusedToo { Z = 0; }
  extend Other { optional int32 y = 101; }
}
message Empty {}
enum E { A = 0; B = 1; reserved 5; }
enum Nobody { N = 0; }
extend M { optional int32 bar = 126; }
service S { rpc Get (M) returns (M); }
"""
    losses = protobuf.read(text, "m.proto").losses
    assert {(loss.path, loss.item, loss.before) for loss in losses if loss.item != "type"} == {
        ("", "option", 'java_package = "x"'), ("", "extend", "M"), ("", "service", "S"), ("", "enum", "Nobody"),
        ("M", "extensions", "100 to 199"), ("M", "option", "deprecated = true"), ("M", "extend", "Other"),
        ("M.e", "default", "B"), ("M", "message", "Unused"), ("M", "enum", "UnusedToo"), ("E", "reserved", "5"),
    }  # fmt: skip
    assert {(loss.path, loss.before["type"]) for loss in losses if loss.item == "type"} == {
        ("M.self", "M"), ("M.nothing", "Empty"),
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
        ("", "declares no message"),
        ("message A { string a = 1; ", "expected `}`, found the end of the file"),
        ("message A { string a = x; }", "expected the number of a field, found `x`"),
        ("message A { string a = 1 [x = ", "expected `]`, found the end of the file"),
        ("enum E { A = x; } message A { E a = 1; }", "expected the number of a value, found `x`"),
        ("hello world;", "found `hello`"),
        ("message A { string a = 1; string b = 1; }", "a.proto:1:38: `b` has the same number as `a`"),
        ("message A { int32 a = 1; oneof o { int32 b = 2; int32 c = 1; } }", "`c` has the same number as `a`"),
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
        "A.e: type `type: Empty` becomes type `data_type: json`",
    ]


def test_members_of_a_oneof_and_options_within_messages_are_lost() -> None:
    text = """
    syntax = "proto3";
    message Order { Buyer buyer = 1; repeated Line lines = 2; message Line { oneof of { string a = 1; Deep b = 2; } } }
    message Buyer { option deprecated = true; oneof contact { string mail = 1; string phone = 2; } Deep deep = 3; }
    message Deep { string c = 1 [(checked) = true, deprecated = true]; oneof d { int32 e = 2; } }
    """
    document = protobuf.read(text, "order.proto")
    assert sorted((loss.path, loss.item) for loss in document.losses) == [
        ("Buyer", "option"), ("Buyer.mail", "oneof"), ("Buyer.phone", "oneof"), ("Deep.c", "(checked)"),
        ("Deep.c", "deprecated"), ("Deep.e", "oneof"), ("Order.Line.a", "oneof"), ("Order.Line.b", "oneof"),
    ]  # fmt: skip


def test_a_group_of_proto2_is_a_message_whose_encoding_is_lost() -> None:
    text = """
    syntax = "proto2";
    message Order {
      repeated group Line = 1 { required string sku = 2; optional group Size = 3 { optional int32 cm = 4; } }
    }
    """
    document = protobuf.read(text, "order.proto")
    column = document.schema.tables["order"].columns["line"]
    assert column.properties["x-spark-type"] == "array<struct<sku:string,size:struct<cm:int>>>"
    assert [(loss.path, loss.item) for loss in document.losses] == [
        ("Order.line", "group"),
        ("Order.Line.size", "group"),
    ]
