"""DuckDB converts the scalars inside of structs, lists and maps, for its own tables and for tables on files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.destinations.duckdb.conversion import convert, register
from schemactl.destinations.duckdb.types import duckdb_type
from schemactl.migration.statements import Retype
from schemactl.schema.nested_types import read_type
from schemactl.schema.types import Column


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection)
        yield connection


def column(written: str) -> Column:
    return Column("v", {"x-database-type": written})


def converted(
    connection: duckdb.DuckDBPyConnection, before: str, after: str, values: list[Any], *, in_ddl: bool = False
) -> list[tuple[bool, Any]]:
    """Return for each value whether it survives, and its converted value."""
    stored_type, new_type = (duckdb_type(read_type(of, keeps_sizes=True)) for of in (before, after))
    retype = Retype(*map(column, (before, after) if in_ddl else (stored_type, new_type)))
    expressions = convert(retype, "v")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE given (n INT, v {stored_type})")
    for number, value in enumerate(values):
        connection.execute("INSERT INTO given VALUES (?, ?)", [number, value])
    query = f"SELECT v IS NULL OR ({expressions.fits}), {expressions.or_null} FROM given ORDER BY n"
    return [tuple(row) for row in connection.execute(query).fetchall()]  # type: ignore[misc]


LARGE = 2**53 + 1
CASES = [
    ("struct<a:bigint>", "struct<a:double>", {"a": 1}, {"a": 1.0}),
    ("struct<a:bigint>", "struct<a:double>", {"a": None}, {"a": None}),
    ("struct<a:bigint>", "struct<a:double>", None, None),
    ("struct<a:bigint>", "struct<a:double>", {"a": LARGE}, ...),
    ("struct<a:bigint>", "struct<a:decimal(38,9)>", {"a": LARGE}, {"a": Decimal(LARGE)}),
    ("struct<a:bigint>", "struct<b:string,a:bigint>", {"a": 5}, {"b": None, "a": 5}),
    ("struct<a:bigint,b:string>", "struct<a:bigint>", {"a": 5, "b": None}, {"a": 5}),
    ("struct<a:bigint,b:string>", "struct<a:bigint>", {"a": 5, "b": "x"}, ...),
    ("struct<`it's`:bigint,`A b`:date>", "struct<`it's`:double,`A b`:date>", {"it's": 1, "A b": None},
     {"it's": 1.0, "A b": None}),
    ("array<bigint>", "array<double>", [1, None, 2], [1.0, None, 2.0]),
    ("array<bigint>", "array<double>", [], []),
    ("array<bigint>", "array<double>", None, None),
    ("array<bigint>", "array<double>", [1, LARGE], ...),
    ("array<double>", "array<bigint>", [1.0, 2.5], ...),
    ("array<array<bigint>>", "array<array<double>>", [[1], None, [None]], [[1.0], None, [None]]),
    ("array<array<bigint>>", "array<array<double>>", [[1], [2, LARGE]], ...),
    ("array<struct<n:bigint>>", "array<struct<n:double>>", [{"n": 1}, None], [{"n": 1.0}, None]),
    ("array<struct<n:bigint>>", "array<struct<n:double>>", [{"n": 1}, {"n": LARGE}], ...),
    ("map<string,bigint>", "map<string,double>", {"a": 1, "b": None}, {"a": 1.0, "b": None}),
    ("map<string,bigint>", "map<string,double>", {"a": LARGE}, ...),
    ("map<string,bigint>", "map<string,double>", None, None),
    ("struct<d:date>", "struct<d:timestamp>", {"d": date(2024, 2, 29)}, {"d": datetime(2024, 2, 29, tzinfo=UTC)}),
    ("struct<d:decimal(10,2)>", "struct<d:decimal(38,9)>", {"d": Decimal("1.25")}, {"d": Decimal("1.25")}),
]  # fmt: skip


@pytest.mark.parametrize("in_ddl", [False, True])
@pytest.mark.parametrize(("before", "after", "value", "expected"), CASES)
def test_values_inside_are_converted_or_do_not_survive(
    connection: duckdb.DuckDBPyConnection, before: str, after: str, value: Any, expected: Any, in_ddl: bool
) -> None:
    ((survives, result),) = converted(connection, before, after, [value], in_ddl=in_ddl)

    assert survives is (expected is not ...)
    if expected is not ...:
        assert result == expected


INTEGERS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53, LARGE, -LARGE, 0, 2**63 - 1, -(2**63)]),
    st.integers(-100, 100),
)


@given(st.lists(INTEGERS, max_size=4), INTEGERS)
def test_exactly_the_values_within_2_to_the_53_become_doubles(items: list[int | None], field: int | None) -> None:
    with duckdb.connect() as own:
        register(own)
        value = {"xs": items, "n": field}
        types = ("struct<xs:array<bigint>,n:bigint>", "struct<xs:array<double>,n:double>")

        ((survives, result),) = converted(own, *types, [value])

    numbers = [number for number in (*items, field) if number is not None]
    assert survives == all(abs(number) <= 2**53 for number in numbers)
    if survives:
        assert result == value
