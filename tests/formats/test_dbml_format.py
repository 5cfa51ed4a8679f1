"""DBML as a format of schemas, beside pydbml, which reads what others draw."""

from __future__ import annotations

import re
from typing import Any

import pytest
from damages import damaged
from fixture_documents import inferred
from growth import LINEAR, growth
from hypothesis import given, settings
from pydbml import PyDBML
from pyparsing import ParserElement
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import dbml
from schemactl.formats._dbml_text import DbmlTable, note_of, parse_dbml
from schemactl.formats._losses import describe_loss, losses_between
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.trees.nodes import MAX_CHARACTERS, Source

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
    return document.schema, [(loss.path, loss.item, loss.before) for loss in document.losses]


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
        ("", "database_type", "PostgreSQL"),
        ("core.state.new", "note", "just made"),
        ("", "TableGroup", "all { lines }"),
        ("lines.a,b", "delete", "cascade"),
        ("lines", "ref", "<> core.users"),
        ("core.users", "headercolor", "#fff"),
        ("core.users.id", "increment", None),
        ("core.users.tags", "type", {"type": "text[]"}),
        ("core.users.place", "type", {"type": "geography(point)"}),
        ("core.users.created_at", "default", "now()"),
        ("core.users", "index", "(id, state)"),
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
        ("Table a {\n  id\n}", "expected a name, got the end of the line", 2),
        ("Table a {\n  id int [note: 'x]\n}", "is not closed", 2),
        ("Table a {\n  id int [note: x]\n}", "expected a string, got `x`", 2),
        ("Table a {\n  id int [pk, ref: b]\n}", "expected `>` or `<`", 2),
        ("Table a {\n  id int [ref: > b.c d]\n}", "expected `,` or `]`, got `d`", 2),
        ("\nTable a {\n  id int", "`{` is not closed", 2),
        ("Project p {", "`{` is not closed", 1),
        ("Table a {\n  id int\n  Indexes {\n  id", "`{` is not closed", 3),
        ("Table a {\n  id int [pk\n}", "`[` is not closed", 2),
        ("Table a {\n  id int\n}\n}", "`}` closes no bracket", 4),
        ("Table a { id int }\n/* more", "is not closed", 2),
        ("Table a {\n  id double precision\n}", "expected the end of the line, got `precision`", 2),
        ("Table a {\n  id int\n}\nNote 'x'", "expected the block of `Note`", 4),
        ("Table a {\n  ~b\n}", "`TablePartial b` does not exist", 2),
        ("TablePartial a {\n  ~b\n}\nTablePartial b { x int }\nTable t { ~a }", "cannot use another", 2),
        ("Table a { x int }\nEnum e { a }\nEnum e { b }", "a second `Enum e`", 3),
        ("Table a { x int }\nuse [a] from 'b'", "expected `*`", 2),
        ("{}", "`Table`, `Enum`, `Ref` or another declaration", 1),
        ("", "declares no `Table`", 1),
        ("Table a { id int }\nRef: a.id > b.id", "names `b`, which is not a table", 2),
        ("Table a { id int }\nRef: a.id > a.ids", "names `ids`, which is not a column of `a`", 2),
        ("Table a { id int }\nRef: a.id > a.(id, id)", "different numbers of columns", 2),
        ("Table a {\n  id int\n  indexes { ids [pk] }\n}", "names `ids`, which is not a column of `a`", 3),
    ],
)
def test_faults_have_a_place(text: str, message: str, line: int):
    with pytest.raises(InputError) as caught:
        dbml.read(text, "shop.dbml")
    assert message in caught.value.message
    assert caught.value.at is not None
    assert caught.value.at.line == line


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Project p { database_type: 'PostgreSQL' }\nTable a { x int }", ["a"]),
        ("Project p { database_type: 'PostgreSQL' }\nTable a {\n  x int\n}\nTable b {\n  x int\n}", ["a", "b"]),
        ("Project p {\n  database_type: 'x' Note: 'y'\n}\nTable a { x int }\nTable b { y int }", ["a", "b"]),
        ("TableGroup g [color: #fff] {\n  a\n  Note: '}'\n}\nTable a { x int }", ["a"]),
        ("Table a { x int }\nrecords a(x) { 1 }\nNote n { '{' }\nTable b { x int }", ["a", "b"]),
        ("Table a { x int\n records { 1\n 2 } }\nTable b\n{\n x int\n}", ["a", "b"]),
        ("Table a { x int\n checks { `x > '}'` } }\nTable b { x int }", ["a", "b"]),
        ("DiagramView v {\n  Tables { * }\n  Notes {\n n\n }\n}\nTable a { x int }", ["a"]),
        ("use { table u as v } from './u'\nuse * from './w'\nTable a { x int [ref: > v.id] }", ["a"]),
        ("Table a { x int } Table b { y int }", ["a", "b"]),
        ("// Table x {\n/* Table y { */ Table a { x int // }\n}", ["a"]),
        ("Enum e {\n  a\n} Table a { x e }", ["a"]),
        ("Ref many {\n a.x > b.x\n b.x < a.x\n}\nTable a { x int }\nTable b { x int }", ["a", "b"]),
    ],
)
def test_each_table_is_read_whatever_surrounds_it(text: str, names: list[str]):
    document = dbml.read(text, "shop.dbml")
    assert [table.name for table in data_tables(document.schema)] == names


