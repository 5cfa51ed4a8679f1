"""Which rule reports a new column or table: every addition is of one kind, so none is reported twice."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from schemactl.review.comparison import Comparison
from schemactl.review.origins import is_filled_by_dlt
from schemactl.review.reshapes import reshaped_columns, reshaped_tables
from schemactl.review.tombstones import column_last_day, own_last_day
from schemactl.review.variants import path_separator, variant_of
from schemactl.schema.changes import ColumnAdded, TableAdded
from schemactl.schema.types import Column, Table

BACKFILL = "x-backfill"
"""Property of a new column: what the rows that are stored already get."""


class Addition(Enum):
    """Why a column or a table is new, and what it asks of rows."""

    PLAIN = auto()
    """Rows may do without it."""
    REQUIRED = auto()
    """Every row has to have a value, those that are stored already as well."""
    BACKFILLED = auto()
    """Every row has to have a value, and it is said which one the stored rows get."""
    VARIANT = auto()
    """Values of another type than their column's are put there."""
    REVIVED = auto()
    """The name was announced as removed."""
    RESHAPED = auto()
    """The data was there in another form."""


def added_columns(comparison: Comparison, kind: Addition) -> Iterator[ColumnAdded]:
    """Yield the added columns of one kind."""
    changes = list(comparison.of(ColumnAdded))
    if not changes:
        return
    reshaped = reshaped_columns(comparison)
    separator = path_separator(comparison.head.schema)
    for change in changes:
        if (change.table, change.column.name) in reshaped:
            found = Addition.RESHAPED
        else:
            head = comparison.head.schema.tables.get(change.table)
            found = _kind(change.column, base_table(comparison, change.table), head, separator)
        if found is kind:
            yield change


def added_tables(comparison: Comparison, kind: Addition) -> Iterator[TableAdded]:
    """Yield the added tables of one kind: ``PLAIN``, ``REVIVED`` or ``RESHAPED``."""
    changes = list(comparison.of(TableAdded))
    if not changes:
        return
    reshaped = reshaped_tables(comparison)
    for change in changes:
        if change.table.name in reshaped:
            found = Addition.RESHAPED
        else:
            found = Addition.REVIVED if own_last_day(comparison.base.schema, change.table.name) else Addition.PLAIN
        if found is kind:
            yield change


def base_table(comparison: Comparison, name: str) -> Table | None:
    """Return a table of the base schema by its name in the head schema."""
    return comparison.base.schema.tables.get(comparison.base_tables.get(name, name))


def _kind(column: Column, base: Table | None, head: Table | None, separator: str) -> Addition:
    if column_last_day(base, column.name):
        return Addition.REVIVED
    if column.is_variant or variant_of(column, head, separator):
        return Addition.VARIANT
    has_rows = base is not None and not base.is_new
    if column.nullable or not column.is_complete or not has_rows or is_filled_by_dlt(column.name):
        return Addition.PLAIN
    return Addition.REQUIRED if column.properties.get(BACKFILL) is None else Addition.BACKFILLED
