"""Schema files are read with their places and written with their layout."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.errors import InputError, Location
from schemactl.formats import FORMATS
from schemactl.formats import dlt as dlt_format
from schemactl.formats._dlt_form import is_complete
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.trees import nodes

ORDERS = """\
  # ---- orders ----
  orders:
    description: 'All orders'   # quoted
    columns:

      # the key
      id: {data_type: bigint, nullable: false}  # flow
      total:
        data_type: "decimal"  # money
        # scale later
      note: {}

      old: {data_type: text} # gone soon
    references:
      - referenced_table: a   # one
        columns: [x, y]
        referenced_columns: [x]
      # second
      - referenced_table: b
        columns: [x]
        referenced_columns: [x]
    write_disposition: merge
    # end of orders
"""


def commented() -> str:
    text = dlt_format.write(new_schema("shop"))
    return "# head\n" + text.replace("settings:\n", f"{ORDERS}settings:\n", 1)


def read(text: str, path: str = "shop.schema.yaml") -> dlt_format.Document:
    return dlt_format.read(text, path)


def refused(text: str, path: str = "shop.schema.yaml") -> InputError:
    started = time.process_time()
    with pytest.raises(InputError) as caught:
        read(text, path)
    assert time.process_time() - started < 20
    return caught.value


def with_orders(schema: Schema, columns: dict[str, Any] | None = None, **properties: Any) -> Schema:
    table = schema.tables["orders"]
    if columns is not None:
        table = replace(table, columns={name: Column(name, value) for name, value in columns.items()})
    return schema.with_table(replace(table, properties={**table.properties, **properties}))


def columns_of(schema: Schema) -> dict[str, Any]:
    return {name: dict(column.properties) for name, column in schema.tables["orders"].columns.items()}


# Reading


def test_the_format_is_found_by_its_name():
    assert FORMATS["dlt"].read(commented(), "a.yaml").schema.name == "shop"


def test_names_and_defaults_are_filled_in():
    schema = read(commented().replace("    write_disposition: merge\n", "    resource: null\n")).schema
    orders = schema.tables["orders"]
    assert orders.properties["write_disposition"] == "append"
    assert orders.properties["resource"] == "orders"
    assert schema.to_dict()["tables"]["orders"]["columns"]["id"]["name"] == "id"


def test_a_nested_table_gets_no_defaults_of_a_root_table():
    nested = "  orders__lines:\n    parent: orders\n    columns: {}\n"
    schema = read(commented().replace("settings:\n", f"{nested}settings:\n", 1)).schema
    assert dict(schema.tables["orders__lines"].properties) == {"parent": "orders"}


def test_json_is_reported_by_ending_and_by_content():
    text = dlt_format.write(new_schema("shop"), path="a.json")
    for path in ("a.json", "-", "a.schema.yaml"):
        assert read(text, path).schema == read(dlt_format.write(new_schema("shop"))).schema


def test_an_edited_file_is_noticed():
    text = dlt_format.write(bump(new_schema("shop")))
    assert not read(text).is_edited
    assert read(text.replace("Name of the schema\n", "The name\n", 1)).is_edited
    assert not read(dlt_format.write(new_schema("shop"))).is_edited


def test_keys_are_located():
    document = read(commented())
    lines = commented().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if "total:" in line)
    assert document.locate("tables", "orders", "columns", "total") == Location("shop.schema.yaml", line, 7)
    assert document.locate("tables", "orders", "columns", "total", "scale").line == line
    second = document.locate("tables", "orders", "references", 1, "columns")
    assert lines[second.line - 1].strip() == "columns: [x]"
    assert document.locate().line == 2


def test_keys_of_json_are_located():
    document = read('{"version": 1,\n "a": {}}'.replace('"a": {}', _json_rest()), "a.json")
    assert document.locate("name") == Location("a.json", 2, 2)


def _json_rest() -> str:
    stored = {key: value for key, value in new_schema("shop").to_dict().items() if key != "version"}
    stored = {"name": "shop", **stored}
    return json.dumps(stored)[1:-1]


def test_scalars_are_read_as_yaml_1_1():
    hints = "x-a: yes\nx-b: 012\nx-c: 1:30\nx-d: 2024-01-02\nx-e: 1e3\nx-f: 2024-01-02 03:04:05Z\n"
    extensions = read(commented() + hints).schema.extensions
    assert list(extensions.values()) == [True, 10, 90, "2024-01-02", "1e3", "2024-01-02T03:04:05+00:00"]


def test_merges_and_aliases_stand_for_what_they_name():
    text = (
        commented()
        .replace("note: {}", "note: &n {data_type: text, nullable: true}")
        .replace("old: {data_type: text} # gone soon", "old: {<<: *n, nullable: false}\n      new: *n")
    )
    columns = columns_of(read(text).schema)
    assert columns["old"] == {"data_type": "text", "nullable": False}
    assert columns["new"] == columns["note"]


# Refusals


@pytest.mark.parametrize(
    ("change", "place", "reported"),
    [
        (("      total:\n", "      id:\n"), "      id:", "is duplicated here"),
        (("    columns:\n\n", "\tcolumns:\n\n"), "\tcolumns:", "a tab is not allowed as indentation"),
        (("settings:\n", "<<<<<<< HEAD\nsettings:\n"), "<<<<<<< HEAD", "a merge conflict"),
        (("note: {}", "note: !!python/object:os.system x"), "note: !!python", "is not supported"),
        (("note: {}", "note: *nobody"), "note: *nobody", "no anchor"),
        (("note: {}", "note: &n [*n]"), "note: &n", "contains itself"),
        (("note: {}", "note: 2024-13-45"), "note: 2024", "not a valid timestamp value"),
        (("note: {}", "note: a: b"), "note: a: b", "`:` is not allowed here"),
        (("note: {}", "note: \0"), "note: \0", "U+0000"),
        (("previous_hashes:", "---\nprevious_hashes:"), "---", "second document"),
        (("engine_version: 11", "engine_version: 12"), "engine_version: 12", "engine version 12"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(change: tuple[str, str], place: str, reported: str):
    text = commented().replace(*change)
    error = refused(text)
    line = max(number for number, line in enumerate(text.split("\n"), 1) if place in line)
    assert reported in error.message
    assert error.at is not None
    assert error.at.line == line


def test_each_problem_of_a_schema_has_its_line():
    text = commented().replace('"decimal"', '"number"').replace("note: {}", "note: {nulable: true}")
    error = refused(text)
    places = [text.splitlines()[problem.at.line - 1].strip() for problem in error.problems if problem.at]
    assert places == ['data_type: "number"  # money', "note: {nulable: true}"]
    assert [problem.hint for problem in error.problems] == ["did you mean `double`?", "did you mean `nullable`?"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "- a\n",
        "hello\n",
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "".join(" " * depth + "a:\n" for depth in range(1000)),
        "a" * 20_000_000,
        "\x00\x01" * 10_000,
        "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{i}: &b{i} [{'*a,' * 9}*a]\n" for i in range(10_000)),
        "a: &a [x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)},*{chr(97 + i)}]\n" for i in range(24)),
    ],
)
def test_hostile_yaml_is_refused_at_once(text: str):
    assert refused(text).at is not None


@pytest.mark.parametrize(
    ("text", "place", "reported"),
    [
        ("a: 1\nb: 'it\nc: 2\n", (2, 4), "the quote that opens here is not closed"),
        ('a: "x\nb:\n  - "y"\n', (1, 4), "the quote that opens here closes in line 3"),
        ("a: 'x' y\n", (1, 8), "this is not YAML"),
    ],
)
def test_a_quote_that_is_not_closed_is_refused_where_it_opens(text: str, place: tuple[int, int], reported: str):
    error = refused(text, "a.yaml")
    assert reported in error.message
    assert error.at == Location("a.yaml", *place)


@pytest.mark.parametrize(
    ("text", "place", "reported"),
    [
        ("", (1, 1), "empty"),
        ('{"a": 1,\n "a": 2}', (2, 2), "is duplicated here"),
        ('{"a": 1,}', (1, 9), "cannot follow a comma"),
        ("{'a': 1}", (1, 2), "double quotes"),
        ('{"a": NaN}', (1, 7), "`NaN` is not a value"),
        ('{"a": "x', (1, 7), "the quote that opens here is not closed"),
        ('{"a": "x\n}', (1, 7), "the quote that opens here is not closed"),
        ('{"a": "x\ty"}', (1, 9), "invalid control character"),
        ('{"a": [1 2]}', (1, 10), "`,` or `]`"),
        ('{"a": 1} x', (1, 10), "ends before this"),
        ('{"a":', (1, 6), "ends within a value"),
        ("[" * 100_000, (1, 101), "nested deeper"),
        ('{"a": ' + "9" * 100_000 + "}", (1, 7), "too long"),
    ],
)
def test_bad_json_is_refused_with_its_place(text: str, place: tuple[int, int], reported: str):
    error = refused(text, "a.json")
    assert reported in error.message
    assert error.at == Location("a.json", *place)


def test_a_text_keeps_its_ends_of_lines():
    text = commented().replace("\n", "\r\n")
    document = read(text)
    assert document.schema == read(commented()).schema
    assert dlt_format.write(document.schema, layout=document.layout) == text


# Writing


def test_an_unchanged_schema_gives_the_identical_text():
    document = read(commented())
    assert dlt_format.write(document.schema, layout=document.layout) == commented()


def changed_lines(before: str, after: str) -> tuple[set[str], set[str]]:
    """Lines that went and lines that came."""
    old, new = before.splitlines(), after.splitlines()
    return set(old) - set(new), set(new) - set(old)


def test_only_what_differs_is_changed():
    document = read(commented())
    columns = columns_of(document.schema)
    del columns["old"]
    columns["total"] = {"data_type": "double", "scale": 2}
    columns["new"] = {"data_type": "text", "description": "a: b"}
    text = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    gone, come = changed_lines(commented(), text)
    assert gone == {'        data_type: "decimal"  # money', "      old: {data_type: text} # gone soon"}
    assert come == {
        '        data_type: "double"  # money',
        "        scale: 2",
        "      new:",
        "        description: 'a: b'",
    }
    assert columns_of(read(text).schema) == columns


ODD = """\
---
# ours

