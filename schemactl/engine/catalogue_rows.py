"""Rows of small tables of a Spark catalogue, in which migrations are kept; and how many rows tables hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pyspark.sql import functions as F

from schemactl.engine.catalogue_copy import replace_table
from schemactl.engine.catalogue_tables import Tables
from schemactl.engine.sql import quoted

_MOST_BRANCHES: Final = 200


def append_rows(tables: Tables, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Append rows to a table: all of them, or none.

    Args:
        tables: of the schema.
        name: the table's.
        columns: names; other columns of the table are null.
        rows: their values.
    """
    listed = ", ".join(quoted(column) for column in columns)
    marks = ", ".join(f"({', '.join('?' * len(columns))})" for _ in rows)
    # One task writes one file, which is there or not.
    query = f"SELECT /*+ COALESCE(1) */ * FROM VALUES {marks}"
    values = [value for row in rows for value in row]
    tables.spark.sql(f"INSERT INTO {tables.full(name)} ({listed}) {query}", args=values)


def remove_rows(tables: Tables, name: str, column: str, value: str) -> None:
    """Remove the rows of a small table that have a value; killed at any point, all rows are there, or the others."""
    rows = tables.frame(name)
    goes = F.col(quoted(column)).eqNullSafe(F.lit(value))
    if rows.where(goes).take(1):
        replace_table(tables, name, rows.schema, rows.where(~goes))


def next_line(tables: Tables, name: str, column: str) -> int:
    """Return a number that is greater than all in a column of a table to which nobody else writes."""
    if name not in tables.lines:
        found = tables.frame(name).agg(F.max(F.col(quoted(column))).alias("line")).collect()[0].line
        tables.lines[name] = found or 0
    tables.lines[name] += 1
    return tables.lines[name]


def row_count(tables: Tables, name: str) -> int:
    """Return how many rows a table holds."""
    return tables.frame(name).count()


def empty_tables(tables: Tables, names: Iterable[str]) -> frozenset[str]:
    """Return those of some tables that hold no rows; one query asks for two hundred of them."""
    asked = list(names)
    parts = [f"SELECT {at} AS held FROM (SELECT 1 FROM {tables.full(name)} LIMIT 1)" for at, name in enumerate(asked)]
    held: set[int] = set()
    for start in range(0, len(parts), _MOST_BRANCHES):
        rows = tables.spark.sql(" UNION ALL ".join(parts[start : start + _MOST_BRANCHES])).collect()
        held.update(row.held for row in rows)
    return frozenset(name for at, name in enumerate(asked) if at not in held)
