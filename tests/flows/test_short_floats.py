"""Columns that a database stores as floats of 4 bytes: loads and migrations change no value, or they stop."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import pytest
from loading_shop import Shop
from test_promotion_loads import PROMOTE, load, stored

from schemactl.errors import DestinationError
from schemactl.flows.edit import edit_import
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.sync import sync_schemas
from schemactl.flows.target import find_destination
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column

pytestmark = pytest.mark.destinations

FLOATS: Final = {"duckdb": "FLOAT", "postgresql": "real", "mysql": "float", "sqlite": "REAL"}
"""The name of a float of 4 bytes by destination; the ones that are not here have the name ``float``."""
WITHOUT_SHORT_FLOATS: Final = ("warehouse", "sqlite", "delta", "iceberg", "spark")
"""Destinations that store a double in 8 bytes if the schema has both types."""


def float_hints(to: str) -> Hints:
    kind = FLOATS.get(to.partition(":")[0].partition("+")[0], "float")
    return Hints(columns=(parse_column(f"orders.x:double,x-database-type={kind}"),))


@pytest.mark.parametrize("contract", ["evolve", PROMOTE])
def test_a_load_changes_no_number_in_a_declared_short_float(shop: Shop, any_destination: str, contract: str) -> None:
    to = any_destination
    load(shop, to, 0.5, 2**24, None, hints=float_hints(to))

    for number in (2**24 + 1, 1e300, 1e-300):
        if to.startswith(WITHOUT_SHORT_FLOATS):
            load(shop, to, number, contract=contract)
            assert number in stored(to, "x")
            continue
        with pytest.raises(DestinationError, match=r"1 value does not fit .* has 4 bytes"):
            load(shop, to, number, contract=contract)
        assert stored(to, "x") == [0.5, 2**24]
    load(shop, to, 1.25, -3, 0.1, contract=contract)
    numbers = set(stored(to, "x"))
    assert {1.25, -3} <= numbers
    assert any(number == pytest.approx(0.1, rel=2**-24) for number in numbers)


@pytest.mark.parametrize("data_type", ["bigint", "decimal(20,4)", "text"])
@pytest.mark.parametrize("number", ["16777216", "16777217"])
def test_a_migration_rounds_no_number_into_a_float_of_4_bytes(
    shop: Shop, any_destination: str, data_type: str, number: str
) -> None:
    to = any_destination
    load(shop, to, "1", number, hints=Hints(columns=(parse_column(f"orders.x:{data_type}"),)))
    before = stored(to, "x")

    edit_import("shop", Path("schemas"), Edits(hints=float_hints(to)))
    sync_schemas(("shop",), Path("schemas"), lambda _: True)
    request = ApplyRequest("shop", find_destination(to).url, Path("schemas"), PlanOptions())
    report = apply_migration(request, lambda _: True, nullcontext)

    if number == "16777216" or to.startswith(WITHOUT_SHORT_FLOATS):
        assert report.outcome is Outcome.DONE
        assert stored(to, "x") == [1, int(number)]
    elif to.startswith("mysql"):  # the old column stays beside the new one, and keeps the number
        assert stored(to, "x") == [1]
        assert stored(to, "x__before_1") == before
    else:
        assert report.outcome is Outcome.REFUSED
        assert stored(to, "x") == before


def test_a_load_rounds_no_number_into_a_column_that_someone_made_a_float(shop: Shop, any_destination: str) -> None:
    to = any_destination
    if to.startswith(WITHOUT_SHORT_FLOATS):
        pytest.skip("stores doubles in 8 bytes")
    load(shop, to, 0.5, hints=Hints(columns=(parse_column("orders.x:double"),)))
    alter_to_float(to)

    with pytest.raises(DestinationError, match=r"1 value does not fit .* has 4 bytes"):
        load(shop, to, 0.1)
    load(shop, to, 0.25)

    assert stored(to, "x") == [0.25, 0.5]


def alter_to_float(to: str) -> None:
    statements = {
        "duckdb": "ALTER TABLE shop.orders ALTER COLUMN x TYPE FLOAT",
        "postgresql": "ALTER TABLE {dataset}.orders ALTER COLUMN x TYPE real",
        "mysql": "ALTER TABLE {dataset}.orders MODIFY x float",
    }
    target = find_destination(to)
    statement = statements[target.kind].format(dataset=to.partition("dataset=")[2])
    match target.kind:
        case "duckdb":
            import duckdb

            with duckdb.connect("made.duckdb") as connection:
                connection.execute(statement)
        case "postgresql":
            import psycopg

            with psycopg.connect(to.partition("?")[0], autocommit=True) as server:
                server.execute(statement.encode())
        case _:
            import pymysql

            socket = dict(parse_qsl(to.partition("?")[2]))["unix_socket"]
            with pymysql.connect(user="root", unix_socket=socket) as connection, connection.cursor() as cursor:
                cursor.execute(statement)