name:   shop
tables:
    orders:   # four deep
      columns:

          # the key
          id:   {data_type:   bigint}
          # the sum,
          # in euros
          total:
              data_type:  'decimal'
            # deeper than the next
          note: &same   {data_type: text}
          more: *same  # as well
      write_disposition:  append
      resource:  orders
# the end
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_that_a_change_does_not_touch_stay_whatever_their_spacing(newline: str):
    text = ODD.replace("\n", newline)
    document = read(text)
    columns = columns_of(document.schema)
    written = dlt_format.write(
        with_orders(document.schema, {"id": columns["id"], "new": {"data_type": "date"}, **columns}),
        layout=document.layout,
    )
    place = text.index("          # the sum")
    added = newline.join(("          new:", "              data_type: date", ""))
    assert written.startswith(text[:place] + added + text[place : text.index("# the end")])
    assert written.endswith(f"{newline}# the end{newline}")
    del columns["total"]
    written = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    start, end = text.index("          # the sum"), text.index("          note")
    assert written.startswith(text[:start] + text[end : text.index("# the end")])


PLAIN = """\
tables:
  orders:
    columns:
      id: {data_type: bigint}
    write_disposition: append
    resource: orders
"""


@pytest.mark.parametrize("text", [
    PLAIN.rstrip("\n"),
    f"{PLAIN}settings:\n  preferred_types:\n    a: text",
    f"{PLAIN}# the end",
    f"\ufeff# ours\n{PLAIN}",
    f"--- # ours\n{PLAIN}...\n# after it\n",
    f"%YAML 1.1\n---\n{PLAIN}",
    PLAIN.replace("  ", "   ").replace("tables", " tables").replace("\n", "\n ").rstrip(),
    PLAIN.replace("id: {data_type: bigint}", "id: &a {data_type: bigint} # one\n      b: {<<: *a, nullable: no} # two"),
    PLAIN.replace("    resource", "    description: >- # folded\n      a\n\n      # b\n    # c\n    resource"),
    PLAIN.replace("    resource", "    x-list:\n    -   a: 1 # b\n    # c\n    -\n        d: e\n    resource"),
    PLAIN.replace("resource: orders", "resource: !!str orders # tagged"),
])  # fmt: skip
def test_no_line_changes_but_those_that_come(text: str):
    document = read(text, "shop.schema.yaml")
    columns = {**columns_of(document.schema), "new": {"data_type": "text"}}
    written = dlt_format.write(with_orders(document.schema, columns), layout=document.layout).split("\n")
    lines = iter(written)
    assert all(line in lines for line in text.split("\n"))  # in their order
    assert columns_of(read("\n".join(written)).schema) == columns


