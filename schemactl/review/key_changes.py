"""Compares keys that several columns of a table may make up together: ``primary_key``, ``merge_key`` ..."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schemactl.review.comparison import Comparison
from schemactl.review.origins import base_table, is_filled_by_dlt, renamed_columns
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.schema.changes import ColumnAdded, ColumnPropertyChanged, ColumnRemoved, ColumnsReordered
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table's key with other columns than before, by their names in the head schema, in the table's order."""

    table: str
    hint: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(column for column in self.after if column not in self.before)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(column for column in self.before if column not in self.after)

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match that points to the column where there is only one."""
        moved = (*self.added, *self.removed)
        column = moved[0] if len(moved) == 1 else None
        keys = ("tables", self.table, "columns")
        return Match(
            sentence=sentence,
            table=self.table,
            column=column,
            keys=(*keys, column, self.hint) if column else keys,
            before=list(self.before),
            after=list(self.after),
            # One column may be in several keys, which then change alike.
            aspect="" if column else self.hint,
            impact=impact,
        )


def key_changes(comparison: Comparison, hint: str) -> Iterator[KeyChange]:
    """Yield each table whose columns with ``hint`` are others now.

    A new column counts where it joins a key, and as the first one of a table with rows, which have no value in it
    then; not where dlt fills it. New tables do not count.
    """
    touched = dict.fromkeys(_touched(comparison, hint))
    if not touched:
        return
    added = {(change.table, change.column.name) for change in comparison.of(ColumnAdded)}
    renames = _renames(comparison)
    for table in touched:
        before, after = _sides(comparison, renames, table, hint)
        is_harmless = not before and all((table, column) in added for column in after)
        if is_harmless and _has_rows(comparison, table):
            is_harmless = all(is_filled_by_dlt(column) for column in after)
        if set(before) != set(after) and not is_harmless:
            yield KeyChange(table, hint, before, after)


def reordered_keys(comparison: Comparison, hint: str) -> Iterator[KeyChange]:
    """Yield each table whose columns with ``hint`` are the same in another order."""
    renames = _renames(comparison)
    for change in comparison.of(ColumnsReordered):
        before, after = _sides(comparison, renames, change.table, hint)
        if before != after and set(before) == set(after):
            yield KeyChange(change.table, hint, before, after)


def _has_rows(comparison: Comparison, table: str) -> bool:
    base = base_table(comparison, table)
    return base is not None and not base.is_new


def _touched(comparison: Comparison, hint: str) -> Iterator[str]:
    for change in comparison.of(ColumnPropertyChanged):
        if change.name == hint:
            yield change.table
    for added in comparison.of(ColumnAdded):
        if added.column.properties.get(hint):
            yield added.table
    for removed in comparison.of(ColumnRemoved):
        if removed.column.properties.get(hint):
            yield removed.table


def _renames(comparison: Comparison) -> Mapping[tuple[str, str], str]:
    """Return names in the head schema by (table in the head schema, column in the base schema)."""
    return {(table, old): new for (table, new), old in renamed_columns(comparison).items()}


def _sides(
    comparison: Comparison, renames: Mapping[tuple[str, str], str], table: str, hint: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a table's key before and after, by names of the head schema."""
    old = _columns(base_table(comparison, table), hint)
    before = tuple(renames.get((table, column), column) for column in old)
    return before, _columns(comparison.head.schema.tables.get(table), hint)


def _columns(table: Table | None, hint: str) -> tuple[str, ...]:
    if table is None:
        return ()
    return tuple(name for name, column in table.columns.items() if column.properties.get(hint))
