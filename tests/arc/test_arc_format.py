"""Arc's schema format as a format of schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.arc.typing_file import read_typing
from schemactl.errors import InputError
from schemactl.flows.export import ExportRequest, export
from schemactl.flows.import_ import ImportRequest, import_files
from schemactl.formats import arc
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

CUSTOMER = [
    {"id": "1", "name": "Customer Id", "type": "long", "nullable": False, "trim": True},
    {"name": "born", "description": "Birth date", "type": "date", "nullable": True, "nullableValues": ["", "N/A"],
     "nullReplacementValue": "1970-01-01", "formatters": ["uuuu-MM-dd", "ddMMMuuuu"], "caseSensitive": True,
     "metadata": {"pii": True, "tags": ["a", "b"], "owner": {"team": "crm"}}},
    {"name": "flag", "type": "boolean", "nullable": True, "trueValues": ["Y"], "falseValues": ["N"]},
    {"name": "amount", "type": "decimal", "nullable": True, "precision": 10, "scale": 2, "formatters": ["#,##0.##"]},
    {"name": "photo", "type": "binary", "nullable": True, "encoding": "hexadecimal"},
    {"name": "code", "type": "string", "nullable": True, "minLength": 2, "maxLength": 4, "regex": "[A-Z]+"},
    {"name": "opens", "type": "time", "nullable": True, "formatters": ["HH:mm"]},
    {"name": "seen", "type": "timestamp", "nullable": True, "formatters": ["dd/MM/uuuu"],
     "timezoneId": "Australia/Sydney", "time": {"hour": 23, "minute": 59, "second": 59, "nano": 0}},
    {"name": "count", "type": "integer", "nullable": True},
    {"name": "ratio", "type": "double", "nullable": True},
    {"name": "address", "type": "struct", "nullable": True,
     "fields": [{"name": "street", "type": "string", "nullable": True},
         {"name": "lines", "type": "array", "nullable": True,
          "elementType": {"name": "e", "type": "long", "nullable": True}}]},
]  # fmt: skip


def schema_of(*columns: Column) -> Schema:
    return new_schema("shop").with_table(Table("orders", {column.name: column for column in columns}))


def test_fields_become_columns_with_dlt_s_types():
    table = arc.read(json.dumps(CUSTOMER), "in/customer.arc.json").schema.tables["customer"]
    types = {name: column.data_type for name, column in table.columns.items()}
    assert types == {
        "customer_id": "bigint", "born": "date", "flag": "bool", "amount": "decimal", "photo": "binary",
        "code": "text", "opens": "text", "seen": "timestamp", "count": "bigint", "ratio": "double", "address": "json",
    }  # fmt: skip
    assert table.columns["customer_id"].properties == {
        "data_type": "bigint",
        "nullable": False,
        "x-id": "1",
        "x-typing": {"name": "Customer Id", "type": "long", "trim": True},
    }
    assert table.columns["count"].properties["precision"] == 32
    assert table.columns["address"].properties["x-spark-type"] == "struct<`street`:string,`lines`:array<bigint>>"
    born = table.columns["born"].properties
    assert (born["description"], born["x-metadata"]["owner"]) == ("Birth date", {"team": "crm"})


def test_a_schema_of_arc_s_is_written_as_it_was_read(tmp_path: Path):
    file = tmp_path / "customer.arc.json"
    file.write_text(json.dumps(CUSTOMER))
    import_files(ImportRequest((file,), None, "crm", tmp_path / "schemas"))
    (exported,) = export(ExportRequest("crm", "arc", None, tmp_path / "schemas"))
    # The column's name is the schema's, the field's own stands in the file.
    assert read_typing(exported.text, "again") == read_typing(json.dumps(CUSTOMER), "first")


def test_edited_columns_win_over_what_arc_stated():
    schema = arc.read(json.dumps(CUSTOMER), "customer.arc.json").schema
    born = schema.tables["customer"].columns["born"]
    edited = Column("born", {**born.properties, "description": "Day of birth", "nullable": False})
    columns = {**schema.tables["customer"].columns, "born": edited}
    table = schema.with_table(Table("customer", columns))
    written = json.loads(arc.write(table))[1]
    assert (written["description"], written["nullable"]) == ("Day of birth", False)


def test_columns_without_a_typing_get_the_usual_one():
    columns = [
        Column(kind, {"data_type": kind, **({"precision": 8, "scale": 2} if kind == "decimal" else {})})
        for kind in ("text", "double", "bool", "timestamp", "bigint", "binary", "decimal", "wei", "date", "time")
    ]
    nested = Column("address", {"data_type": "json", "x-spark-type": "struct<street:string,no:int>"})
    fields = {field["name"]: field for field in json.loads(arc.write(schema_of(*columns, nested)))}
    assert fields["decimal"] == {
        "name": "decimal", "type": "decimal", "trim": True, "nullable": True, "precision": 8, "scale": 2,
    }  # fmt: skip
    assert fields["date"]["formatters"] == ["uuuu-MM-dd"]
    assert [field["type"] for field in fields["address"]["fields"]] == ["string", "integer"]
    arc.read(arc.write(schema_of(*columns)), "again")


@pytest.mark.parametrize(
    ("properties", "sizes"),
    [({}, (38, 9)), ({"precision": 10}, (10, 9)), ({"precision": 10, "scale": 0}, (10, 0)), ({"scale": 4}, (38, 4))],
)
def test_decimals_keep_the_digits_that_are_stated(properties, sizes):
    (written,) = json.loads(arc.write(schema_of(Column("d", {"data_type": "decimal", **properties}))))
    assert (written["precision"], written["scale"]) == sizes


def test_nested_tables_are_written_as_lists():
    lines = Table("orders__lines", {"price": Column("price", {"data_type": "double"})}, {"parent": "orders"})
    tags = Table("orders__tags", {"value": Column("value", {"data_type": "text"})}, {"parent": "orders"})
    schema = schema_of(Column("id", {"data_type": "bigint"})).with_table(lines).with_table(tags)
    _, first, second = json.loads(arc.write(schema))
    assert (first["type"], first["elementType"]["fields"][0]["name"]) == ("array", "price")
    assert second["elementType"]["type"] == "string"


def test_two_fields_that_become_one_column_are_refused():
    fields = [{"name": name, "type": "string", "nullable": True} for name in ("A b", "a_b")]
    with pytest.raises(InputError, match="`A b` and `a_b` both become the column `a_b`"):
        arc.read(json.dumps(fields), "f.arc.json")


def test_several_root_tables_are_refused():
    with pytest.raises(InputError, match="exactly one root table"):
        arc.write(schema_of(Column("id", {"data_type": "bigint"})).with_table(Table("other")))


def test_texts_of_arc_are_reported_from_dlt_s():
    assert arc.recognises(json.dumps(CUSTOMER))
    assert arc.recognises("schema: [{name: a, type = string, nullable: true}]")
    assert not arc.recognises("name: shop\nengine_version: 11\ntables:\n  a: {columns: {b: {type: x, nullable: true}}}")


KINDS = ("text", "bigint", "double", "bool", "date", "time", "timestamp", "binary", "decimal", "wei", "json")
COLUMNS = st.dictionaries(
    st.from_regex("[a-z]{1,6}", fullmatch=True),
    st.fixed_dictionaries(
        {"data_type": st.sampled_from(KINDS)},
        optional={
            "nullable": st.booleans(),
            "description": st.from_regex("[ -~]{0,10}[!-~]", fullmatch=True),
            "x-id": st.from_regex("[a-z0-9]{1,6}", fullmatch=True),
            "x-metadata": st.dictionaries(st.sampled_from(["team", "rank"]), st.integers(0, 9), min_size=1),
        },
    ),
    min_size=1,
    max_size=6,
)


@given(columns=COLUMNS)
def test_what_is_written_comes_back(columns: dict[str, dict[str, Any]]):
    table_columns = {name: Column(name, properties) for name, properties in columns.items()}
    table = Table("orders", table_columns, {"resource": "orders"})
    text = arc.write(new_schema("shop").with_table(table))
    again = arc.read(text, "orders.arc.json").schema
    back = again.tables["orders"].columns
    assert list(back) == list(columns)
    for name, properties in columns.items():
        read_properties = {"nullable": True, **back[name].properties}
        expected = {**properties, "data_type": AS_ARC.get(properties["data_type"], properties["data_type"])}
        assert {key: read_properties.get(key) for key in expected} == expected
    # A second trip loses nothing more.
    assert arc.write(again) == text


def test_columns_of_structs_keep_their_names():
    document = arc.read('[{"name": "st__a", "type": "string", "nullable": true, "trim": true}]', "s.arc.json")
    assert list(document.schema.tables["s"].columns) == ["st__a"]
    for blank in (" ", "__"):
        with pytest.raises(InputError, match="is blank"):
            arc.read(json.dumps([{"name": blank, "type": "string", "nullable": True, "trim": True}]), "s.arc.json")


AS_ARC = {"wei": "decimal", "json": "text", "time": "text"}
"""dlt's types that Arc has not."""