def test_yaml_that_is_json_is_written_as_json():
    text = json.dumps(yaml.safe_load(PLAIN), indent=4)
    document = read(text)
    written = dlt_format.write(with_orders(document.schema, description="d"), layout=document.layout)
    assert written.startswith(text[: text.index('orders"\n')])
    assert json.loads(written)["tables"]["orders"]["description"] == "d"


KEPT = """\
tables:
  "a: b":  # in quotes
    write_disposition: append
    resource: r
    x-note: |
      text
      # not a comment

      # neither
    columns:
      id: {data_type: bigint}  # the key
    x-list:
      - 1  # one
"""


def test_what_stays_is_as_it_was_whatever_stands_in_it():
    text = f"{KEPT}\n  # goes\n  b:\n    columns: {{}}\n    write_disposition: append\n    resource: b\n"
    document = read(text)
    tables = {name: table for name, table in document.schema.tables.items() if name != "b"}
    written = dlt_format.write(replace(document.schema, tables=tables), layout=document.layout)
    assert written.startswith(f"{KEPT}  _dlt_version:\n")
    assert "# goes" not in written
    changed = Table("a: b", tables["a: b"].columns, {**tables["a: b"].properties, "x-note": "new"})
    written = dlt_format.write(document.schema.with_table(changed), layout=document.layout)
    start, end = KEPT.index(" |"), KEPT.index("    columns")
    assert written.startswith(f"{KEPT[:start]} new\n{KEPT[end:]}")