@pytest.mark.parametrize(("text", "losses"), [
    ("Project p { database_type: 'PostgreSQL' }", ["`database_type: PostgreSQL`"]),
    ("Project p { Note: 'a'\n Note { 'b' } }", ["`note: a`"]),
    ("Project p { Note: 'a' }\nProject q { Note: 'b' }", ["`Project: q`", "`note: a`"]),
    ("TableGroup g { a }", ["`TableGroup: g { a }`"]),
    ("Note reminder [color: #F4D03F] { 'Later' }", ["`Note: reminder [color: #F4D03F] { 'Later' }`"]),
    ("records a(x) { 1 }", ["`records: a(x) { 1 }`"]),
    ("DiagramView v { Tables { * } }", ["`DiagramView: v { Tables { * } }`"]),
    ("use * from './base'", ["`use: * from './base'`"]),
    ("Enum e { a }", ["`Enum: e`"]),
    ("Enum e { a [note: 'A'] }\nTable b { x e }", ["e.a: `note: A`"]),
    ("TablePartial p { y int }", ["`TablePartial: p`"]),
    ("Table b [headercolor: #fff, note: 'x'] { x int }", ["b: `headercolor: #fff`"]),
    ("Table b [note: 'x'] { x int\n note: 'y' }", ["b: `note: x`"]),
    ("Table b { x int\n owner: 'crm' }", ["b: `owner: crm`"]),
    ("Table b { x int\n checks { `x > 0` [name: 'c'] } }", ["b: `checks: { `x > 0` [name: 'c'] }`"]),
    ("Table b { x int\n records (x) { 1 } }", ["b: `records: (x) { 1 }`"]),
    ("Table b { x int [increment] }", ["b.x: increment"]),
    ("Table b { x int [default: 7, pk] }", ["b.x: `default: 7`"]),
    ("Table b { x int [default: -1.5] }", ["b.x: `default: -1.5`"]),
    ("Table b { x int [check: `x > 0`, check: `x < 9`] }", ["b.x: `check: x > 0`", "b.x: `check: x < 9`"]),
    ("Table b { x int [note: 'a', note: 'b'] }", ["b.x: `note: b`"]),
    ("Table b { x geometry }", ["b.x: type `type: geometry` becomes type `data_type: text`"]),
    ("Table b { x int\n indexes { x } }", ["b: `index: x`"]),
    ("Table b { x int\n indexes { x [name: 'i', type: hash] } }", ["b: `index: x [name: i, type: hash]`"]),
    ("Table b { x int\n indexes { x\n x [type: hash] } }", ["b: `index: x`", "b: `index: x [type: hash]`"]),
    ("Table b { x int\n indexes { (`x*2`, x) [unique] } }", ["b: `index: (`x*2`, x) [unique]`"]),
    ("Table b { x int\n indexes { (x*2) } }", ["b: `index: (x*2)`"]),
    ("Table b { x int\n y int\n indexes { (x, y) [unique] } }", ["b: `index: (x, y) [unique]`"]),
    ("Table b { x int\n indexes { x [pk, note: 'key'] } }", ["b.x: `note: key`"]),
    ("Ref: a.x <> a.x", ["a: `ref: <> a`"]),
    ("Ref: a.x > a.x [delete: cascade, update: No Action]", ["a.x: `delete: cascade`"]),
    ("Ref: a.x > a.x [inactive, color: #79AD51]", ["a.x: inactive", "a.x: `color: #79AD51`"]),
    ("use { table u } from './u'\nRef: u.id < a.x", ["`use: { table u } from './u'`", "a: `ref: < u`"]),
    ("use { tablepartial p } from './p'\nTable b { x int\n ~p }",
     ["`use: { tablepartial p } from './p'`", "b: `partial: p`"]),
])  # fmt: skip
def test_each_construct_that_no_schema_holds_is_reported(text: str, losses: list[str]):
    document = dbml.read(f"Table a {{ x int }}\n{text}", "shop.dbml")
    assert [describe_loss(loss) for loss in document.losses] == losses


