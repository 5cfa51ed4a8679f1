"""The count of stored values before a column becomes wider reads a table once, or only its statistics."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest

from schemactl.destinations.duckdb import migration as duckdb_migration
from schemactl.destinations.postgresql import migration as postgresql_migration
from schemactl.migration.steps import ChangeType
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column

EXACT = 2**53


def widened(narrow_type: str = "bigint", wide_type: str = "double") -> ChangeType:
    before, after = Column("score", {"data_type": narrow_type}), Column("score", {"data_type": wide_type})
    return ChangeType("orders", before, after, conversion=Conversion.DEPENDS, needs_check=True)


def fill(connection, values: str) -> None:
    connection.execute("create schema if not exists shop")
    connection.execute(f"create table shop.orders as select * from (values {values}) as o (_dlt_id, score)")


@pytest.mark.parametrize(
    ("values", "types"),
    [
        (f"('a', {EXACT}), ('b', {-EXACT}), ('c', null)", ("bigint", "double")),
        ("('a', date '0001-01-01'), ('b', date '9999-12-31'), ('c', null)", ("date", "timestamp")),
    ],
)
def test_duckdb_answers_a_count_by_the_statistics_of_the_column(
    tmp_path: Path, values: str, types: tuple[str, str]
) -> None:
    with duckdb.connect(tmp_path / "made.duckdb") as connection:
        fill(connection, values)
        look = duckdb_migration.plain_retype(widened(*types), "shop")
        assert look is not None
        plan = str(connection.execute(f"explain {look[0]}").fetchall())
        assert "Scan" not in plan, plan


@pytest.mark.parametrize("is_read_only", [True, False])
@pytest.mark.parametrize(("values", "count"), [(f"('a', {EXACT}), ('c', null)", 0), (f"('a', {EXACT + 1})", 1)])
def test_duckdb_counts_the_same_for_reading_and_for_writing(
    tmp_path: Path, values: str, count: int, is_read_only: bool
) -> None:
    path = tmp_path / "made.duckdb"
    with duckdb.connect(path) as connection:
        fill(connection, values)
    address = f"duckdb:///{path}?dataset=shop"
    with duckdb_migration.connect(address, "shop", is_read_only=is_read_only) as session:
        unfit = session.unfit(widened())
    assert (unfit.count, unfit.rows) == (count, values.count("("))


@pytest.mark.parametrize(
    ("values", "count", "scans"),
    [
        (f"('a', {EXACT}), ('b', {-EXACT}), ('c', null)", 0, 1),
        ("('a', null::bigint)", 0, 1),
        # One more for the values, and one for the examples.
        (f"('a', {EXACT + 1}), ('b', {EXACT + 1}), ('c', {EXACT + 2})", 2, 3),
    ],
)
def test_postgresql_reads_a_table_once_if_all_values_survive(
    postgres_url: str, values: str, count: int, scans: int
) -> None:
    address = f"{postgres_url}?dataset=shop"
    with psycopg.connect(postgres_url) as connection:
        connection.execute("drop schema if exists shop cascade")
        fill(connection, values)
    with postgresql_migration.connect(address, "shop") as session, session.transaction():
        unfit = session.unfit(widened())
        ((scanned,),) = session.database.query(
            "select seq_scan from pg_stat_xact_user_tables where schemaname = 'shop' and relname = 'orders'"
        )
    assert (unfit.count, unfit.rows, scanned) == (count, values.count("("), scans)
    assert [example.value for example in unfit.examples] == [str(EXACT + 1)] * count
