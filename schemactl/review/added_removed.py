"""Sort added and removed tables and columns by the rule that reports them: each belongs to one kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from schemactl.review.announcements import column_last_day, is_expired, own_last_day, table_last_day
from schemactl.review.comparison import Comparison, is_filled_by_dlt
from schemactl.review.reshapes import reshaped_columns, reshaped_tables
from schemactl.schema.backfill import BACKFILL, backfill_fault
from schemactl.schema.changes import ColumnAdded, ColumnRemoved, TableAdded, TableRemoved
from schemactl.schema.naming import naming_of
from schemactl.schema.presence import has_implicit_presence
from schemactl.schema.structure import has_type
from schemactl.schema.types import VARIANT_ENDINGS


def variant_of(comparison: Comparison, change: ColumnAdded | ColumnRemoved) -> str | None:
    """Return the column of the head schema that a column is a variant of by its name (docs/dlt.md §6.5), if any.

    Older schemas have no other mark.
    """
    table = comparison.head.schema.tables.get(change.table)
    name, _, ending = change.column.name.rpartition(naming_of(comparison.head.schema).path_separator)
    return name if ending in VARIANT_ENDINGS and table is not None and name in table.columns else None


class Addition(Enum):
    """Why a column or a table is new, and which values it requires."""

    PLAIN = auto()
    """Rows can omit the value."""
    REQUIRED = auto()
    """Every row needs a value, including stored rows."""
    BACKFILLED = auto()
    """Every row needs a value, and the schema sets a valid value for stored rows."""
    VARIANT = auto()
    """It takes values of another type than their column's."""
    REVIVED = auto()
    """The name was announced as removed."""


def added_columns(comparison: Comparison, kind: Addition) -> Iterator[ColumnAdded]:
    """Yield the added columns of one kind, except columns whose data the base had in another form (C210, T106)."""
    reshaped = reshaped_columns(comparison)
    for change in comparison.of(ColumnAdded):
        if (change.table, change.column.name) not in reshaped and _addition(comparison, change) is kind:
            yield change


def added_tables(comparison: Comparison, kind: Addition) -> Iterator[TableAdded]:
    """Yield the added ``PLAIN`` or ``REVIVED`` tables, except tables whose data the base had in another form."""
    reshaped = reshaped_tables(comparison)
    for change in comparison.of(TableAdded):
        addition = Addition.REVIVED if own_last_day(comparison.base.schema, change.table.name) else Addition.PLAIN
        if change.table.name not in reshaped and addition is kind:
            yield change


def _addition(comparison: Comparison, change: ColumnAdded) -> Addition:
    column = change.column
    if column_last_day(comparison.base_table(change.table), column.name):
        return Addition.REVIVED
    if column.is_variant or variant_of(comparison, change):
        return Addition.VARIANT
    has_rows = comparison.has_stored_rows(change.table)
    is_filled = is_filled_by_dlt(column.name) or has_implicit_presence(comparison.head.schema, column.properties)
    if column.nullable or not has_type(column) or not has_rows or is_filled:
        return Addition.PLAIN
    has_backfill = column.properties.get(BACKFILL) is not None and backfill_fault(column) is None
    return Addition.BACKFILLED if has_backfill else Addition.REQUIRED


class Removal(Enum):
    """Why a column or a table is gone."""

    PLAIN = auto()
    """It was not announced, or its last day is not over."""
    ANNOUNCED = auto()
    """The base schema gave it a last day, which is over."""
    FOLDED = auto()
    """A variant is gone, its column stays."""


def removed_columns(comparison: Comparison, kind: Removal) -> Iterator[ColumnRemoved]:
    """Yield the removed columns of one kind, except columns whose data the head has in another form (C210, T106)."""
    reshaped = reshaped_columns(comparison)
    for change in comparison.of(ColumnRemoved):
        if is_expired(column_last_day(comparison.base_table(change.table), change.column.name), comparison.today):
            removal = Removal.ANNOUNCED
        else:
            removal = Removal.FOLDED if variant_of(comparison, change) else Removal.PLAIN
        if (change.table, change.column.name) not in reshaped and removal is kind:
            yield change


def removed_tables(comparison: Comparison, kind: Removal) -> Iterator[TableRemoved]:
    """Yield the removed tables, ``PLAIN`` or ``ANNOUNCED``, except tables whose data the head has in another form."""
    reshaped = reshaped_tables(comparison)
    for change in comparison.of(TableRemoved):
        is_announced = is_expired(table_last_day(comparison.base.schema, change.table.name), comparison.today)
        removal = Removal.ANNOUNCED if is_announced else Removal.PLAIN
        if change.table.name not in reshaped and removal is kind:
            yield change
