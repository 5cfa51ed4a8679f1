"""Spark's type strings of VARIANTs, read back."""

from __future__ import annotations

import pytest

from schemactl.engine.document_types import document_type, with_own_types
from schemactl.engine.shapes import cut_shape, may_hide_large_integers, parse_shape, split_fields
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


def test_fields_are_split_from_lists_with_the_objects_above_them() -> None:
    shape = parse_shape(
        "OBJECT<a: STRING, b: OBJECT<c: ARRAY<OBJECT<d: BIGINT>>, e: BIGINT>, f: OBJECT<g: ARRAY<STRING>>>"
    )
    fields, rest = split_fields(shape)

    assert fields is not None
    assert rest is not None
    assert {path for path, _ in fields.walk()} == {(), ("a",), ("b",), ("b", "e")}
    told_twice = {path for path, _ in fields.walk()} & {path for path, _ in rest.walk()}
    assert told_twice == {(), ("b",)}
    assert {path for path, _ in fields.walk()} | {path for path, _ in rest.walk()} == {path for path, _ in shape.walk()}


@pytest.mark.parametrize("text", ["ARRAY<STRING>", "OBJECT<a: ARRAY<STRING>>", "OBJECT<>", "OBJECT<_dlt_id: OBJECT<>>"])
def test_shape_without_fields_is_not_split(text: str) -> None:
    shape = parse_shape(text)

    assert split_fields(shape) == (None, shape)


def test_shape_of_fields_alone_has_no_rest() -> None:
    shape = parse_shape("OBJECT<a: STRING, b: OBJECT<c: VARIANT>>")

    assert split_fields(shape) == (shape, None)


def test_an_object_whose_row_key_is_a_list_is_told_with_its_lists() -> None:
    shape = parse_shape("OBJECT<a: STRING, b: OBJECT<_dlt_id: ARRAY<STRING>, c: BIGINT>>")
    fields, rest = split_fields(shape)

    assert fields is not None
    assert rest is not None
    assert {path for path, _ in fields.walk()} == {(), ("a",)}
    assert ("b", "c") in {path for path, _ in rest.walk()}


def test_values_are_read_as_what_they_are_unless_they_may_be_null() -> None:
    text = "OBJECT<a: STRING, n: STRING, o: OBJECT<i: BIGINT, n: BIGINT, d: DOUBLE>, l: ARRAY<BOOLEAN>, m: VARIANT>"
    read = document_type(with_own_types(parse_shape(text), {"n"}))

    assert read.simpleString() == (
        "struct<a:string,n:variant,o:struct<i:bigint,n:variant,d:variant>,l:array<boolean>,m:variant>"
    )


def test_where_nulls_are_not_known_all_values_are_variants() -> None:
    read = document_type(parse_shape("OBJECT<a: STRING, l: ARRAY<BIGINT>>"))

    assert read.simpleString() == "struct<a:variant,l:array<variant>>"


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