def references_in(text: str) -> dict[str, Any]:
    tables = dbml.read(text, "shop.dbml").schema.tables
    return {name: table.properties["references"] for name, table in tables.items() if "references" in table.properties}


@pytest.mark.parametrize(
    ("ref", "more"),
    [
        ("Ref: a.x > b.y", {}),
        ("Ref: b.y < a.x", {}),
        ("Ref owned: a.x > b.y", {"label": "owned"}),
        ("Ref { a.x > b.y }", {}),
        ("Ref: b.y - a.x", {"cardinality": "one_to_one"}),
    ],
)
def test_the_many_side_of_a_reference_has_the_foreign_key_and_the_right_side_of_one_to_one(
    ref: str, more: dict[str, Any]
):
    reference = {"columns": ["x"], "referenced_table": "b", "referenced_columns": ["y"], **more}
    assert references_in(f"Table a {{ x int }}\nTable b {{ y int }}\n{ref}") == {"a": [reference]}


def test_a_column_has_all_the_references_in_its_settings():
    text = "Table a { x int [ref: > b.y, ref: - c.z, ref: < c.z, ref: > x] }\nTable b { y int }\nTable c { z int }"
    assert references_in(text) == {
        "a": [
            {"columns": ["x"], "referenced_table": "b", "referenced_columns": ["y"]},
            {"columns": ["x"], "referenced_table": "c", "referenced_columns": ["z"], "cardinality": "one_to_one"},
            {"columns": ["x"], "referenced_table": "a", "referenced_columns": ["x"]},
        ],
        "c": [{"columns": ["z"], "referenced_table": "a", "referenced_columns": ["x"]}],
    }


def test_partials_are_overridden_by_tables_and_by_later_partials():
    text = """
    Table users {
      ~base
      name varchar
      ~stamped
    }
    TablePartial base [note: 'Base'] {
      id int [pk, ref: > users.id]
      name int
      at date
      indexes { at [unique] }
    }
    TablePartial stamped {
      at timestamp [not null]
    }
    """
    document = dbml.read(text, "shop.dbml")
    table = document.schema.tables["users"]
    assert [(column.name, column.data_type) for column in table.columns.values()] == [
        ("id", "bigint"), ("name", "text"), ("at", "timestamp"),
    ]  # fmt: skip
    assert (table.columns["at"].nullable, table.columns["at"].properties["unique"]) == (False, True)
    assert table.properties["description"] == "Base"
    assert table.properties["references"][0]["referenced_table"] == "users"
    assert document.losses == ()


def test_partials_are_injected_within_a_bound():
    columns = "\n".join(f"  c{number} int" for number in range(1000))
    tables = "\n".join(f"Table t{number} {{\n  ~p\n}}" for number in range(1000))
    with pytest.raises(InputError, match="partials add more than 100,000 columns"):
        dbml.read(f"TablePartial p {{\n{columns}\n}}\n{tables}", "shop.dbml")


def test_a_file_that_is_too_large_for_a_schema_is_refused_unread():
    with pytest.raises(InputError, match="too large"):
        dbml.read("//" + "x" * MAX_CHARACTERS, "shop.dbml")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"'It\'s \\ one\nline'", "It's \\ one\nline"),
        (r"'tab\there \u00e9 \ud83d\ude00'", "tab\there \u00e9 \U0001f600"),
        ("'''\n    a\n      b \\\n    c\n  '''", "a\n  b     c"),
        ('"in double quotes"', "in double quotes"),
    ],
)
def test_escapes_in_strings(written: str, text: str):
    table = dbml.read(f"Table a {{ x int\n Note: {written} }}", "shop.dbml").schema.tables["a"]
    assert table.properties["description"] == text


