"""The tables and columns that have a name which they did not have before."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.schema.changes import ColumnAdded, ColumnRenamed, TableAdded, TableRenamed


def tables_newly_named(comparison: Comparison) -> Iterator[str]:
    """Yield the tables that are new or renamed."""
    yield from (change.table.name for change in comparison.of(TableAdded))
    yield from (change.after for change in comparison.of(TableRenamed))


def columns_newly_named(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the columns that are new or renamed, those of new tables too: table and column."""
    for added in comparison.of(TableAdded):
        yield from ((added.table.name, column) for column in added.table.columns)
    yield from ((change.table, change.column.name) for change in comparison.of(ColumnAdded))
    yield from ((change.table, change.after) for change in comparison.of(ColumnRenamed))
