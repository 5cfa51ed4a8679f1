"""SQLite's own expressions give what dlt's coercion gives, wherever their condition holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from schemactl.destinations.sqlite.conversion import convert, register
from schemactl.destinations.sqlite.types import column_type
from schemactl.migration.statements import Retype
from schemactl.schema.types import Column

VALUES: list[Any] = [
    *(0, 1, -1, 2**53, -(2**53), 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
    *(1.5, -0.0, 2.0, 1e15, -1e15, 1e15 + 0.5, 1e300, float("inf"), 123456789012345.67, 0.1, 1e-7),
    *("abc", "007", "1", "", "\u00e9" * 3, b"x"),
    *("2024-02-30", "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-13-01", "2024-1-1"),
    *("2024-05-06T00:00:00", " 2024-05-06", "now", "2460000"),
]
SURE = {
    ("bigint", "double"): {0, 2**53, -(2**53)},
    ("bigint", "decimal"): {0, 2**63 - 1},
    ("bigint", "wei"): {0, 2**63 - 1},
    ("bigint", "bigint"): {0, 2**63 - 1},
    ("decimal", "decimal"): {0, 1.5, 123456789012345.67},
    ("decimal", "wei"): {0, 2.0},
    ("wei", "decimal"): {0, 1},
    ("date", "timestamp"): {"2024-02-29", "0001-01-01", "9999-12-31"},
    ("text", "text"): {"abc", ""},
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        register(opened)
        opened.execute("create table given (x)")
        yield opened


@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("types", SURE, ids=" to ".join)
def test_a_sure_value_is_converted_as_dlt_coerces_it(
    connection: sqlite3.Connection, types: tuple[str, str], is_strict: bool
) -> None:
    before, after = (Column("x", {"data_type": data_type}) for data_type in types)
    conversion = convert(Retype(before, after, is_strict=is_strict), "x")
    kind = column_type(after)
    connection.execute(f"create table made (cast_value {kind}, coerced_value {kind})")
    sure_values = set()
    for value in VALUES:
        connection.execute("delete from given")
        connection.execute("insert into given values (?)", (value,))
        ((is_sure,),) = connection.execute(f"select {conversion.is_sure} from given")
        if not is_sure:
            continue
        sure_values.add(value)
        connection.execute("delete from made")
        connection.execute(f"insert into made select {conversion.cast}, {conversion.coerced} from given")
        query = "select cast_value, typeof(cast_value), coerced_value, typeof(coerced_value) from made"
        ((cast_value, cast_kind, coerced_value, coerced_kind),) = connection.execute(query)
        if types == ("bigint", "double") and isinstance(value, float):  # of another program
            coerced_value, coerced_kind = value, "real"
        assert (cast_value, cast_kind) == (coerced_value, coerced_kind), value
    assert sure_values >= SURE[types]
