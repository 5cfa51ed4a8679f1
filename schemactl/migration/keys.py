"""Which primary keys change: what a schema hints as one against what the destination has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from schemactl.migration.comparison import has_backfill
from schemactl.migration.lookup import Lookup
from schemactl.migration.steps import primary_key
from schemactl.schema.changes import Change, ColumnAdded
from schemactl.schema.types import Table


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


def changed_keys(lookup: Lookup) -> Iterator[tuple[str, KeyChange]]:
    """Yield all changes of primary keys with the tables' new names."""
    comparison = lookup.comparison
    for name, table in comparison.schema.tables.items():
        if not lookup.has_table(name):
            continue
        before, after = primary_key(lookup.found_table(name)), stated_key(table)
        if set(before) != {lookup.old_column(name, column) for column in after}:
            yield name, KeyChange(before, after)


def planned_keys(lookup: Lookup, is_empty: Callable[[str], bool]) -> Mapping[str, KeyChange]:
    """Return the changes that can be planned, by the tables' new names: no column of a new key may be null.

    Args:
        lookup: of the comparison.
        is_empty: whether a table of the destination, by its new name, holds no rows.
    """
    added = {
        (change.table, change.column.name) for change in lookup.comparison.changes if isinstance(change, ColumnAdded)
    }

    def is_required(name: str, table: Table, column: str) -> bool:
        stated = table.columns[column]
        return not stated.nullable and ((name, column) not in added or has_backfill(stated) or is_empty(name))

    tables = lookup.comparison.schema.tables
    return {
        name: change
        for name, change in changed_keys(lookup)
        if all(is_required(name, tables[name], column) for column in change.after)
    }


def stated_key(table: Table) -> tuple[str, ...]:
    """Return the names of the columns that a schema hints as a table's primary key; those without a type are none."""
    return tuple(name for name in primary_key(table) if table.columns[name].is_complete)
