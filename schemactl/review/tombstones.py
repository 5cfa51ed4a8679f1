"""Announced removals: which columns and tables go, and when.

A table announces its columns, the schema its tables::

    x-removed-tables: {carts: 2026-06-30}
    tables:
      orders:
        x-removed-columns: {note: 2026-01-31}

The date is the last day on which readers may count on the name; nested tables go with their parent. The announcement
counts where the *base* schema makes it, so nobody can announce and remove in one step. It stays after the removal: the
name is then retired. A mark on the table or column itself announces as well, and goes with it::

    x-deprecated: 2026-06-30
    x-deprecated: {until: 2026-06-30, reason: "counted anew", use: total}
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from schemactl.review.hint_names import DEPRECATED
from schemactl.schema.nesting import chain_of
from schemactl.schema.types import Properties, Schema, Table

REMOVED_COLUMNS: Final = "x-removed-columns"
REMOVED_TABLES: Final = "x-removed-tables"


def column_last_day(table: Table | None, name: str) -> date | None:
    """Return the last day of a column, None where none is announced; what is no date counts for nothing."""
    if table is None:
        return None
    column = table.columns.get(name)
    return _announced(table.properties, REMOVED_COLUMNS, name) or (
        deprecated_until(column.properties) if column else None
    )


def own_last_day(schema: Schema, name: str) -> date | None:
    """Return the last day of a table as ``column_last_day``, whatever it is nested in."""
    table = schema.tables.get(name)
    return _announced(schema.extensions, REMOVED_TABLES, name) or (
        deprecated_until(table.properties) if table else None
    )


def announced_columns(table: Table) -> Mapping[str, date]:
    """Return the last days of the table's announced columns, by name."""
    names = dict.fromkeys((*table.columns, *_stated(table.properties, REMOVED_COLUMNS)))
    return {name: day for name in names if (day := column_last_day(table, name))}


def announced_tables(schema: Schema) -> Mapping[str, date]:
    """Return the last days of the schema's announced tables, by name."""
    names = dict.fromkeys((*schema.tables, *_stated(schema.extensions, REMOVED_TABLES)))
    return {name: day for name in names if (day := own_last_day(schema, name))}


def deprecated_until(properties: Properties) -> date | None:
    """Return the last day that ``x-deprecated`` states, None where it states none."""
    stated = properties.get(DEPRECATED)
    return _date(stated.get("until") if isinstance(stated, Mapping) else stated)


def table_last_day(schema: Schema, name: str) -> date | None:
    """Return the last day of a table or of what it is nested in, None where none of them is announced."""
    return next((day for each in chain_of(schema, name) if (day := own_last_day(schema, each))), None)


def is_over(until: date | None, today: date) -> bool:
    """Return whether there is a last day and it is past."""
    return until is not None and until < today


def _stated(properties: Properties, key: str) -> Mapping[str, Any]:
    stated = properties.get(key)
    return stated if isinstance(stated, Mapping) else {}


def _announced(properties: Properties, key: str, name: str) -> date | None:
    return _date(_stated(properties, key).get(name))


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
