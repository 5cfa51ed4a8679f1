"""Finds tables and columns of a catalog by the names that they have after the renames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from schemactl.migration.comparison import Comparison
from schemactl.schema.changes import (
    ColumnRenamed,
    ColumnRetyped,
    NullabilityChanged,
    TableAdded,
    TableRenamed,
)
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import Column, Table


@dataclass(frozen=True)
class Lookup:
    """What is asked of a comparison again and again; found once."""

    comparison: Comparison

    @cached_property
    def naming(self) -> Naming:
        """The schema's naming convention."""
        return naming_of(self.comparison.schema)

    @cached_property
    def renamed_tables(self) -> Mapping[str, str]:
        """Old names by new ones."""
        return {each.after: each.before for each in self.comparison.changes if isinstance(each, TableRenamed)}

    @cached_property
    def renamed_columns(self) -> Mapping[str, Mapping[str, str]]:
        """Old names by new ones, by table."""
        found: dict[str, dict[str, str]] = {}
        for change in self.comparison.changes:
            if isinstance(change, ColumnRenamed):
                found.setdefault(change.table, {})[change.after] = change.before
        return found

    @cached_property
    def retyped(self) -> frozenset[tuple[str, str]]:
        """Table and column of those that get another type."""
        changes = (each for each in self.comparison.changes if isinstance(each, ColumnRetyped))
        return frozenset((each.table, each.column) for each in changes)

    @cached_property
    def freed(self) -> frozenset[tuple[str, str]]:
        """Table and column of those that may be null now."""
        changes = (each for each in self.comparison.changes if isinstance(each, NullabilityChanged))
        return frozenset((each.table, each.column) for each in changes if each.after is not False)

    @cached_property
    def created(self) -> frozenset[str]:
        """The tables that are new."""
        return frozenset(each.table.name for each in self.comparison.changes if isinstance(each, TableAdded))

    @cached_property
    def _left_names(self) -> frozenset[str]:
        """Names that tables had, and that none takes from them."""
        return frozenset(self.renamed_tables.values()) - self.renamed_tables.keys()

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name once tables are created and renamed."""
        if name in self.created:
            return True
        return self.old_table(name) in self.comparison.catalogue.tables and name not in self._left_names

    def old_table(self, name: str) -> str:
        """Return the name that a table has in the destination."""
        return self.renamed_tables.get(name, name)

    def old_column(self, table: str, name: str) -> str:
        """Return the name that a column has in the destination."""
        return self.renamed_columns.get(table, {}).get(name, name)

    def found_table(self, name: str) -> Table:
        """Return a table as the destination has it, by its new name; without columns where it is new."""
        if name in self.created or name in self._left_names:
            return Table(name)  # whatever had its name before
        return self.comparison.catalogue.tables.get(self.old_table(name)) or Table(name)

    def found_column(self, table: str, name: str) -> Column:
        """Return a column as the destination has it, under its new name.

        Raises:
            KeyError: the destination has no such column.
        """
        return replace(self.found_table(table).columns[self.old_column(table, name)], name=name)
