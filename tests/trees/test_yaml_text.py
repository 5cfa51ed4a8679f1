"""YAML is read as dlt's YAML library reads it, with exact places, fast, and hostile files are refused in time."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from growth import LINEAR, growth
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from outside_data import OutsideData

from schemactl.errors import InputError
from schemactl.formats.dlt import read, write
from schemactl.schema.templates import new_schema
from schemactl.store.text import read_text
from schemactl.trees import yaml_events
from schemactl.trees.nodes import Alias, Finder, Mapping, Node, Scalar, Source, value_of
from schemactl.trees.yaml_text import parse_yaml, read_block_lines

PLAIN = """\
version: 3
version_hash: +x00vMQH61qTxMr6Oa4tCaV4owyZY/NfGfQacH8rMRs=
tables:
  orders:
    columns:
      id:
        data_type: bigint
        nullable: false
        description: 'a: b, it''s'
      on:
        data_type: text (see - there)
        x-list:
        - 1
        - -2.5
        - 2024-01-02
        - re:^a$
    references: []
settings: {}
previous_hashes:
  - null
  - 012
"""

EVERY_FORM = """\
# head
a: &a {x: 1, y: [b, "c\\td", 'it''s'],}   # behind
? b
: |
  text

  more
c: >-
  folded
  text

d: plain over
  two lines
e:
- 1
-
- - x
  - {<<: *a, y: 2}
