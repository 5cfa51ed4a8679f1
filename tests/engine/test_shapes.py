"""Spark's type strings of VARIANTs, read back."""

from __future__ import annotations

import pytest

from schemactl.engine.shapes import cut_shape, may_hide_large_integers, parse_shape
from schemactl.inference.paths import ELEMENT


def test_keys_of_any_kind_are_read_back() -> None:
    shape = parse_shape("OBJECT<`a``b: c`: ARRAY<OBJECT<x: BIGINT>>, `>, `: STRING, plain: DECIMAL(3,1)>")

    assert [path for path, _ in shape.walk() if path and path[-1] is not ELEMENT] == [
        ("plain",),
        (">, ",),
        ("a`b: c",),
        ("a`b: c", ELEMENT, "x"),
    ]
    assert shape.children["plain"].scalars == {"DECIMAL(3,1)"}
    assert shape.children["a`b: c"].is_list


def test_kinds_that_meet_are_all_kept() -> None:
    shape = parse_shape("OBJECT<a: STRING>")
    shape.absorb(parse_shape("OBJECT<a: OBJECT<b: VARIANT>>"))

    inner = shape.children["a"]
    assert (inner.is_object, inner.is_nested, inner.scalars) == (False, True, {"STRING"})
    assert inner.children["b"].is_mixed


def test_null_alone_is_nothing() -> None:
    shape = parse_shape("OBJECT<a: VOID, b: ARRAY<VOID>, c: OBJECT<>>")

    assert not shape.children["a"].is_nested
    assert not shape.children["a"].scalars
    assert shape.children["b"].is_list
    assert shape.children["c"].is_object


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("OBJECT<a: BIGINT, b: DECIMAL(3,1)>", False),
        ("OBJECT<a: DECIMAL(19,0)>", True),
        ("OBJECT<a: DECIMAL(22,2)>", True),
        ("OBJECT<a: DOUBLE>", True),
        ("ARRAY<VARIANT>", True),
    ],
)
def test_large_integers_are_looked_for_where_they_may_be(text: str, may: bool) -> None:
    assert may_hide_large_integers(text) is may


def test_shape_that_is_not_deep_is_not_cut() -> None:
    shape = parse_shape("OBJECT<a: ARRAY<BIGINT>>")

    assert cut_shape(shape) == (shape, {})


def test_deep_lists_are_cut_and_kept_by_path() -> None:
    shape = parse_shape("ARRAY<" * 60 + "BIGINT" + ">" * 60)

    top, deep = cut_shape(shape)

    [(path, inner)] = deep.items()
    assert dict(top.walk())[path].is_mixed
    assert inner.is_list
    assert len(path) + sum(1 for _ in inner.walk()) == 61
