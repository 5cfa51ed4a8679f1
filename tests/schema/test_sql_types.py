"""Decimals with more digits after the point than digits, which most destinations have not."""

from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.schema.sql_types import defined_type
from schemactl.schema.types import Column

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
