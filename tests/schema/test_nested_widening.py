"""Types of structs, lists and maps that hold the values of narrower ones."""

from __future__ import annotations

import pytest

from schemactl.schema.conversions import Conversion
from schemactl.schema.nested_types import INSIDE, Leaf, read_type, write_type
from schemactl.schema.nested_widening import (
    fields_of,
    fit_structures,
    has_json_of_scalars,
    has_wider_fields,
    widened_structure,
    with_field,
)


@pytest.mark.parametrize(
    ("stored", "declared", "widened"),
    [
        ("struct<a:bigint>", "struct<a:double>", "struct<a:double>"),
        ("struct<a:bigint>", "struct<b:date,a:bigint>", "struct<a:bigint,b:date>"),
        ("array<bigint>", "array<decimal(38,9)>", "array<decimal(38,9)>"),
        ("array<struct<a:array<bigint>>>", "array<struct<a:array<double>>>", "array<struct<a:array<double>>>"),
        ("map<string,bigint>", "map<string,decimal(38,0)>", "map<string,decimal(38,0)>"),
        ("struct<a:date>", "struct<a:timestamp>", "struct<a:timestamp>"),
        ("struct<a:decimal(10,2)>", "struct<a:decimal(38,9)>", "struct<a:decimal(38,9)>"),
        ("struct<a:int>", "struct<a:bigint>", "struct<a:bigint>"),
        ("struct<a:double>", "struct<a:bigint>", None),
        ("struct<a:double>", "struct<a:decimal(38,9)>", None),
        ("struct<a:decimal(10,2)>", "struct<a:decimal(10,1)>", None),
        ("struct<a:boolean>", "struct<a:bigint>", None),
        ("struct<a:bigint>", "struct<a:string>", "struct<a:string>"),
        ("struct<a:string>", "struct<a:bigint>", None),
        ("struct<a:bigint>", "struct<a:string COMMENT 'json'>", None),
        ("struct<a:bigint>", "struct<A:bigint>", None),
        ("struct<a:bigint>", "array<bigint>", None),
        ("struct<a:bigint>", "struct<a:struct<b:bigint>>", None),
    ],
)
def test_a_structure_is_wider_by_its_fields(stored: str, declared: str, widened: str | None) -> None:
    types = read_type(stored, keeps_sizes=True), read_type(declared, keeps_sizes=True)

    answer = widened_structure(*types)

    assert (answer and write_type(answer)) == widened
    assert (fit_structures(*types).conversion is Conversion.REFUSED) == (widened is None)


@pytest.mark.parametrize(
    ("stored", "declared", "conversion"),
    [
        ("struct<a:bigint>", "struct<a:bigint,b:date>", Conversion.WHOLE),
        ("struct<a:int>", "struct<a:double>", Conversion.WHOLE),
        ("struct<a:bigint,b:int>", "struct<a:double,b:bigint>", Conversion.LOSES),
        ("struct<a:bigint,b:date>", "struct<a:bigint>", Conversion.REFUSED),
    ],
)
def test_values_of_fields_decide_whether_all_survive(stored: str, declared: str, conversion: Conversion) -> None:
    types = read_type(stored, keeps_sizes=True), read_type(declared, keeps_sizes=True)

    assert fit_structures(*types).conversion is conversion


def test_new_fields_alone_are_no_wider_ones() -> None:
    stored = read_type("struct<a:bigint>")

    assert not has_wider_fields(stored, read_type("struct<a:bigint,b:bigint>"))
    assert has_wider_fields(stored, read_type("struct<a:double,b:bigint>"))


@pytest.mark.parametrize(
    ("stored", "declared", "is_json"),
    [
        ("struct<a:bigint>", "struct<a:string COMMENT 'json'>", True),
        ("struct<a:array<struct<b:date>>>", "struct<a:array<struct<b:string COMMENT 'json'>>>", True),
        ("struct<a:string>", "struct<a:string COMMENT 'json'>", False),
        ("struct<a:bigint>", "struct<a:string,b:string COMMENT 'json'>", False),
    ],
)
def test_scalars_that_become_json_are_told_from_texts(stored: str, declared: str, is_json: bool) -> None:
    assert has_json_of_scalars(read_type(stored), read_type(declared)) is is_json


def test_a_field_is_replaced_at_its_path() -> None:
    of = read_type("struct<lines:array<struct<n:bigint>>,m:map<string,bigint>>")

    widened = with_field(with_field(of, ("lines", INSIDE, "n"), Leaf("double")), ("m", INSIDE), Leaf("date"))

    assert write_type(widened) == "struct<lines:array<struct<n:double>>,m:map<string,date>>"
    assert [path for path, _ in fields_of(of)][-1] == ("m", INSIDE)
