"""Types of structs, lists and maps side by side: which fields the next load brings."""

from __future__ import annotations

import pytest

from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.duckdb.types import gains
from schemactl.destinations.iceberg.migration import ABILITIES as ICEBERG


@pytest.mark.parametrize(
    ("there", "wanted", "fields"),
    [
        ("struct<a:bigint>", "struct<a:bigint,b:string>", ("b",)),
        ("struct<a:bigint>", "struct<b:string,a:bigint>", ("b",)),
        ("struct<a:bigint,b:string>", "struct<b:string,a:bigint>", ()),
        ("array<struct<c:struct<d:date>>>", "array<struct<c:struct<d:date,e:date>,f:time>>", ("[].c.e", "[].f")),
        ("map<string,struct<a:int>>", "map<string,struct<a:int,b:int>>", ("[].b",)),
    ],
)
def test_new_fields_are_named_whatever_their_place(there: str, wanted: str, fields: tuple[str, ...]) -> None:
    assert gained_by_ddl(there, wanted) == fields


@pytest.mark.parametrize(("there", "wanted"), [
    ("struct<a:bigint,b:string>", "struct<a:bigint>"), ("struct<a:string>", "struct<a:bigint>"),
    ("struct<a:string>", "struct<a:bigint,b:date>"), ("struct<A:string>", "struct<a:string>"),
    ("array<bigint>", "struct<a:bigint>"), ("decimal(10,2)", "decimal(12,2)"), ("struct<a:int>", "struct<a:bigint>"),
    ("array<struct<a:float>>", "array<struct<a:double,b:date>>"), ("uuid", "struct<a:bigint>"),
])  # fmt: skip
def test_what_loads_do_not_bring_is_none_of_theirs(there: str, wanted: str) -> None:
    assert gained_by_ddl(there, wanted) is None


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("struct<d:decimal(10,2)>", "struct<d:decimal(12,2)>"),
        ("struct<d:int>", "struct<d:bigint>"),
        ("struct<d:float>", "struct<d:double>"),
    ],
)
def test_what_a_format_widens_in_place_is_gained(there: str, wanted: str) -> None:
    assert gained_by_ddl(there, wanted) is None
    assert ICEBERG.gains(there, wanted) == ("d",)


def test_duckdb_says_the_same_in_its_own_words() -> None:
    there = 'STRUCT(a BIGINT, "b c" VARCHAR[])'
    assert gains(there, 'STRUCT("a" BIGINT, "b c" VARCHAR[], "n" STRUCT("x" DATE))') == ("n",)
    assert gains(there, 'STRUCT("a" BIGINT)') is None
    assert gains("UUID", 'STRUCT("a" BIGINT)') is None
