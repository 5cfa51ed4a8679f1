"""Compares what two schemas announce: last days of tables and columns, new, put off, brought forward, withdrawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from schemactl.review.comparison import Comparison
from schemactl.review.hint_names import DEPRECATED
from schemactl.review.hints import hint_changes
from schemactl.review.origins import renamed_columns
from schemactl.review.places import place
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.review.tombstones import REMOVED_COLUMNS, REMOVED_TABLES, announced_columns, announced_tables
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.types import Schema

Place = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Notice:
    """A last day that changed.

    Attributes:
        table, column: what is announced, by its name in the head schema; no column for a table.
        before, after: the last day; None where none is announced.
        is_there: whether the head schema has the table or column.
    """

    table: str
    column: str | None
    before: date | None
    after: date | None
    is_there: bool
    keys: tuple[str, ...]

    @property
    def where(self) -> str:
        """The full name in backquotes."""
        return place(self.table, self.column)

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match with a sentence."""
        days = (day.isoformat() if day else None for day in (self.before, self.after))
        return Match(
            sentence=sentence,
            table=self.table,
            column=self.column,
            keys=self.keys,
            before=next(days),
            after=next(days),
            impact=impact,
        )


def notices(comparison: Comparison) -> Iterator[Notice]:
    """Yield the last days that changed; not of what went with its mark, which the rules of removals report."""
    stated = (*comparison.of(HeaderChanged), *hint_changes(comparison))
    if not any(change.name in (REMOVED_TABLES, REMOVED_COLUMNS, DEPRECATED) for change in stated):
        return
    base, head = _announced(comparison.base.schema), _announced(comparison.head.schema)
    tables = {old: new for new, old in comparison.base_tables.items()}
    columns = {(table, old): new for (table, new), old in renamed_columns(comparison).items()}
    before: dict[Place, date] = {}
    for (table, column), day in base.items():
        name = tables.get(table, table)
        before[name, columns.get((name, column), column) if column is not None else None] = day
    for where in dict.fromkeys((*before, *head)):
        old, new = before.get(where), head.get(where)
        is_there = _has(comparison.head.schema, where)
        if old != new and (is_there or new or _outlives(comparison, where)):
            yield Notice(*where, old, new, is_there, _keys(comparison, where))


def _announced(schema: Schema) -> Mapping[Place, date]:
    found: dict[Place, date] = {(name, None): day for name, day in announced_tables(schema).items()}
    for table in schema.tables.values():
        found.update({(table.name, column): day for column, day in announced_columns(table).items()})
    return found


def _has(schema: Schema, where: Place) -> bool:
    name, column = where
    table = schema.tables.get(name)
    return table is not None and (column is None or column in table.columns)


def _outlives(comparison: Comparison, where: Place) -> bool:
    """Return whether the notice stood apart from what it announces, so that the name was retired."""
    name, column = where
    base = comparison.base.schema
    if column is None:
        return name in (base.extensions.get(REMOVED_TABLES) or {}) and name not in base.tables
    table = base.tables.get(comparison.base_tables.get(name, name))
    stands = table is not None and name in comparison.head.schema.tables and column not in table.columns
    return stands and table is not None and column in (table.properties.get(REMOVED_COLUMNS) or {})


def _keys(comparison: Comparison, where: Place) -> tuple[str, ...]:
    name, column = where
    table = comparison.head.schema.tables.get(name)
    if column is None:
        is_marked = table is not None and table.properties.get(DEPRECATED) is not None
        return ("tables", name, DEPRECATED) if is_marked else (REMOVED_TABLES,)
    found = table.columns.get(column) if table else None
    if found is not None and found.properties.get(DEPRECATED) is not None:
        return ("tables", name, "columns", column, DEPRECATED)
    return ("tables", name, REMOVED_COLUMNS)
