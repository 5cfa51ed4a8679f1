"""Sort added and removed tables and columns by the rule that reports them: each belongs to one kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from schemactl.review.announcements import column_last_day, is_over, own_last_day, table_last_day
from schemactl.review.comparison import Comparison, is_filled_by_dlt
from schemactl.review.reshapes import reshaped_columns, reshaped_tables
from schemactl.schema.changes import ColumnAdded, ColumnRemoved, TableAdded, TableRemoved
from schemactl.schema.naming import naming_of
from schemactl.schema.types import VARIANT_ENDINGS, Column, Table


def variant_of(column: Column, table: Table | None, separator: str) -> str | None:
    """Return the column that this one is a variant of by its name (docs/dlt.md §6.5); older schemas have no other mark.

    Args:
        column: stated as a variant or not.
        table: where the other column is looked for; the result is None if it is not there.
        separator: the path separator of the naming convention, ``__`` in most.
    """
    name, _, ending = column.name.rpartition(separator)
    return name if ending in VARIANT_ENDINGS and table is not None and name in table.columns else None


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
    separator = naming_of(comparison.head.schema).path_separator
    for change in changes:
        if (change.table, change.column.name) in reshaped:
            found = Addition.RESHAPED
        else:
            head = comparison.head.schema.tables.get(change.table)
            found = _kind(change.column, comparison.base_table(change.table), head, separator)
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


def _kind(column: Column, base: Table | None, head: Table | None, separator: str) -> Addition:
    if column_last_day(base, column.name):
        return Addition.REVIVED
    if column.is_variant or variant_of(column, head, separator):
        return Addition.VARIANT
    has_rows = base is not None and not base.is_new
    if column.nullable or not column.is_complete or not has_rows or is_filled_by_dlt(column.name):
        return Addition.PLAIN
    return Addition.REQUIRED if column.properties.get(BACKFILL) is None else Addition.BACKFILLED


class Removal(Enum):
    """Why a column or a table is gone."""

    PLAIN = auto()
    """It was not announced, or its last day is not over."""
    ANNOUNCED = auto()
    """The base schema gave it a last day, which is over."""
    FOLDED = auto()
    """A variant is gone, its column stays."""
    RESHAPED = auto()
    """The data is there in another form."""


def removed_columns(comparison: Comparison, kind: Removal) -> Iterator[ColumnRemoved]:
    """Yield the removed columns of one kind."""
    changes = list(comparison.of(ColumnRemoved))
    if not changes:
        return
    reshaped = reshaped_columns(comparison)
    separator = naming_of(comparison.head.schema).path_separator
    for change in changes:
        name = change.column.name
        if (change.table, name) in reshaped:
            found = Removal.RESHAPED
        elif is_over(column_last_day(comparison.base_table(change.table), name), comparison.today):
            found = Removal.ANNOUNCED
        elif variant_of(change.column, comparison.head.schema.tables.get(change.table), separator):
            found = Removal.FOLDED
        else:
            found = Removal.PLAIN
        if found is kind:
            yield change


def removed_tables(comparison: Comparison, kind: Removal) -> Iterator[TableRemoved]:
    """Yield the removed tables of one kind: ``PLAIN``, ``ANNOUNCED`` or ``RESHAPED``."""
    changes = list(comparison.of(TableRemoved))
    if not changes:
        return
    reshaped = reshaped_tables(comparison)
    base = comparison.base.schema
    for change in changes:
        if change.table.name in reshaped:
            found = Removal.RESHAPED
        else:
            is_announced = is_over(table_last_day(base, change.table.name), comparison.today)
            found = Removal.ANNOUNCED if is_announced else Removal.PLAIN
        if found is kind:
            yield change
