"""Two versions of a file in another format: what changed inside its records and messages, and who that breaks."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from schemactl.formats import FORMATS
from schemactl.review.comparison import Side
from schemactl.review.review import ReviewSettings, compare, review
from schemactl.review.severity import Severity


def avro(*fields: dict[str, Any]) -> str:
    inner = {"type": "record", "name": "Buyer", "fields": list(fields)}
    columns = [{"name": "id", "type": "long"}, {"name": "buyer", "type": inner}]
    return json.dumps({"type": "record", "name": "Order", "fields": columns})


def json_schema(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> str:
    buyer = {"type": "object", "properties": properties, "required": list(required)}
    return json.dumps({"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}, "buyer": buyer}})


def proto(*lines: str) -> str:
    inner = "\n".join(lines)
    order = "message Order { int64 id = 1; repeated Buyer buyer = 2; }"
    return f'syntax = "proto3";\nmessage Buyer {{\n{inner}\n}}\n{order}'


def odcs(*properties: dict[str, Any]) -> str:
    buyer = {"name": "buyer", "logicalType": "object", "properties": list(properties)}
    table = {"name": "Order", "properties": [{"name": "id", "logicalType": "integer"}, buyer]}
    return json.dumps({"kind": "DataContract", "apiVersion": "v3.0.2", "id": "x", "version": "1", "schema": [table]})


def iceberg(*fields: dict[str, Any], list_of: bool = False) -> str:
    struct: dict[str, Any] = {"type": "struct", "fields": [{"required": False, **field} for field in fields]}
    if list_of:
        struct = {"type": "list", "element-id": 90, "element-required": False, "element": struct}
    columns = [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "buyer", "required": False, "type": struct},
    ]
    return json.dumps({"type": "struct", "schema-id": 0, "fields": columns})


def field(name: str, of: Any = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": of, **more}


def judged(name: str, path: str, before: str, after: str) -> dict[str, Severity]:
    """Return the rules of the findings with the worst severity of each."""
    sides = [Side(FORMATS[name].read(text, path).schema) for text in (before, after)]
    findings = review(compare(*sides, date(2026, 1, 1)), ReviewSettings())
    return {
        rule: max((finding.severity for finding in findings if finding.rule == rule), key=lambda each: each.rank)
        for rule in sorted({finding.rule for finding in findings})
    }


INFO, WARN, ERROR = Severity.INFO, Severity.WARN, Severity.ERROR
TEXT = {"type": "string"}

CASES = {
    "avro: another field": (
        ("avro", "order.avsc"), avro(field("field1")), avro(field("field2")), {"C215": ERROR, "C219": ERROR},
    ),
    "avro: a field less": (
        ("avro", "order.avsc"), avro(field("a"), field("b")), avro(field("a")), {"C215": ERROR},
    ),
    "avro: an optional field more": (
        ("avro", "order.avsc"), avro(field("a")), avro(field("a"), field("b", ["null", "long"])), {"C214": INFO},
    ),
    "avro: another type": (
        ("avro", "order.avsc"), avro(field("a", "long")), avro(field("a", "string")), {"D313": ERROR},
    ),
    "avro: null allowed": (
        ("avro", "order.avsc"), avro(field("a")), avro(field("a", ["null", "string"])), {"N405": ERROR},
    ),
    "avro: null forbidden": (
        ("avro", "order.avsc"), avro(field("a", ["null", "string"])), avro(field("a")), {"N404": ERROR},
    ),
    "avro: another order": (
        ("avro", "order.avsc"), avro(field("a"), field("b")), avro(field("b"), field("a")), {"C218": INFO},
    ),
    "avro: another name": (
        ("avro", "order.avsc"), avro(field("recieved_at")), avro(field("received_at")), {"C216": ERROR},
    ),
    "avro: a list in place of a value": (
        ("avro", "order.avsc"), avro(field("a")), avro(field("a", {"type": "array", "items": "string"})),
        {"D313": ERROR},
    ),
    "json schema: a property less": (
        ("jsonschema", "order.schema.json"), json_schema(a=TEXT, b=TEXT), json_schema(a=TEXT), {"C215": ERROR},
    ),
    "json schema: required": (
        ("jsonschema", "order.schema.json"), json_schema(a=TEXT), json_schema(("a",), a=TEXT), {"N404": ERROR},
    ),
    "json schema: a required property more": (
        ("jsonschema", "order.schema.json"), json_schema(a=TEXT), json_schema(("b",), a=TEXT, b=TEXT),
        {"C219": ERROR},
    ),
    "json schema: shorter": (
        ("jsonschema", "order.schema.json"), json_schema(a={**TEXT, "maxLength": 9}),
        json_schema(a={**TEXT, "maxLength": 8}), {"D313": ERROR},
    ),
    "json schema: a looser bound": (
        ("jsonschema", "order.schema.json"), json_schema(a={"type": "integer", "exclusiveMinimum": 0}),
        json_schema(a={"type": "integer", "minimum": 0}), {"Q953": WARN},
    ),
    "json schema: the same bound": (
        ("jsonschema", "order.schema.json"), json_schema(a={"type": "integer", "exclusiveMinimum": 0}),
        json_schema(a={"type": "integer", "minimum": 1}), {"Q953": INFO},
    ),
    "json schema: a value less": (
        ("jsonschema", "order.schema.json"), json_schema(a={"enum": ["x", "y"]}), json_schema(a={"enum": ["x"]}),
        {"Q952": ERROR},
    ),
    "protobuf: a field less": (
        ("protobuf", "order.proto"), proto("string a = 1;", "string b = 2;"), proto("string a = 1;"), {"C215": ERROR},
    ),
    "protobuf: a field more": (
        ("protobuf", "order.proto"), proto("string a = 1;"), proto("string a = 1;", "string b = 2;"), {"C214": INFO},
    ),
    "protobuf: an enum more": (
        ("protobuf", "order.proto"), proto("string a = 1;"),
        proto("string a = 1;", "State s = 2;", "enum State { NONE = 0; }"), {"C214": INFO},
    ),
    "protobuf: optional no more": (
        ("protobuf", "order.proto"), proto("optional string a = 1;"), proto("string a = 1;"), {"N404": INFO},
    ),
    "protobuf: optional now": (
        ("protobuf", "order.proto"), proto("string a = 1;"), proto("optional string a = 1;"), {"N405": INFO},
    ),
    "protobuf: another number": (
        ("protobuf", "order.proto"), proto("string a = 1;"), proto("string a = 2;"), {"C217": ERROR},
    ),
    "protobuf: another wire type": (
        ("protobuf", "order.proto"), proto("sint32 a = 1;"), proto("int32 a = 1;"), {"C220": ERROR},
    ),
    "protobuf: another name for a number": (
        ("protobuf", "order.proto"), proto("string a = 1;"), proto("string z = 1;"), {"C216": ERROR},
    ),
    "protobuf: another type": (
        ("protobuf", "order.proto"), proto("string a = 1;"), proto("bytes a = 1;"), {"D313": ERROR},
    ),
    "odcs: a property less": (
        ("odcs", "order.odcs.json"), odcs({"name": "a", "logicalType": "string"}, {"name": "b", "logicalType": "date"}),
        odcs({"name": "a", "logicalType": "string"}), {"C215": ERROR},
    ),
    "odcs: required": (
        ("odcs", "order.odcs.json"), odcs({"name": "a", "logicalType": "string"}),
        odcs({"name": "a", "logicalType": "string", "required": True}), {"N404": ERROR},
    ),
    "iceberg: another id": (
        ("iceberg", "order.iceberg.json"), iceberg(field("a", id=3)), iceberg(field("a", id=4)), {"C217": ERROR},
    ),
    "iceberg: another id in a list": (
        ("iceberg", "order.iceberg.json"), iceberg(field("a", id=3), list_of=True),
        iceberg(field("a", id=4), list_of=True), {"C217": ERROR},
    ),
    "iceberg: another name for an id": (
        ("iceberg", "order.iceberg.json"), iceberg(field("a", id=3)), iceberg(field("z", id=3)), {"C216": ERROR},
    ),
    "iceberg: a field in place of another": (
        ("iceberg", "order.iceberg.json"), iceberg(field("cust_id", id=3)), iceberg(field("customer_id", id=4)),
        {"C214": INFO, "C215": ERROR},
    ),
    "iceberg: a wider type": (
        ("iceberg", "order.iceberg.json"), iceberg(field("a", "int", id=3)), iceberg(field("a", "long", id=3)),
        {"D313": INFO},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "before", "after", "expected"), CASES.values(), ids=CASES)
def test_fields_inside_of_a_column_are_judged(
    of: tuple[str, str], before: str, after: str, expected: dict[str, Severity]
) -> None:
    assert judged(*of, before, after) == expected
    assert judged(*of, before, before) == {}


@pytest.mark.parametrize(
    ("syntax", "before", "after", "expected"),
    [
        ("proto3", "", "string b = 2;", {"C201": INFO}),
        ("proto3", "", "optional string b = 2;", {"C201": INFO}),
        ("proto3", "", "repeated int32 b = 2;", {"C201": INFO}),
        ("proto3", "optional string b = 2;", "string b = 2;", {"N401": INFO}),
        ("proto3", "string b = 2;", "optional string b = 2;", {"N402": INFO}),
        ("2023", "", "string b = 2;", {"C201": INFO}),
        ("2023", "", "string b = 2 [features.field_presence = LEGACY_REQUIRED];", {"C202": ERROR}),
        ("proto2", "", "optional string b = 2;", {"C201": INFO}),
        ("proto2", "", "required string b = 2;", {"C202": ERROR}),
        ("proto2", "optional string b = 2;", "required string b = 2;", {"N401": ERROR}),
    ],
)
def test_messages_of_proto3_need_no_field(syntax: str, before: str, after: str, expected: dict[str, Severity]) -> None:
    label = "optional " if syntax == "proto2" else ""
    statement = "edition" if syntax.isdigit() else "syntax"
    files = [f'{statement} = "{syntax}";\nmessage Order {{ {label}string a = 1; {line} }}' for line in (before, after)]
    assert judged("protobuf", "order.proto", *files) == expected


@pytest.mark.parametrize(("of", "before", "after"), [
    (("iceberg", "order.iceberg.json"),
     json.dumps({"type": "struct", "fields": [field("a", "string", id=2, required=False)]}),
     json.dumps({"type": "struct", "fields": [field("a", "string", id=3, required=False)]})),
    (("protobuf", "order.proto"), 'syntax = "proto3";\nmessage Order { string a = 2; }',
     'syntax = "proto3";\nmessage Order { string a = 3; }'),
])  # fmt: skip
def test_another_number_of_a_column_breaks_all(of: tuple[str, str], before: str, after: str) -> None:
    assert judged(*of, before, after) == {"C217": ERROR}
