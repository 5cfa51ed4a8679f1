"""Values of rows that were deleted stand in no step's way: DuckDB's ALTER TABLE converts them, too."""

from contextlib import contextmanager

import duckdb as driver
import pytest

from schemactl.destinations import duckdb
from schemactl.errors import DestinationError
from schemactl.migration.steps import ChangeType
from schemactl.schema.fit import fit
from schemactl.schema.types import Column

VALUES = {
    ("text", "bigint"): ("5", "abc", 5),
    ("text", "bool"): ("true", "maybe", True),
    ("text", "decimal"): ("1.5", "x", 1.5),
    ("text", "json"): ('{"a":1}', "{", '{"a":1}'),
    ("double", "bigint"): (2.0, 2.5, 2),
}


@contextmanager
def migrating(tmp_path, kind, *values):
    path = tmp_path / "file.duckdb"
    with driver.connect(str(path)) as connection:
        connection.execute(f"CREATE SCHEMA shop; CREATE TABLE shop.orders (id BIGINT, v {kind})")
        connection.executemany("INSERT INTO shop.orders VALUES (?, ?)", list(enumerate(values)))
        connection.execute("CHECKPOINT")
        connection.execute("DELETE FROM shop.orders WHERE id = 1")
    with duckdb.connect(f"duckdb:///{path}?dataset=shop", "shop") as session:
        yield session


def retype(before, after):
    old, new = Column("v", {"data_type": before}), Column("v", {"data_type": after})
    return ChangeType("orders", old, new, fit(old, new).conversion, needs_check=True)


@pytest.mark.parametrize("is_known", [True, False], ids=["after a look", "without a look"])
@pytest.mark.parametrize(("before", "after"), VALUES)
def test_a_deleted_value_that_does_not_fit_is_no_blocker(tmp_path, before, after, is_known):
    good, bad, converted = VALUES[before, after]
    step = retype(before, after)
    with migrating(tmp_path, "DOUBLE" if before == "double" else "VARCHAR", good, bad) as session:
        with session.transaction():
            if is_known:
                assert session.unfit(step).count == 0
            session.run(step, duckdb.render(step, session.catalogue().schema.tables["orders"], "shop"))
        assert session.database.query("SELECT v FROM shop.orders") == [(converted,)]


def test_a_value_that_is_there_and_does_not_fit_fails_still(tmp_path):
    step = retype("text", "bigint")
    with migrating(tmp_path, "VARCHAR", "5", "gone", "abc") as session:
        statements = duckdb.render(step, session.catalogue().schema.tables["orders"], "shop")
        with pytest.raises(DestinationError, match="a value does not survive"), session.transaction():
            session.run(step, statements)
        assert session.database.query("SELECT v FROM shop.orders ORDER BY id") == [("5",), ("abc",)]
