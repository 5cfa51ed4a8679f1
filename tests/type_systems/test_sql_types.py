"""Decimals of sizes that destinations have not: too many digits, or more after the point than there are."""

from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.schema.types import Column
from schemactl.type_systems.sql_types import defined_type

ODD = Column("total", {"data_type": "decimal", "precision": 2, "scale": 10})


@pytest.mark.parametrize("dialect", ["duckdb", "mysql", "spark", "snowflake"])
def test_a_dialect_without_such_a_type_refuses_it(dialect: str) -> None:
    with pytest.raises(InputError, match=r"no decimal\(2,10\) \(`total`\)"):
        defined_type(ODD, dialect)


@pytest.mark.parametrize("dialect", ["postgres", "oracle", "sqlite"])
def test_others_have_it(dialect: str) -> None:
    assert "2" in defined_type(ODD, dialect)


def test_a_precision_alone_is_refused_where_dlt_s_own_scale_is_larger() -> None:
    whole = Column("total", {"data_type": "decimal", "precision": 5})
    assert defined_type(whole, "sqlite") == "NUMERIC(5)"
    with pytest.raises(InputError, match=r"no decimal\(5,9\)"):
        defined_type(whole, "duckdb")


@pytest.mark.parametrize(
    ("dialect", "most"),
    [("duckdb", 38), ("spark", 38), ("snowflake", 38), ("mysql", 65), ("clickhouse", 76), ("postgres", 1000)],
)
def test_a_dialect_refuses_more_digits_than_it_has(dialect: str, most: int) -> None:
    def column(kind: str, digits: int) -> Column:
        return Column("total", {"data_type": kind, "precision": digits, "scale": 2})

    assert str(most) in defined_type(column("decimal", most), dialect)
    for kind in ("decimal", "wei") if dialect != "mysql" else ("decimal",):  # whose wei has a size of its own
        with pytest.raises(InputError, match=rf"no {kind} of precision {most + 1} \(`total`\): {most} at most"):
            defined_type(column(kind, most + 1), dialect)


def test_sqlite_has_any_number_of_digits() -> None:
    assert defined_type(Column("total", {"data_type": "decimal", "precision": 2000, "scale": 2}), "sqlite")
