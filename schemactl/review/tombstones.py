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


def column_tombstones(table: Table | None) -> Mapping[str, date]:
    """Return the last days of the table's announced columns, by name; what is no date counts for nothing."""
    if table is None:
        return {}
    marked = ((column.name, deprecated_until(column.properties)) for column in table.columns.values())
    return {**{name: day for name, day in marked if day}, **_dates(table.properties, REMOVED_COLUMNS)}


def table_tombstones(schema: Schema) -> Mapping[str, date]:
    """Return the last days of the schema's announced tables, by name; what is no date counts for nothing."""
    marked = ((table.name, deprecated_until(table.properties)) for table in schema.tables.values())
    return {**{name: day for name, day in marked if day}, **_dates(schema.extensions, REMOVED_TABLES)}


def deprecated_until(properties: Properties) -> date | None:
    """Return the last day that ``x-deprecated`` states, None where it states none."""
    stated = properties.get(DEPRECATED)
    return _date(stated.get("until") if isinstance(stated, Mapping) else stated)


def table_last_day(schema: Schema, name: str) -> date | None:
    """Return the last day of a table or of what it is nested in, None where none of them is announced."""
    days = table_tombstones(schema)
    return next((days[each] for each in chain_of(schema, name) if each in days), None)


def is_over(until: date | None, today: date) -> bool:
    """Return whether there is a last day and it is past."""
    return until is not None and until < today


def _dates(properties: Properties, key: str) -> Mapping[str, date]:
    stated = properties.get(key)
    if not isinstance(stated, Mapping):
        return {}
    days = ((name, _date(value)) for name, value in stated.items())
    return {name: day for name, day in days if day is not None}


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