def test_names_with_backslashes_come_back():
    names = ("back\\slash", "two\\\\", "end\\")
    columns = {name: Column(name, {"data_type": "text", "nullable": True, "x-enum": [name]}) for name in names}
    schema = new_schema("shop", "direct").with_table(Table("t", columns, {"resource": "t"}))
    assert losses_between(schema, dbml.read(dbml.write(schema), "shop.dbml").schema) == ()


def test_quotes_in_names_are_escaped():
    (table,) = parse_dbml(Source("shop.dbml", r'Table "say \"hi\"" { "a \\ b" int }')).tables
    assert (table.name, table.columns[0].name) == ('say "hi"', "a \\ b")


def test_an_edited_type_wins_over_its_hints():
    stated = {"data_type": "wei", "nullable": True, "sort": True}
    text = dbml.write(new_schema("shop").with_table(Table("orders", {"a": Column("a", stated)}, {"resource": "x"})))
    edited = text.replace("decimal(78,0)", "date")
    assert edited != text
    assert dict(read(edited)[0].tables["orders"].columns["a"].properties) == {**stated, "data_type": "date"}


SEEDS = (
    OTHERS.replace("TablePartial stamped { created_at timestamptz [not null, default: `now()`] }\n", "")
    .replace("  ~stamped\n", "")
    .replace("{ a int\n", "{\n a int\n")
    .replace("b int }", "b int\n}"),
    """
Project shop { database_type: 'PostgreSQL' }
Table a {
  x int [pk]
  y varchar(10) unique pk
  z "double precision" [null, default: 1.5, note: "n"]
  note: 'About a'
}
Table "b c".d as e [note: 'About d'] {
  a_x int [not null, ref: > a.x]
  Indexes {
    (a_x) [type: btree, name: 'i']
    `a_x * 2`
  }
  Note {
    'About'
  }
}
Ref f { e.a_x - a.x }
enum "b c".g {
  new [note: 'N']
}
TableGroup h {
  a
  e
}
Note sticky { 'x' }
""",
)
PIECES = [*"{}[](),.:;'`~<>-#\n ", '"', "'''", "//", "/*", "*/", "pk", "note", "Table q {", "}\n", "x int\n", "[pk]"]


@given(damaged(SEEDS, PIECES, least=0, longest=12))
@settings(max_examples=100)
def test_damaged_files_that_pydbml_reads_have_the_same_tables(text: str):
    try:
        database = by_pydbml(text)
    except Exception:  # it has no common class for its errors
        return
    file = parse_dbml(Source("shop.dbml", text))
    assert [tables_of_ours(table) for table in file.tables] == [tables_of_pydbml(table) for table in database.tables]


def tables_of_ours(table: DbmlTable) -> tuple[object, ...]:
    keys = [{setting.key for setting in column.settings} for column in table.columns]
    columns = [
        (
            *(column.name, re.sub(r'[\s"]', "", column.type)),
            *("pk" in words, "unique" in words, "not null" in words, note_of(column.settings) or ""),
        )
        for column, words in zip(table.columns, keys, strict=True)
    ]
    return table.name, table.alias, table.note or "", columns


def tables_of_pydbml(table: Any) -> tuple[object, ...]:
    columns = [
        (
            *(column.name, re.sub(r'[\s"]', "", full_name(column.type))),
            *(bool(column.pk), bool(column.unique), bool(column.not_null), column.note.text),
        )
        for column in table.columns
    ]
    return full_name(table), table.alias, table.note.text, columns


def full_name(declared: Any) -> str:
    if isinstance(declared, str):
        return declared
    return declared.name if declared.schema == "public" else f"{declared.schema}.{declared.name}"


def test_the_time_to_read_a_file_grows_with_its_size():
    def read_tables(count: int) -> None:
        text = "".join(
            f"Table t{number} {{\n  id int [pk, ref: - t0.id]\n  v int\n\n  indexes {{ (id, v) [unique] }}\n}}\n"
            for number in range(count)
        )
        dbml.read(text, "shop.dbml")

    assert growth(read_tables, 100) < LINEAR


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
