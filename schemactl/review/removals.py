"""Which rule reports a column or table that is gone: every removal is of one kind, so none is reported twice."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from schemactl.review.additions import base_table
from schemactl.review.comparison import Comparison
from schemactl.review.reshapes import reshaped_columns, reshaped_tables
from schemactl.review.tombstones import column_last_day, is_over, table_last_day
from schemactl.review.variants import path_separator, variant_of
from schemactl.schema.changes import ColumnRemoved, TableRemoved


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
    separator = path_separator(comparison.head.schema)
    for change in changes:
        name = change.column.name
        if (change.table, name) in reshaped:
            found = Removal.RESHAPED
        elif is_over(column_last_day(base_table(comparison, change.table), name), comparison.today):
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
