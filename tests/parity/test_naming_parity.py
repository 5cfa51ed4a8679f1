"""Our naming conventions against those of dlt itself, function for function."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.schema.naming import load_naming

pytest.importorskip("dlt")

CONVENTIONS = ("snake_case", "duck_case", "direct", "sql_ci_v1", "sql_cs_v1", "s3_tables")
LENGTHS = (None, 0, 1, 5, 6, 7, 8, 20, 21, 63, 255)
UNARY = ("normalize_identifier", "normalize_table_identifier", "normalize_path", "normalize_tables_path")

RAISED = "raises"

HARD = (
    "", " ", "\u00a0", "\x1c", "_", "__", "___", "#_#", "▶", "a▶b", "▶▶a", "id", "ID", "userName",
    "HTTPServer", "getHTTPResponseCode", "parseURL2", "ABc", "aBC", "event__value", "event___value",
    "id_", "id__", "id___", "1st", "\u0663a", "a\u0663B", "\u00b2", "\u00bdx", "a-b+c*d@e|f", "straße",
    "\u0130d", "\u01c5", "\u212a", "日本語", "\U0001f469\u200d\U0001f467", "e\u0301t", 'say "it"', "it's",
    "a\nb", "a\r\nb", "\ta", "a.b.c", "_dlt_id", "_dlt_loads", "__dlt", "_ _",
    "x" * 300, "aB" * 200, "a__" * 60, "parentTable__childWithAVeryLongName__x", "\ud800", "a\udfff" * 20,
)  # fmt: skip

words = st.text(alphabet="abcXYZ019_ -+*@|'\"\n\r\t▶.é٣", max_size=40)
texts = st.text(st.characters(), max_size=60)  # half surrogates included
paths = st.lists(words | texts, max_size=5).flatmap(
    lambda parts: st.sampled_from(("__", "▶", "_", ".")).map(lambda joint: joint.join(parts))
)
names = st.one_of(words, texts, paths, st.sampled_from(HARD))


def outcome(call: Callable[..., Any], *args: str, refusals: tuple[type[Exception], ...]) -> Any:
    try:
        return call(*args)
    except refusals:
        return RAISED


def theirs_of(convention: str, max_length: int | None) -> Any:
    return import_module(f"dlt.common.normalizers.naming.{convention}").NamingConvention(max_length)


def both(convention: str, max_length: int | None, function: str, *args: str) -> tuple[Any, Any]:
    ours, theirs = load_naming(convention, max_length), theirs_of(convention, max_length)
    return (
        outcome(getattr(ours, function), *args, refusals=(InputError,)),
        outcome(getattr(theirs, function), *args, refusals=(ValueError, AssertionError)),
    )


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_hard_names(convention: str, function: str) -> None:
    for max_length in LENGTHS:
        for name in HARD:
            ours, theirs = both(convention, max_length, function, name)
            assert ours == theirs, (name, max_length)


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(name=names, max_length=st.sampled_from(LENGTHS))
@example(name="", max_length=None)
def test_any_name(convention: str, function: str, name: str, max_length: int | None) -> None:
    ours, theirs = both(convention, max_length, function, name)
    assert ours == theirs


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(path=names)
def test_break_path(convention: str, path: str) -> None:
    ours, theirs = both(convention, None, "break_path", path)
    assert list(ours) == list(theirs)


@pytest.mark.parametrize("function", ["make_path", "shorten_fragments"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(parts=st.lists(names, min_size=1, max_size=5), max_length=st.sampled_from(LENGTHS))
def test_joins(convention: str, function: str, parts: list[str], max_length: int | None) -> None:
    ours, theirs = both(convention, max_length, function, *parts)
    assert ours == theirs


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_no_fragments_are_an_empty_name_where_dlt_has_none(convention: str) -> None:
    assert both(convention, 63, "shorten_fragments") == ("", None)


@pytest.mark.parametrize("max_length", LENGTHS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_attributes(convention: str, max_length: int | None) -> None:
    ours, theirs = load_naming(convention, max_length), theirs_of(convention, max_length)
    assert ours.path_separator == theirs.PATH_SEPARATOR
    assert ours.is_case_sensitive == theirs.is_case_sensitive
    assert ours.max_length == theirs.max_length


def test_beyond_the_limit_of_s3_tables_both_refuse() -> None:
    with pytest.raises(ValueError, match="255"):
        theirs_of("s3_tables", 256)
    with pytest.raises(InputError, match="255"):
        load_naming("s3_tables", 256)


@pytest.mark.parametrize("method", [*UNARY, "break_path", "make_path", "shorten_fragments"])
@given(name=names, max_length=st.sampled_from((None, 7, 20)))
def test_a_class_that_derives_from_dlts_is_used_as_it_is(method: str, name: str, max_length: int | None) -> None:
    from schemactl.schema.naming import ForeignNaming

    made_by = import_module("dlt.common.normalizers.naming.snake_case").NamingConvention
    ours, theirs = ForeignNaming(made_by, max_length), made_by(max_length)
    found = outcome(getattr(ours, method), name, refusals=(InputError,))
    wanted = outcome(getattr(theirs, method), name, refusals=(ValueError, AssertionError))
    assert found == wanted


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("dlt.common.normalizers.naming.duck_case", "duck_case"),
        ("dlt.common.normalizers.naming.sql_cs_v1.NamingConvention", "sql_cs_v1"),
        ("dlt.common.normalizers.names.snake_case", "snake_case"),
        ("direct", "direct"),
        ("direct.NamingConvention", "direct"),
    ],
)
def test_references_mean_what_they_mean_in_dlt(reference: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dlt.common.schema import Schema

    monkeypatch.setenv("SCHEMA__NAMING", reference)
    theirs = Schema("any").naming
    assert theirs.name() == name
    source = "Some Name__for▶'All'_"
    assert load_naming(reference).normalize_path(source) == theirs.normalize_path(source)


@pytest.mark.parametrize("reference", ["nope", "Snake_Case", "json", "a.b", "dlt.common.normalizers.names.duck_case"])
def test_unknown_references_are_refused_by_both(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dlt.common.schema import Schema

    monkeypatch.setenv("SCHEMA__NAMING", reference)
    with pytest.raises(ImportError):
        Schema("any")
    with pytest.raises(InputError):
        load_naming(reference)
