"""Keys and unique columns: where a schema hints others than the destination has, and the steps for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from schemactl.migration.comparison import Comparison, has_backfill
from schemactl.migration.steps import AddPrimaryKey, AddUnique, DropPrimaryKey, DropUnique, primary_key
from schemactl.schema.changes import ABSENT, Change, ColumnAdded, ColumnPropertyChanged
from schemactl.schema.types import Column, Table

KeyStep: TypeAlias = AddPrimaryKey | DropPrimaryKey | AddUnique | DropUnique


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table whose primary key is another one in the schema than in the destination.

    Attributes:
        before: names of its columns in the destination; none where there is no key.
        after: names of its columns in the schema; none where there is no key.
        reason: the change for which the key moves to new columns of the same names; None where the key itself changes.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: Change | None = None


def changed_keys(comparison: Comparison) -> Iterator[tuple[str, KeyChange]]:
    """Yield all changes of primary keys with the tables' new names."""
    for name, table in comparison.schema.tables.items():
        if not comparison.has_table(name):
            continue
        before, after = primary_key(comparison.found_table(name)), stated_key(table)
        if set(before) != {comparison.old_column(name, column) for column in after}:
            yield name, KeyChange(before, after)


def planned_keys(comparison: Comparison, is_empty: Callable[[str], bool]) -> Mapping[str, KeyChange]:
    """Return the changes that can be planned, by the tables' new names: no column of a new key may be null."""
    added = {(change.table, change.column.name) for change in comparison.changes if isinstance(change, ColumnAdded)}

    def is_required(name: str, table: Table, column: str) -> bool:
        stated = table.columns[column]
        return not stated.nullable and ((name, column) not in added or has_backfill(stated) or is_empty(name))

    tables = comparison.schema.tables
    return {
        name: change
        for name, change in changed_keys(comparison)
        if all(is_required(name, tables[name], column) for column in change.after)
    }


def stated_key(table: Table) -> tuple[str, ...]:
    """Return the names of the columns that a schema hints as a table's primary key; those without a type are none."""
    return tuple(name for name in primary_key(table) if table.columns[name].is_complete)


def primary_key_steps(table: str, key: KeyChange) -> Iterator[tuple[KeyStep, Change]]:
    """Yield the steps of one key, each with the hint of a column that is in one of both keys as its reason."""
    if key.before:
        gone = next((name for name in key.before if name not in key.after), key.before[0])
        reason = key.reason or ColumnPropertyChanged(table, gone, "primary_key", True, ABSENT)
        yield DropPrimaryKey(table, key.before), reason
    if key.after:
        new = next((name for name in key.after if name not in key.before), key.after[0])
        reason = key.reason or ColumnPropertyChanged(table, new, "primary_key", ABSENT, True)
        yield AddPrimaryKey(table, key.after), reason


def unique_steps(comparison: Comparison) -> Iterator[tuple[KeyStep, Change]]:
    """Yield the constraints of single columns that the schema has and the destination has not, or the reverse."""
    for name, table in comparison.schema.tables.items():
        if comparison.has_table(name):
            for column in table.columns.values():
                if column.is_complete:
                    yield from _unique_steps_of(comparison, name, column)


def _unique_steps_of(comparison: Comparison, table: str, column: Column) -> Iterator[tuple[KeyStep, Change]]:
    old = comparison.old_column(table, column.name)
    there = comparison.found_table(table).columns.get(old)
    is_there = there is not None and bool(there.properties.get("unique"))
    is_stated = bool(column.properties.get("unique"))
    if is_stated and not is_there:
        yield AddUnique(table, column.name), ColumnPropertyChanged(table, column.name, "unique", ABSENT, True)
    if is_there and not is_stated:
        yield DropUnique(table, old), ColumnPropertyChanged(table, column.name, "unique", True, ABSENT)
