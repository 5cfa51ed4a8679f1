"""DBML as a format of schemas, beside pydbml, which reads what others draw."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_documents import inferred
from hypothesis import given
from pydbml import PyDBML
from pyparsing import ParserElement
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import dbml
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

DEFAULT_WHITE_CHARS = " \n\t\r"
ParserElement.set_default_whitespace_chars(DEFAULT_WHITE_CHARS)


def by_pydbml(text: str) -> PyDBML:
    """Parse a text by pydbml, which changes what pyparsing skips, for the other grammars of the process as well."""
    ParserElement.set_default_whitespace_chars(" \t\r")
    try:
        return PyDBML(text)
    finally:
        ParserElement.set_default_whitespace_chars(DEFAULT_WHITE_CHARS)


OTHERS = """
Project shop { database_type: 'PostgreSQL'
  Note: 'What we sell' }
Enum core.state { new [note: 'just made']
  "paid out" }
TablePartial stamped { created_at timestamptz [not null, default: `now()`] }
Table core.users as U [headercolor: #fff, note: 'People'] {
  id int [pk, increment]  // the key
  "Full Name" varchar(80) [not null, unique, note: 'It\\'s a name']
  state core.state
  tags text[]
  place geography(point)
  ~stamped
  indexes { (id, state)
    state [unique] }
}
/* more */
Table public.orders {
  a int
  b int
  user_id int [ref: > U.id]
  Note { '''
    Orders
      of users
  ''' }
  indexes { (a, b) [pk] }
}
Table lines { a int
  b int }
Ref: lines.(a, b) > orders.(a, b) [delete: cascade]
Ref many { lines.a <> core.users.id }
TableGroup all { lines }
"""


def read(text: str) -> tuple[Schema, list[tuple[str, str, Any]]]:
    document = dbml.read(text, "shop.dbml")
    return document.schema, [(loss.place, loss.what, loss.before) for loss in document.losses]


def test_a_file_of_others():
    schema, losses = read(OTHERS)
    users, orders = schema.tables["core_users"], schema.tables["orders"]
    assert schema.description == "What we sell"
    assert users.properties["description"] == "People"
    assert {name: dict(each.properties) for name, each in users.columns.items()} == {
        "id": {"data_type": "bigint", "precision": 32, "nullable": False, "primary_key": True},
        "full_name": {
            "data_type": "text", "precision": 80, "nullable": False, "unique": True, "description": "It's a name",
        },
        "state": {"data_type": "text", "x-enum": ["new", "paid out"], "nullable": True, "unique": True},
        "tags": {"data_type": "json", "nullable": True},
        "place": {"data_type": "text", "nullable": True},
        "created_at": {"data_type": "timestamp", "nullable": False},
    }  # fmt: skip
    assert [name for name, each in orders.columns.items() if each.properties.get("primary_key")] == ["a", "b"]
    assert orders.properties["description"] == "Orders\n  of users"
    assert losses == [
        ("", "declaration", "TableGroup"),
        ("lines", "ref", "<> core.users"),
        ("core.users.id", "increment", ""),
        ("core.users.tags", "type", {"type": "text[]"}),
        ("core.users.place", "type", {"type": "geography(point)"}),
        ("core.users.created_at", "default", "now()"),
        ("core.users", "index", ["id", "state"]),
    ]


def test_relations_follow_renamed_tables():
    schema, _ = read(OTHERS)
    assert schema.tables["orders"].properties["references"] == [
        {"columns": ["user_id"], "referenced_table": "core_users", "referenced_columns": ["id"]}
    ]
    reversed_ = 'Table "My Users" { "Id" int }\nTable o { u int }\nRef: "My Users"."Id" < o.u'
    assert read(reversed_)[0].tables["o"].properties["references"] == [
        {"columns": ["u"], "referenced_table": "my_users", "referenced_columns": ["id"]}
    ]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("Table a {\n  id\n}", "stands where a name was expected", 2),
        ("Table a {\n  id int [note: 'x]\n}", "does not end", 2),
        ("Table a {\n  id int", "the end of the file", 2),
        ("Table a {\n  ~b\n}", "no `TablePartial b`", 2),
        ("{}", "`Table`, `Enum` or `Ref`", 1),
    ],
)
def test_faults_have_a_place(text: str, message: str, line: int):
    with pytest.raises(InputError, match=message) as caught:
        dbml.read(text, "shop.dbml")
    assert caught.value.at is not None
    assert caught.value.at.line == line


def test_a_relation_to_no_table_is_refused():
    with pytest.raises(InputError, match="names `b`"):
        dbml.read("Table a { id int }\nRef: a.id > b.id", "shop.dbml")


def test_an_edited_type_wins_over_its_hints():
    stated = {"data_type": "wei", "nullable": True, "sort": True}
    text = dbml.write(new_schema("shop").with_table(Table("orders", {"a": Column("a", stated)}, {"resource": "x"})))
    edited = text.replace("decimal(78,0)", "date")
    assert edited != text
    assert dict(read(edited)[0].tables["orders"].columns["a"].properties) == {**stated, "data_type": "date"}


@given(schemas())
def test_pydbml_reads_the_same(schema: Schema):
    assert_read_alike(schema)


def test_pydbml_reads_the_fixtures_with_their_relations():
    schema = inferred("orders.jsonl")
    found = assert_read_alike(schema)
    nested = sum(table.is_nested for table in data_tables(schema))
    assert nested
    assert len(found.refs) == nested


def assert_read_alike(schema: Schema) -> PyDBML:
    found = by_pydbml(dbml.write(schema))
    tables = list(data_tables(schema))
    assert [each.name for each in found.tables] == [each.name for each in tables]
    for ours, theirs in zip(tables, found.tables, strict=True):
        assert theirs.note.text == (ours.properties.get("description") or "")
        for column, read in zip(ours.columns.values(), theirs.columns, strict=True):
            stated = column.properties
            assert read.name == column.name
            assert bool(read.unique) == bool(stated.get("unique"))
            assert read.note.text == (stated.get("description") or "")
            assert bool(read.not_null) == (not column.nullable)
    return found