f: !!str 12
g:
h: é𝄞 x
"""


def parsed(text: str, path: str = "a.yaml") -> Node:
    return parse_yaml(Source(path, text))


def by_library(text: str) -> Node:
    """The tree of the full parser."""
    return yaml_events.parse_events(Source("a.yaml", text), text)


def outcome(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except InputError as error:
        return str(error)


def scalars(node: Node) -> list[Scalar]:
    if isinstance(node, Scalar):
        return [node]
    if isinstance(node, Alias):
        return []
    parts = [part for entry in node.entries for part in entry] if isinstance(node, Mapping) else node.items
    return [scalar for part in parts for scalar in scalars(part)]


def block_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.y*ml"))


# Values and places


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("text", [PLAIN, EVERY_FORM])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_values_are_those_of_dlts_library(text: str, newline: str, mark: str):
    if newline == "\n\n" and text is EVERY_FORM:
        pytest.skip("blank lines have a meaning within texts")
    text = mark + text.replace("\n", newline)
    assert value_of(parsed(text)) == yaml.safe_load(text)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_scalars_stand_where_the_tree_says(mark: str):
    text = mark + EVERY_FORM.replace("\n", "\r\n")
    starts = {scalar.start for scalar in scalars(parsed(text))}
    for place in ("a: &a", '"c\\td"', "'it''s'", "!!str 12", "é𝄞 x", "plain over\r\n", "h:", "|\r\n"):
        assert text.index(place) in starts


def test_what_is_written_is_read_line_by_line():
    assert read_block_lines(PLAIN) is not None
    assert read_block_lines(write(new_schema("shop"))) is not None
    assert read_block_lines(EVERY_FORM) is None


def test_both_readers_give_one_tree_of_known_schemas(conformance: OutsideData):
    files = block_files(conformance("dlt/schemas"))
    assert files
    read_by_lines = 0
    for file in files:
        text = file.read_text()
        by_lines = read_block_lines(text)
        read_by_lines += by_lines is not None
        assert by_lines is None or repr(by_lines) == repr(by_library(text)), file
    assert read_by_lines >= 3


INDENTS = ["", "", "  ", "  ", "    ", " "]
KEYS = [
    "a:", "b: ", "c: ", "d: ", "- ", "on: ", "'k': ", "re:x: ", "a b: ", "1: ", "<<: ", "? ", "e:  ", "null: ", "- -",
]  # fmt: skip
VALUES = [
    *("", "", "x", "[]", "{}", "true", "012", "-1", "a#b", "a:b", "(1 = 2)", "a - b", "1:30", "2024-01-02", "null"),
    *("'it''s'", "'x\ty'", "é", "+a/=", "a ? b", "a, b", "1" * 20),
    *("'", '"q"', "{a}", "- 1", "a: b", "a #b", "x  y", "x y ", "2024-13-01", "&a x", "*a", "!x", "|", "---", "..."),
    *("x\ty", "~", "@x", "a:", "# c"),
]
LINES = st.builds("{}{}{}".format, st.sampled_from(INDENTS), st.sampled_from(KEYS), st.sampled_from(VALUES))


@settings(max_examples=600)
@given(lines=st.lists(LINES, min_size=1, max_size=6), end=st.sampled_from(["", "\n", "\n\n"]))
def test_both_readers_give_one_tree(lines: list[str], end: str):
    text = "\n".join(lines) + end
    by_lines = read_block_lines(text)
    if by_lines is not None:
        assert repr(by_lines) == repr(by_library(text))


@given(data=st.data())
def test_a_damaged_export_is_read_alike(data: st.DataObject):
    place = data.draw(st.integers(0, len(PLAIN)))
    length = data.draw(st.integers(0, 12))
    damage = data.draw(st.text("{}[]:,-#&*!|>'\"%@` \n\t0aé<=?.~", max_size=4))
    text = PLAIN[:place] + damage + PLAIN[place + length :]
    by_lines = read_block_lines(text)
    if by_lines is not None:
        assert repr(by_lines) == repr(by_library(text))


@given(data=st.data())
def test_what_dlts_library_refuses_is_refused_and_the_rest_is_the_same(data: st.DataObject):
    start = data.draw(st.sampled_from([PLAIN, EVERY_FORM]))
    place = data.draw(st.integers(0, len(start)))
    length = data.draw(st.integers(0, 12))
    # Without `?`, `!`, `|`, `>` and `=`, of which libyaml takes a few odd forms that PyYAML's own parser does not.
    damage = data.draw(st.text("{}[]:,-#&*'\"%@` \n\t0aé<.~", max_size=4))
    text = start[:place] + damage + start[place + length :]
    assume(not any(odd in text for odd in (":}", ":,", ":]", "=", "{?", "!")) or start is PLAIN)
    try:
        expected = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError):
        assert isinstance(outcome(parsed, text), str)
    else:
        node = outcome(parsed, text)
        if not isinstance(node, str):
            assert value_of(node) == expected


def test_a_tab_is_refused_where_dlt_refuses_it():
    for text in ("a: b\t# c\n", "a: [b\t]\n", "a:\n  b: c\n\t\n", "a:\tb\n"):
        with pytest.raises(yaml.YAMLError):
            yaml.safe_load(text)
        assert "a tab is not allowed" in outcome(parsed, text)
    for text in ("a: 'b\tc'\n", "a: b #\tc\n#\tc\n", "a: |\n  b\tc\t\n", 'a: "\t"\nb: c # "\t"\n'):
        assert value_of(parsed(text)) == yaml.safe_load(text)


def test_an_empty_value_in_braces_can_be_located():
    assert [scalar.value for scalar in scalars(parsed("{a: , b: }"))] == ["a", None, "b", None]


# Hostile and wrong files, as processes


def schema_text(rest: str = "") -> str:
    return write(new_schema("shop")) + rest


def bomb() -> str:
    return "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))


HOSTILE = {
    "syntax error": (schema_text("x-a: [1, 2\n").encode(), "", "brackets"),
    "conflict": (schema_text("<<<<<<< HEAD\nx-a: 1\n=======\nx-a: 2\n>>>>>>> b\n").encode(), "merge", "conflict"),
    "two tables": (schema_text().replace("  _dlt_loads:", "  _dlt_version:").encode(), "is duplicated here", "rename"),
    "50 MB": (b"a: bcdefgh\n" * 4_700_000, "too large", "characters"),
    "alias bomb": (bomb().encode(), "aliases repeat too much", "aliases can repeat"),
    "nesting": (b"x-a: " + b"[" * 1_000_000, "nested deeper", ""),
    "nesting in lines": ("".join(" " * depth + "a:\n" for depth in range(2_000)).encode(), "nested deeper", ""),
    "junk": (bytes(range(256)) * 4096, "not UTF-8", "text"),
    "UTF-16": (schema_text().encode("utf-16"), "not UTF-8", "UTF-8"),
    "UTF-16 without mark": (schema_text().encode("utf-16-le"), "U+0000", "the file is text"),
    "NUL": (schema_text("x-a: b\0c\n").encode(), "U+0000", "the file is text"),
    "newer engine": (
        schema_text().replace("engine_version: 11", "engine_version: 99").encode(),
        "99",
        "update schemactl",
    ),
    "empty": (b"", "empty", "written to the end"),
    "list": (b"- a\n- b\n", "is not a mapping", "name"),
    "quotes to the end": (b'x-a: "' + b"b" * 8_000_000, "the quote that opens here is not closed", "same quote"),
    "JSON with more behind": (write(new_schema("shop"), "a.json").encode() + b" {}", "ends before this", "one value"),
}
SECONDS, MEGABYTES = 2, 500
MEASURE = """
import os, resource, sys
from pathlib import Path
from schemactl.errors import InputError
from schemactl.formats.dlt import read
from schemactl.store.text import read_text
for path in sys.argv[1:]:
    if os.fork():  # each file in a process of its own, with a memory of its own
        os.wait()
        continue
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        read(read_text(Path(path)), path)
    except InputError as error:
        after = resource.getrusage(resource.RUSAGE_SELF)
        # ru_maxrss would count what the parent held when it started this process.
        most = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        text = repr((str(error), str(error.hint), seconds, int(most.split()[1]) // 1024))
        Path(path).with_suffix(".measured").write_text(text)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each hostile file, and beside it what came of reading it."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, (content, *_) in HOSTILE.items():
        hostile_file(folder, name).write_bytes(content)
    files = [str(hostile_file(folder, name)) for name in HOSTILE]
    subprocess.run([sys.executable, "-c", MEASURE, *files], check=True)
    return folder


def hostile_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.{'json' if name.startswith('JSON') else 'yaml'}"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_is_refused_in_time_and_bounded_memory(name: str, hostile: Path):
    _, reported, hint = HOSTILE[name]
    file = hostile_file(hostile, name)
    message, given_hint, seconds, megabytes = ast.literal_eval(file.with_suffix(".measured").read_text())
    assert str(file) in message.splitlines()[0]
    assert reported in f"{message}\n{given_hint}"
    assert hint in given_hint.splitlines()[-1]
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


@pytest.mark.parametrize("written", ["'a\u2028b'", '"a\u2029b\u2028c"', "a\u2028  b"])
def test_unicodes_line_separators_are_read_as_the_library_reads_them(written):
    text = f"{schema_text().rstrip()}\ndescription: {written}\nx-last: 1\n"
    schema = read(text, "a.yaml").schema
    assert schema.description == yaml.safe_load(text)["description"]
    assert schema.extensions == {"x-last": 1}


@pytest.mark.parametrize("head", ["", "# by hand\n"])
def test_a_file_takes_time_in_proportion_to_its_columns(head: str, tmp_path: Path):
    file = tmp_path / "a.yaml"

    def read_columns(count: int) -> None:
        columns = "".join(
            f"      c{number}:\n        data_type: bigint\n        nullable: {'true' if number % 2 else 'false'}\n"
            for number in range(count)
        )
        text = schema_text().replace("tables:\n", f"tables:\n  orders:\n    columns:\n{columns}", 1)
        file.write_text(head + text)
        assert len(read(read_text(file), str(file)).schema.tables["orders"].columns) == count

    assert growth(read_columns, 1500) < LINEAR


def test_reading_leaves_the_garbage_collector_as_it_was():
    for text in (schema_text(), "a: ["):
        outcome(lambda text: read(text, "a.yaml"), text)
        assert gc.isenabled()
    gc.disable()
    try:
        read(schema_text(), "a.yaml")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_places_are_found_by_key_its_type_and_what_is_taken_in():
    text = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\nt:\n  1: x\n  '1': y\n  <<: [*base, *more]\n  a: 5\n"
    root = parse_yaml(Source("x.yaml", text))

    def at(*keys: str | int) -> str:
        return text[Finder(root).find(keys) :].partition("\n")[0]

    assert at("t", 1) == "1: x"
    assert at("t", "1") == "'1': y"
    assert at("t", "a") == "a: 5"
    assert at("t", "b").startswith("b: 2")
    assert at("t", "c").startswith("c: 4")
    assert at("t", "none") == "t:"


def test_to_find_many_places_takes_one_look_at_each_mapping(monkeypatch):
    looked_at = []

    class Entries(tuple):
        def __iter__(self):
            looked_at.append(len(self))
            return super().__iter__()

        def __reversed__(self):
            looked_at.append(len(self))
            return iter(self[::-1])

    root = parse_yaml(Source("x.yaml", "".join(f"c{number}: {{}}\n" for number in range(1000))))
    finder = Finder(root._replace(entries=Entries(root.entries)))
    offsets = [finder.find((f"c{number}",)) for number in range(1000)]

    assert offsets == sorted(set(offsets))
    assert sum(looked_at) <= 2000