def test_a_file_of_a_thousand_columns_is_changed_in_seconds():
    held = "".join(
        f"      # about {n}\n      c{n}:\n        data_type: bigint\n        nullable: true\n" for n in range(1000)
    )
    document = read(f"tables:\n  orders:\n    columns:\n{held}    write_disposition: append\n    resource: orders\n")
    started = time.process_time()
    written = dlt_format.write(with_orders(document.schema, description="x"), layout=document.layout)
    assert time.process_time() - started < 60
    assert held in written


def test_a_moved_column_takes_its_comments_along():
    document = read(commented())
    columns = columns_of(document.schema)
    columns["id"] = columns.pop("id")
    text = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    assert sorted(text.splitlines()) == sorted(commented().splitlines())
    assert text.index("# the key") > text.index("old:")
    assert list(columns_of(read(text).schema)) == ["total", "note", "old", "id"]


def test_lines_beside_a_change_keep_the_spaces_in_their_braces():
    text = PLAIN.replace(
        "      id: {data_type: bigint}\n",
        "      id: { data_type: bigint }  # one\n      total: { data_type: decimal }\n"
        "      note: {data_type:  text} # three\n",
    )
    document = read(text)
    columns = {**columns_of(document.schema), "total": {"data_type": "double"}}
    written = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    changed = text.replace("{ data_type: decimal }", "{data_type: double}")
    assert set(changed.splitlines()) <= set(written.splitlines())
    assert "{ data_type: decimal }" not in written


def test_references_that_change_places_take_their_comments_along():
    document = read(commented())
    references = document.schema.tables["orders"].properties["references"]
    text = dlt_format.write(with_orders(document.schema, references=references[::-1]), layout=document.layout)
    assert text.index("# second") < text.index("# one")


def test_comments_stay_where_a_merge_gives_way_to_what_it_brings():
    text = PLAIN.replace(
        "      id: {data_type: bigint}\n",
        "      id: &id\n        data_type: bigint\n        nullable: false\n"
        "      b:\n        <<: *id\n        # own\n        description: x   # desc\n",
    )
    document = read(text)
    columns = columns_of(document.schema)
    del columns["b"]["nullable"]
    written = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    assert columns_of(read(written).schema) == columns
    assert "        # own\n        description: x   # desc\n" in written


def test_a_comment_behind_a_blank_line_stays_with_what_it_is_indented_as():
    text = PLAIN.replace(
        "      id: {data_type: bigint}\n",
        "      total:\n        data_type: decimal\n\n        # the end of total\n      note: {}\n",
    )
    document = read(text)
    columns = columns_of(document.schema)
    ordered = {"total": columns["total"], "new": {"data_type": "date"}, "note": columns["note"]}
    written = dlt_format.write(with_orders(document.schema, ordered), layout=document.layout)
    assert "\n        # the end of total\n      new:\n" in written


