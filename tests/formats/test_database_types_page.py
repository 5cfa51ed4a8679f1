"""The page about types that dlt does not have shows what `import` and `migrate` make of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from schemactl.formats import sql
from schemactl.schema.types import Column

PAGE: Final = Path(__file__).parents[2] / "docs" / "database-types.md"
MODULES: Final = {
    name: import_module(f"schemactl.destinations.{module}.types")
    for name, module in {"PostgreSQL": "postgresql", "DuckDB": "duckdb", "MySQL": "mysql"}.items()
}
DIALECTS: Final = {"PostgreSQL": "postgres", "DuckDB": "duckdb", "MySQL": "mysql"}


class Row(NamedTuple):
    engine: str
    type: str
    postgresql: str
    duckdb: str
    mysql: str
    sql_file: str


def rows() -> Iterator[Row]:
    lines = PAGE.read_text(encoding="utf-8").partition("## What other engines get")[2].splitlines()
    for line in lines:
        if line.startswith(("| PostgreSQL |", "| DuckDB |", "| MySQL |")):
            yield Row(*(cell.strip().strip("`") for cell in line.strip("|").split("|")))


def sql_type(row: Row) -> str:
    """The properties of a column of a SQL file with the type, as the page writes them."""
    document = sql.in_dialect(DIALECTS[row.engine]).read(f"CREATE TABLE t (c {row.type})", "t.sql")
    properties = dict(document.schema.tables["t"].columns["c"].properties)
    size = ", ".join(str(properties[key]) for key in ("precision", "scale") if key in properties)
    more = [key for key in ("x-enum", "x-spark-type") if key in properties]
    return " and ".join([str(properties["data_type"]) + (f"({size})" if size else ""), *more])


def test_the_page_lists_types_of_each_engine() -> None:
    assert {row.engine for row in rows()} == set(MODULES)
    assert len(list(rows())) >= 30


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: f"{row.engine} {row.type}")
def test_a_type_becomes_what_the_page_says(row: Row) -> None:
    kind = MODULES[row.engine].kind_of(row.type)
    assert "x-database-type" in kind
    column = Column("c", kind)
    assert (row.postgresql, row.duckdb, row.mysql) == tuple(
        module.TYPES.column_type(column) if name != "DuckDB" else module.column_type(column)
        for name, module in MODULES.items()
    )
    assert row.sql_file == sql_type(row)
