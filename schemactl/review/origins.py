"""What tables and columns of the head schema were called in the base schema."""

from __future__ import annotations

from collections.abc import Mapping

from schemactl.review.comparison import Comparison
from schemactl.schema.changes import ColumnRenamed
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table


def renamed_columns(comparison: Comparison) -> Mapping[tuple[str, str], str]:
    """Return names in the base schema by (table, column) in the head schema, for the columns that were renamed."""
    return {(change.table, change.after): change.before for change in comparison.of(ColumnRenamed)}


def base_table(comparison: Comparison, table: str) -> Table | None:
    """Return what a table of the head schema was, None for a new one."""
    return comparison.base.schema.tables.get(comparison.base_tables.get(table, table))


def base_column(comparison: Comparison, table: str, column: str) -> Column | None:
    """Return what a column of the head schema was, None for a new one."""
    found = base_table(comparison, table)
    origin = renamed_columns(comparison).get((table, column), column)
    return found.columns.get(origin) if found else None


def is_stored(column: Column) -> bool:
    """Return whether tables may have the column.

    dlt creates none without a data type; a catalogue's column may state that of its database alone.
    """
    return column.is_complete or column.properties.get(DATABASE_TYPE) is not None


def is_filled_by_dlt(column: str) -> bool:
    """Return whether dlt fills the column itself: nobody sends it, and an import file need not state it."""
    return column.casefold().startswith("_dlt_")


def head_column(comparison: Comparison, table: str, column: str) -> Column | None:
    """Return a column of the head schema, None where there is none."""
    found = comparison.head.schema.tables.get(table)
    return found.columns.get(column) if found else None