def test_a_reference_goes_and_one_comes():
    document = read(commented())
    second = document.schema.tables["orders"].properties["references"][1]
    third = {"referenced_table": "c", "columns": [], "referenced_columns": ["z"]}
    text = dlt_format.write(with_orders(document.schema, references=[second, third]), layout=document.layout)
    assert "# one" not in text
    assert "# second" in text
    assert read(text).schema.tables["orders"].properties["references"] == [second, third]


def test_a_value_that_was_only_a_default_is_stated_when_it_changes():
    document = read(commented())
    text = dlt_format.write(with_orders(document.schema, resource="shop_orders"), layout=document.layout)
    assert changed_lines(commented(), text) == (set(), {"    resource: shop_orders"})


def test_aliases_stay_until_they_stand_for_something_else():
    text = (
        commented().replace("note: {}", "note: &n {data_type: text}").replace("{data_type: text} # gone", "*n # gone")
    )
    document = read(text)
    columns = columns_of(document.schema)
    kept = dlt_format.write(with_orders(document.schema, {**columns, "id": {}}), layout=document.layout)
    assert "old: *n # gone soon" in kept
    changed = {**columns, "note": {"data_type": "json"}}
    assert (
        columns_of(read(dlt_format.write(with_orders(document.schema, changed), layout=document.layout)).schema)
        == changed
    )
    del columns["note"]
    without = dlt_format.write(with_orders(document.schema, columns), layout=document.layout)
    assert columns_of(read(without).schema) == columns
    assert "# money" in without


def test_a_key_that_a_merge_brings_can_go():
    text = (
        commented()
        .replace("note: {}", "note: &n {data_type: text, nullable: true}")
        .replace("old: {data_type: text}", "old: {<<: *n, description: d}")
    )
    document = read(text)
    columns = {**columns_of(document.schema), "old": {"data_type": "text", "description": "d"}}
    assert (
        columns_of(read(dlt_format.write(with_orders(document.schema, columns), layout=document.layout)).schema)
        == columns
    )


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_the_formatting_of_json_stays(indent: int | str | None):
    stored = json.loads(dlt_format.write(new_schema("shop"), path="a.json"))
    text = json.dumps(stored, indent=indent)
    document = read(text, "a.json")
    schema = replace(document.schema, description="d", previous_hashes=("a", "b"))
    written = dlt_format.write(schema, layout=document.layout)
    assert json.loads(written) == {**stored, "description": "d", "previous_hashes": ["a", "b"]}
    # What was empty has no formatting to follow.
    assert changed_lines(text, written)[0] <= ({text} if indent is None else {_line_of(text, "previous_hashes"), "}"})


def _line_of(text: str, key: str) -> str:
    return next(line for line in text.splitlines() if f'"{key}"' in line)


def test_an_old_file_is_brought_up_to_date_and_keeps_its_comments():
    old = commented().replace("engine_version: 11", "engine_version: 9  # old").replace("decimal", "complex")
    document = read(old)
    assert document.stated_engine_version == 9
    text = dlt_format.write(document.schema, layout=document.layout)
    assert 'data_type: "json"  # money' in text
    assert "engine_version: 11  # old" in text
    assert "# the key" in text


# Laws

