"""Casts of columns that change their types, against what two databases return before and after the change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import duckdb
import pytest

from schemactl.schema.casts import Cast, CastOutcome, TypeChange, cast_outcome
from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType

T = DataType

TYPES = {
    T.TEXT: FullType(T.TEXT),
    T.DOUBLE: FullType(T.DOUBLE),
    T.BOOL: FullType(T.BOOL),
    T.TIMESTAMP: FullType(T.TIMESTAMP, 6, timezone=True),
    T.BIGINT: FullType(T.BIGINT, 64),
    T.BINARY: FullType(T.BINARY),
    T.JSON: FullType(T.JSON),
    T.DECIMAL: FullType(T.DECIMAL, 38, 9),
    T.WEI: FullType(T.WEI, None, 0),
    T.DATE: FullType(T.DATE),
    T.TIME: FullType(T.TIME, 6),
}
SQL_TYPES = {
    T.TEXT: "text", T.DOUBLE: "double precision", T.BOOL: "boolean", T.TIMESTAMP: "timestamptz", T.BIGINT: "bigint",
    T.DECIMAL: "decimal(38, 9)", T.WEI: "decimal(38, 0)", T.DATE: "date", T.TIME: "time",
}  # fmt: skip
"""Of the types that a cast is judged for."""

VALUES = {
    T.TEXT: ("'7'", "'-2.5'", "'abc'", "''", "'2026-01-31'", "'2026-01-31 10:00:00'", "'true'"),
    T.DOUBLE: ("7", "-2.5", "1e300", "1e-12"),
    T.BOOL: ("true", "false"),
    T.TIMESTAMP: ("'2026-01-31 23:30:00+00'", "'0001-01-01 00:00:00+00'", "'9999-12-31 23:59:59.999999+00'"),
    T.BIGINT: ("7", "-9223372036854775808", "9223372036854775807"),
    T.DECIMAL: ("7", "-2.5", "99999999999999999999999999999.999999999"),
    T.WEI: ("7", "99999999999999999999999999999999999999"),
    T.DATE: ("'2026-01-31'", "'0001-01-01'", "'9999-12-31'"),
    T.TIME: ("'10:00:00'", "'23:59:59.999999'"),
}


def outcome(before: DataType, after: DataType, target: DataType) -> CastOutcome:
    cast = Cast(target, target is T.TIMESTAMP, is_operand=True)
    return cast_outcome(cast, TypeChange(TYPES[before], TYPES[after]))


def check(execute: Callable[[str], Any], error: type[Exception], target: DataType) -> None:
    """Check the casts to a type: what may not fail does not, and what returns the same value does so."""

    def value(expression: str) -> Any:
        try:
            return execute(f"select {expression}")
        except error:
            return error

    word = "numeric" if target is T.DECIMAL else SQL_TYPES[target]
    for before, after in product(SQL_TYPES, SQL_TYPES):
        judged = outcome(before, after, target)
        for text in VALUES[after] if judged is not CastOutcome.FAILS else ():
            assert value(f"cast(cast({text} as {SQL_TYPES[after]}) as {word})") is not error, (before, after, text)
        for text in VALUES[before] if judged is CastOutcome.SAME else ():
            if ("-2.5" in text or (text.startswith("99") and "." in text)) and after in (T.BIGINT, T.WEI):
                continue  # it does not survive: databases round it
            old_value = value(f"cast(cast({text} as {SQL_TYPES[before]}) as {word})")
            new_value = value(f"cast(cast(cast({text} as {SQL_TYPES[before]}) as {SQL_TYPES[after]}) as {word})")
            # A value that does not survive has no new value, and a text that is no number had no old one.
            survives = new_value is not error and old_value is not error
            assert not survives or new_value == old_value, (before, after, text)


TARGETS = [target for target in SQL_TYPES if target is not T.WEI]


# Only PostgreSQL's decimals have any size.
@pytest.mark.parametrize("target", [target for target in TARGETS if target is not T.DECIMAL])
def test_casts_of_duckdb_return_what_is_said(target: DataType) -> None:
    with duckdb.connect() as connection:
        connection.execute("set time zone 'UTC'")
        check(lambda sql: connection.execute(sql).fetchall(), duckdb.Error, target)


@pytest.mark.destinations
@pytest.mark.parametrize("target", TARGETS)
def test_casts_of_postgresql_return_what_is_said(target: DataType, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("set time zone 'UTC'")
        check(lambda sql: connection.execute(sql).fetchall(), psycopg.Error, target)


OUTCOMES = {
    (T.BIGINT, T.TEXT, T.TEXT): CastOutcome.SAME,
    (T.BIGINT, T.DECIMAL, T.DECIMAL): CastOutcome.SAME,
    (T.TEXT, T.TIMESTAMP, T.TIMESTAMP): CastOutcome.SAME,
    (T.TEXT, T.DATE, T.DATE): CastOutcome.SAME,
    (T.TEXT, T.BIGINT, T.BIGINT): CastOutcome.SAME,
    (T.TEXT, T.BIGINT, T.DOUBLE): CastOutcome.SAME,
    (T.TEXT, T.BIGINT, T.TEXT): CastOutcome.OTHER,  # '007'
    (T.TIMESTAMP, T.TEXT, T.TEXT): CastOutcome.OTHER,
    (T.BIGINT, T.DOUBLE, T.TEXT): CastOutcome.OTHER,
    (T.DATE, T.TIMESTAMP, T.DATE): CastOutcome.OTHER,
    (T.TIMESTAMP, T.DATE, T.DATE): CastOutcome.OTHER,
    (T.BIGINT, T.TEXT, T.BIGINT): CastOutcome.FAILS,
    (T.BIGINT, T.TEXT, T.DECIMAL): CastOutcome.FAILS,
    (T.TIMESTAMP, T.TEXT, T.DATE): CastOutcome.FAILS,
    (T.TEXT, T.JSON, T.TEXT): CastOutcome.FAILS,
    (T.TEXT, T.BINARY, T.TEXT): CastOutcome.FAILS,
    (T.BIGINT, T.BOOL, T.BIGINT): CastOutcome.FAILS,
    (T.BIGINT, T.DOUBLE, T.BIGINT): CastOutcome.FAILS,
}


@pytest.mark.parametrize("types", OUTCOMES, ids="-".join)
def test_a_cast_has_an_outcome(types: tuple[DataType, DataType, DataType]) -> None:
    assert outcome(*types) is OUTCOMES[types]


def test_a_timestamp_of_another_zone_may_be_another_one() -> None:
    change = TypeChange(TYPES[T.TEXT], TYPES[T.TIMESTAMP])
    assert cast_outcome(Cast(T.TIMESTAMP, False, True), change) is CastOutcome.OTHER
    local = TypeChange(TYPES[T.TIMESTAMP], FullType(T.TIMESTAMP, 6, timezone=False))
    assert cast_outcome(Cast(T.TIMESTAMP, True, True), local) is CastOutcome.OTHER


def test_a_decimal_that_loses_digits_is_another_number() -> None:
    change = TypeChange(FullType(T.DECIMAL, 38, 9), FullType(T.DECIMAL, 38, 2))
    assert cast_outcome(Cast(T.DECIMAL, False, True), change) is CastOutcome.OTHER
