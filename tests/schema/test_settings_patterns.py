"""Patterns of a schema: whole names or regular expressions, searched for a bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.schema.paths import compile_path, format_path, parse_path
from schemactl.schema.settings import Settings, compile_pattern
from schemactl.schema.types import DataType
from schemactl.schema.validation import prefixed

ENDLESS = ["(a+)+$", "(a|a)*$", "(aa?)*$", "(.*)*x", "(?:a{1,20}){1,20}$", "a?" * 30 + "a" * 30 + "b"]
REGEXES = ["a*b+", "(?i)A|b", r"^\d+$", "[a-c]{2,3}x?", r"\w$", "a.c"]


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("id", "id", True),
        ("id", "my_id", False),
        ("a.b", "axb", False),
        ("re:_ts$", "created_ts", True),
        ("re:_ts$", "ts_created", False),
        ("re:^a$", "a", True),
        ("re:(a+)+$", "aaaa", True),
    ],
)
def test_patterns_are_whole_names_or_regular_expressions(pattern, name, matches):
    assert compile_pattern(pattern).search(name) is matches


@pytest.mark.parametrize("pattern", [f"re:{each}" for each in ENDLESS])
def test_a_pattern_that_does_not_end_is_given_up(pattern, monkeypatch):
    monkeypatch.setattr("schemactl.schema.settings.LIMIT_SECONDS", 0.1)
    with pytest.raises(InputError, match="takes too long") as caught:
        Settings.of({"preferred_types": {pattern: "text"}}).preferred_type("a" * 40 + "!")
    assert pattern in caught.value.message


def test_a_name_of_any_length_is_searched():
    assert compile_pattern("re:^a+$").search("a" * 1_000_000)
    assert not compile_pattern("re:^a+b?$").search("a" * 1_000_000 + "!")


@given(st.sampled_from(REGEXES), st.text("abcx1\n ", max_size=12))
def test_what_ends_is_what_python_and_so_dlt_finds(regex, name):
    assert compile_pattern(f"re:{regex}").search(name) is (re.search(regex, name) is not None)


def test_a_long_name_gets_a_clock_for_a_quick_pattern_as_well(monkeypatch):
    monkeypatch.setattr("schemactl.schema.settings.LIMIT_SECONDS", 0.05)
    with pytest.raises(InputError, match="takes too long"):
        compile_pattern("re:a+b").search("a" * 60_000)


@pytest.mark.parametrize(
    ("pattern", "path", "at", "above", "below"),
    [
        ("path:$.orders[*].id", ("orders", None, "id"), True, True, False),
        ("path:$.orders[*].id", ("orders", "id"), False, False, False),
        ("path:$.orders", ("orders", None, "id"), False, True, False),
        ("path:$.orders[*].id", ("orders",), False, False, True),
        ("path:$.meta.*", ("meta", "a"), True, True, False),
        ("path:$.meta.*", ("meta", None), False, False, False),
        ("path:$['a.b']['it\\'s \"x\"']", ("a.b", 'it\'s "x"'), True, True, False),
        ("path:$['*']", ("a",), False, False, False),
        ("path:$", (), True, True, False),
    ],
)
def test_paths_name_values_and_what_is_around_them(pattern, path, at, above, below):
    found = compile_path(pattern)
    assert (found.is_at(path), found.is_at_or_above(path), found.is_below(path)) == (at, above, below)


@given(st.lists(st.none() | st.text(), max_size=5).map(tuple))
def test_a_path_is_read_as_it_is_written(path):
    assert parse_path(format_path(path)) == path


@pytest.mark.parametrize("pattern", ["path:orders", "path:$.", "path:$.a[0]", "path:$..a", "path:$['a]"])
def test_what_is_no_path_is_refused(pattern):
    with pytest.raises(InputError, match="is not a path in the data"):
        compile_path(pattern)
    (finding,) = prefixed(pattern, ("settings",))
    assert finding.hint


def test_hints_and_types_go_by_the_path_of_the_first_value():
    settings = Settings.of(
        {"default_hints": {"unique": ["path:$.o[*].id"]}, "preferred_types": {"path:$.o[*].id": "text", "id": "double"}}
    )
    assert settings.column_hints("id", ("o", None, "id")) == {"nullable": True, "unique": True}
    assert settings.column_hints("id", ("id",)) == settings.column_hints("id") == {"nullable": True}
    assert settings.preferred("id", ("o", None, "id")) == ("path:$.o[*].id", DataType.TEXT)
    assert settings.preferred_type("id", ("id",)) is DataType.DOUBLE
