"""Statements that sqlglot writes: the words of each database, names quoted, and nothing left out or warned of."""

from __future__ import annotations

import logging

import pytest

from schemactl.destinations import _ddl

PLACE = ('d"s', "t;--")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_statements_are_written_without_a_warning(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        written = [
            _ddl.set_not_null(*PLACE, 'c"1', dialect),
            _ddl.drop_not_null(*PLACE, 'c"1', dialect),
            _ddl.rename_column(*PLACE, 'c"1', "n", dialect),
            _ddl.add_primary_key(*PLACE, ["a", "b"], dialect),
            _ddl.add_unique(*PLACE, "a", dialect),
        ]

    start = 'ALTER TABLE "d""s"."t;--" '
    assert written == [
        start + 'ALTER COLUMN "c""1" SET NOT NULL',
        start + 'ALTER COLUMN "c""1" DROP NOT NULL',
        start + 'RENAME COLUMN "c""1" TO "n"',
        start + 'ADD PRIMARY KEY ("a", "b")',
        start + 'ADD UNIQUE ("a")',
    ]
    assert caplog.records == []
