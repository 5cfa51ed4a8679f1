"""Announced removals: which columns and tables go, and when.

A table announces its columns, the schema its tables::

    x-removed-tables: {carts: 2026-06-30}
    tables:
      orders:
        x-removed-columns: {note: 2026-01-31}

The date is the last day on which readers can rely on the name; nested tables go with their parent. The announcement
counts only if the *base* schema has it, so no one can announce and remove in one step. It stays after the removal: the
name is then retired. A mark on the table or column is an announcement, too, and is removed with it::

    x-deprecated: 2026-06-30 x-deprecated: {until: 2026-06-30, reason: "counted differently", use: total}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from schemactl.review.comparison import Comparison
from schemactl.review.hints import DEPRECATED, hint_changes
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.review.wording import full_name
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.types import Properties, Schema, Table, chain_of

REMOVED_COLUMNS: Final = "x-removed-columns"
REMOVED_TABLES: Final = "x-removed-tables"


def read_last_day(day: Any) -> date | None:
    """Return the day of a date or an ISO text, None for anything else."""
    try:
        return date.fromisoformat(str(day))
    except ValueError:
        return None


def is_expired(last_day: date | None, today: date) -> bool:
    """Return whether there is a last day and it is past."""
    return last_day is not None and last_day < today


def column_last_day(table: Table | None, name: str) -> date | None:
    """Return the announced last day of a column; anything but a date is ignored."""
    if table is None:
        return None
    day = read_last_day(_day_hints(table.properties, REMOVED_COLUMNS).get(name))
    return day or (deprecated_until(table.columns[name].properties) if name in table.columns else None)


def own_last_day(schema: Schema, name: str) -> date | None:
    """Return the last day of a table as ``column_last_day``, without that of its parents."""
    day = read_last_day(_day_hints(schema.extensions, REMOVED_TABLES).get(name))
    return day or (deprecated_until(schema.tables[name].properties) if name in schema.tables else None)


def deprecated_until(properties: Properties) -> date | None:
    """Return the last day in ``x-deprecated``, if it has one."""
    deprecation = properties.get(DEPRECATED)
    return read_last_day(deprecation.get("until") if isinstance(deprecation, Mapping) else deprecation)


def table_last_day(schema: Schema, name: str) -> date | None:
    """Return the announced last day of a table, or of its nearest announced parent."""
    return next((day for table_name in chain_of(schema, name) if (day := own_last_day(schema, table_name))), None)


def _day_hints(properties: Properties, key: str) -> Mapping[str, Any]:
    days = properties.get(key)
    return days if isinstance(days, Mapping) else {}


Place = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Notice:
    """A last day that changed.

    Attributes:
        table, column: the announced table or column, by its name in the head schema; no column for a table.
        before, after: the last day; None without an announcement.
        exists: whether the head schema has the table or column.
    """

    table: str
    column: str | None
    before: date | None
    after: date | None
    exists: bool
    keys: tuple[str, ...]

    @property
    def where(self) -> str:
        """The full name in backquotes."""
        return full_name(self.table, self.column)

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match with a sentence."""
        return Match(
            sentence=sentence,
            table=self.table,
            column=self.column,
            keys=self.keys,
            before=self.before and self.before.isoformat(),
            after=self.after and self.after.isoformat(),
            impact=impact,
        )


def notices(comparison: Comparison) -> Iterator[Notice]:
    """Yield the last days that changed, except last days removed with their table or column (reported as a removal)."""
    header_and_hint_changes = (*comparison.of(HeaderChanged), *hint_changes(comparison))
    if not any(change.name in (REMOVED_TABLES, REMOVED_COLUMNS, DEPRECATED) for change in header_and_hint_changes):
        return
    base, head = _last_days(comparison.base.schema), _last_days(comparison.head.schema)
    tables = {old: new for new, old in comparison.base_tables.items()}
    columns = comparison.head_columns
    before: dict[Place, date] = {}
    for (table, column), day in base.items():
        name = tables.get(table, table)
        before[name, columns.get((name, column), column) if column is not None else None] = day
    for where in dict.fromkeys((*before, *head)):
        old, new = before.get(where), head.get(where)
        owner = comparison.head.schema.tables.get(where[0])
        exists = owner is not None and (where[1] is None or where[1] in owner.columns)
        if old != new and (exists or new or _outlives(comparison, where)):
            yield Notice(*where, old, new, exists, _keys(comparison, where))


def _last_days(schema: Schema) -> Mapping[Place, date]:
    names = dict.fromkeys((*schema.tables, *_day_hints(schema.extensions, REMOVED_TABLES)))
    last_days: dict[Place, date | None] = {(name, None): own_last_day(schema, name) for name in names}
    for table in schema.tables.values():
        names = dict.fromkeys((*table.columns, *_day_hints(table.properties, REMOVED_COLUMNS)))
        last_days |= {(table.name, name): column_last_day(table, name) for name in names}
    return {where: day for where, day in last_days.items() if day}


def _outlives(comparison: Comparison, where: Place) -> bool:
    """Return whether the notice is not a mark on the table or column itself, and so retired its name."""
    name, column = where
    base = comparison.base.schema
    if column is None:
        return name in (base.extensions.get(REMOVED_TABLES) or {}) and name not in base.tables
    table = comparison.base_table(name)
    if table is None or name not in comparison.head.schema.tables or column in table.columns:
        return False
    return column in (table.properties.get(REMOVED_COLUMNS) or {})


def _keys(comparison: Comparison, where: Place) -> tuple[str, ...]:
    name, column = where
    table = comparison.head.schema.tables.get(name)
    if column is None:
        is_marked = table is not None and table.properties.get(DEPRECATED) is not None
        return ("tables", name, DEPRECATED) if is_marked else (REMOVED_TABLES,)
    head_column = table.columns.get(column) if table else None
    if head_column is not None and head_column.properties.get(DEPRECATED) is not None:
        return ("tables", name, "columns", column, DEPRECATED)
    return ("tables", name, REMOVED_COLUMNS)
