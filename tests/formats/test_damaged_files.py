"""Reading ends, with a schema or an error with a message, whatever a file says: files that were cut and mutated."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final

import pytest
from damages import damaged
from features import FEATURES, formats
from hypothesis import given, settings
from hypothesis import strategies as st
from platforms import needs_posix

from schemactl.errors import InputError
from schemactl.formats import FORMATS, is_binary, is_readable, sql
from schemactl.time_limit import time_limit

pytestmark = needs_posix

PROCESSOR_SECONDS: Final = 20.0
"""A reader that does not end is interrupted; one that does needs a thousandth."""

DIALECTS: Final = (
    "mysql", "clickhouse", "bigquery", "snowflake", "redshift", "databricks", "tsql", "oracle", "sqlite", "duckdb",
    "doris", "hive", "trino",
)  # fmt: skip
READERS: Final[dict[str, Any]] = {
    **{name: module for name, module in formats().items() if is_readable(module) and not is_binary(module)},
    **{name: FORMATS[name] for name in ("arc", "dlt")},
    **{f"sql, {name}": sql.in_dialect(name) for name in DIALECTS},
}

SQL: Final = """
CREATE TABLE base (id int PRIMARY KEY, n varchar(10) NOT NULL DEFAULT 'x', CHECK (id > 0)); -- x-dlt: {"x-a": 1}
CREATE TABLE t (a int, b decimal(10, 2) UNIQUE, c timestamp COMMENT 'c', FOREIGN KEY (a) REFERENCES base (id));
ALTER TABLE t ADD COLUMN d int; COMMENT ON TABLE t IS 'All'; CREATE INDEX i ON t (a DESC);
"""
FOREIGN: Final = {
    "dbml": """
Project p { database_type: 'PostgreSQL'
  Note: 'What we sell' }
Enum s.state { new [note: 'n'] "paid out" }
TablePartial stamped { at timestamptz [not null, default: `now()`] }
Table s.users as U [headercolor: #fff] {
  id int [pk, ref: - o.id]
  "Full Name" varchar(80) [unique, note: '''It\\'s
    a name''']
  ~stamped
  indexes { (id, at) [unique]
    `lower(id)` [type: hash] }
  checks { `id > 0` }
}
Table o { id s.state
  Note { 'x' } }
Ref many { o.id <> U.id [delete: cascade] }
TableGroup g { o }
records o(id) { 1 }
""",
    "arc": """
base { trim: true, name: "b", nullable: true }  // shared
schema = [
  ${base} { type: integer, id: "1", nullableValues: ["", "null"] }
  { name: "d", type: date, nullable: true, formatters: ["uuuu-MM-dd"], description: \"\"\"d\"\"\" }
] [ { name: l, type: decimal, nullable: false, precision: 10, scale: 2, metadata { a.b = 1 } } ]
""",
    "protobuf": """
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
// An order.
message Order {
  int64 id = 1 [json_name = "Id", (x.y) = { a: 1 }];
  repeated Line lines = 2;
  map<string, double> sizes = 3;
  oneof paid { string card = 4; bool cash = 5; }
  reserved 7, 9 to 11;
  message Line { optional string sku = 1; Order of = 2; }
  enum State { option allow_alias = true; NEW = 0; PAID = 1; }
  State state = 6;
}
service S { rpc Get (Order) returns (Order) {} }
""",
    "dlt": """
version: 1
name: shop
tables:
  orders: &orders
    columns: {id: {data_type: bigint, nullable: false}, "a b": {data_type: text}}
    description: >-
      All
      orders
  lines: {<<: *orders, write_disposition: append}
settings: {detections: [iso_timestamp]}
""",
    "jsonschema": json.dumps(
        {
            "properties": {
                "a": {"$ref": "#/$defs/a"},
                "b": {"anyOf": [{"type": "array", "items": {"$ref": "#b"}}, {"type": "null"}]},
                "c": {"allOf": [{"type": "string", "maxLength": 5}, {"pattern": "x"}]},
            },
            "$defs": {
                "a": {"properties": {"n": {"$ref": "#"}}},
                "b": {"$anchor": "b", "enum": ["x", None]},
            },
        },
        indent=1,
    ),
    **{name: SQL for name in READERS if name.partition(",")[0] == "sql"},
}

PIECES: Final = (
    *"{}[]()<>'\"`:;,.~-+/*\\\n #$=@|&!?%", *('"""', "'''", "/*", "*/", "//", "--", "${", "$ref", "null", "1e400"),
    *("\x00", "\u2028", "x int\n", "NOT NULL ", "TABLE ", "- ", "? ", "<<: ", "message M {", "Table q {"),
)  # fmt: skip


@cache
def seeds(name: str) -> tuple[str, ...]:
    """Return texts of a format: what it writes, and what others write."""
    texts = [FOREIGN[name]] if name in FOREIGN else []
    for schema in FEATURES.values():
        try:
            texts.append(READERS[name].write(schema))
        except InputError:  # it has no form there
            continue
    return tuple(texts)


def read_within_limit(name: str, text: str) -> None:
    """Read a text; an ``InputError`` is an answer, any other error is a fault."""
    too_slow = partial(AssertionError, f"reading takes more than {PROCESSOR_SECONDS} seconds")
    with time_limit(PROCESSOR_SECONDS, too_slow, of_processor=True), suppress(InputError):
        READERS[name].read(text, "damaged")


@pytest.mark.parametrize("name", sorted(READERS))
@given(data=st.data())
@settings(max_examples=40)
def test_reading_a_damaged_file_ends(name: str, data: st.DataObject) -> None:
    read_within_limit(name, data.draw(damaged(seeds(name), PIECES)))


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_reading_a_file_that_was_cut_off_ends(name: str) -> None:
    text = FOREIGN[name]
    READERS[name].read(text, "whole")
    for end in range(0, len(text), 5):
        read_within_limit(name, text[:end])


@pytest.mark.parametrize("piece", PIECES)
def test_reading_a_file_that_repeats_itself_ends(piece: str) -> None:
    for name in ("dbml", "arc", "protobuf", "dlt", "jsonschema"):
        for start in ("", FOREIGN[name][: len(FOREIGN[name]) // 2]):
            read_within_limit(name, start + piece * 3_000)