NAMES = st.sampled_from(
    ["id", "on", "No", "null", "1", "a#b", "x: y", "-", '"q"', "it's", "{b}", "*a", "&a", "a\nb", "=", "é", "l" * 130]
)
TEXTS = st.sampled_from(["plain", "with # hash", "two\nlines", "trailing ", "true", "", "a: b", "\ttab"]) | st.text(
    st.characters(exclude_categories=("Cs",)), max_size=120
)
HINTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "data_type": st.sampled_from(["text", "bigint", "json"]),
        "nullable": st.none() | st.booleans(),
        "description": TEXTS,
        "precision": st.integers(0, 40),
        "x-own": HINTS,
    },
)
TABLES = st.builds(
    lambda columns, properties: (columns, {"write_disposition": "append", "resource": "r", **properties}),
    st.dictionaries(NAMES, COLUMNS, max_size=4),
    st.fixed_dictionaries({}, optional={"description": TEXTS, "x-own": HINTS, "schema_contract": st.just("freeze")}),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    schema = new_schema("made")
    for name, (columns, properties) in draw(st.dictionaries(NAMES, TABLES, max_size=3)).items():
        held = {column: Column(column, value) for column, value in columns.items()}
        schema = schema.with_table(Table(name, held, properties))
    hashes = draw(st.lists(st.sampled_from("abcd"), unique=True))
    return bump(replace(schema, previous_hashes=tuple(hashes)))


def assert_equal(left: Schema, right: Schema) -> None:
    assert left.to_dict() == right.to_dict()
    assert version_hash(left) == version_hash(right)


@given(before=schemas(), after=schemas(), as_json=st.booleans())
def test_what_is_written_is_read_again_and_any_other_schema_can_be_written_over_it(
    before: Schema, after: Schema, as_json: bool
):
    path = "a.json" if as_json else "a.yaml"
    text = dlt_format.write(before, path="a.json" if as_json else None)
    document = read(text, path)
    assert_equal(document.schema, before)
    assert not document.is_edited
    assert dlt_format.write(document.schema, layout=document.layout) == text
    assert dlt_format.write(document.schema, path="a.json" if as_json else None) == text
    assert_equal(read(dlt_format.write(after, layout=document.layout), path).schema, after)
    if not as_json:
        assert_comments_survive(text, after)


def assert_comments_survive(text: str, after: Schema) -> None:
    """Write a schema over the text of another one, with comments beside all that changes."""
    # Comments at what both schemas have, in every place where one may stand.
    for key in ("name", "tables", "settings", "normalizers"):
        text = text.replace(f"\n{key}:", f"\n\n# above {key}\n{key}:", 1)
    text = text.replace("  default_hints:\n", "  default_hints:  # behind\n", 1).replace(
        ": made\n", ": 'made'  # quoted\n", 1
    )
    document = read(text)
    written = dlt_format.write(after, layout=document.layout)
    assert_equal(read(written).schema, after)
    for kept in (
        *(f"\n\n# above {key}\n{key}:" for key in ("name", "tables", "settings")),
        "# behind\n",
        "'made'  # quoted\n",
    ):
        assert kept in written


@settings(max_examples=200)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_but_never_breaks(data: st.DataObject):
    text = data.draw(st.sampled_from([commented(), dlt_format.write(new_schema("shop"), path="a.json")]))
    place = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 20))
    damage = data.draw(st.text("{}[]:,-#&*!|>'\"%@` \n\t0aé<=?", max_size=4))
    path = "a.json" if text.startswith("{") else "a.yaml"
    damaged = text[:place] + damage + text[place + length :]
    outcome = _read_or_error(damaged, path)
    if isinstance(outcome, InputError):
        assert outcome.at is not None
    else:
        # What a file leaves out is stated when it is written.
        if is_complete(nodes.value_of(outcome.layout.root)):
            assert dlt_format.write(outcome.schema, layout=outcome.layout) == damaged


def _read_or_error(text: str, path: str) -> dlt_format.Document | InputError:
    try:
        return read(text, path)
    except InputError as error:
        return error


def test_a_file_that_cannot_be_edited_is_refused_and_never_written_anew():
    braces = "{  # of ours\n    columns: {id: {data_type: bigint}},\n    write_disposition: append, resource: a}"
    document = read(f"# ours\ntables:\n  a: {braces}\n  b:   {braces}\n", "shop.schema.yaml")
    table = document.schema.tables["a"]
    with pytest.raises(InputError, match="without losing comments") as caught:
        dlt_format.write(document.schema.with_table(replace(table, properties={"resource": "x"})), "", document.layout)
    assert caught.value.at == Location("shop.schema.yaml")
    assert "by hand" in (caught.value.hint or "")
    # Beside what is changed such comments stay.
    added = Table("c", {}, {"write_disposition": "append", "resource": "c"})
    written = dlt_format.write(document.schema.with_table(added), "", document.layout)
    assert f"  a: {braces}\n  b:   {braces}\n" in written


def test_a_nested_type_that_is_none_is_an_error_at_its_place():
    text = "tables:\n  a:\n    columns:\n      v:\n        data_type: json\n        x-nested-type: struct<a:int>\n"
    with pytest.raises(InputError) as caught:
        read(text, "shop.schema.yaml")
    (problem,) = caught.value.problems
    assert problem.at == Location("shop.schema.yaml", 6, 9)
    assert "arrow-ipc:" in problem.message
    assert problem.hint
