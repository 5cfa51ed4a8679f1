"""The steps that give tables, and the columns of each, other names: their order matters."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.migration.lookup import Lookup
from schemactl.migration.moves import in_order
from schemactl.migration.steps import DropNotNull, RenameColumn, RenameTable
from schemactl.schema.changes import ColumnRenamed, TableRenamed
from schemactl.schema.structure import NameLimits


def table_rename_steps(lookup: Lookup, limits: NameLimits) -> Iterator[tuple[RenameTable, TableRenamed]]:
    """Yield the renames of tables, each with its reason, so that each new name is free when its turn comes."""
    comparison = lookup.comparison
    reasons = {change.before: change for change in comparison.changes if isinstance(change, TableRenamed)}
    pairs = {old: change.after for old, change in reasons.items()}
    for old, new in in_order(pairs, {*comparison.catalogue.tables, *comparison.schema.tables}, limits):
        reason = reasons.get(old) or next(each for each in reasons.values() if each.after == new)
        yield RenameTable(old, new), reason


def rename_steps(lookup: Lookup, limits: NameLimits) -> Iterator[tuple[RenameColumn | DropNotNull, ColumnRenamed]]:
    """Yield the renames of all tables, each with its reason, so that each new name is free when its turn comes.

    A column that only makes room may be null from then on: loads leave it empty.
    """
    renames = [change for change in lookup.comparison.changes if isinstance(change, ColumnRenamed)]
    for table in dict.fromkeys(change.table for change in renames):
        reasons = {change.before: change for change in renames if change.table == table}
        pairs = {old: change.after for old, change in reasons.items()}
        stated = lookup.comparison.schema.tables[table].columns
        for old, new in in_order(pairs, {*lookup.found_table(table).columns, *stated}, limits):
            reason = reasons.get(old) or next(each for each in reasons.values() if each.after == new)
            yield RenameColumn(table, old, new), reason
        for change in reasons.values():
            found = lookup.found_column(table, change.after)
            if change.after not in stated and not found.nullable and not found.properties.get("primary_key"):
                yield DropNotNull(table, found), change
