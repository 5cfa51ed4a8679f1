"""Descriptions of tables and columns: where a schema states others than a destination has, and the steps for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.comparison import Comparison, is_bookkeeping
from schemactl.migration.effects import run
from schemactl.migration.steps import DescribeTable, Step
from schemactl.schema.changes import ABSENT, Change, ColumnPropertyChanged, TablePropertyChanged
from schemactl.schema.renames import is_dlts_own
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column, Table


def description_steps(
    comparison: Comparison, steps: Sequence[Step], abilities: Abilities
) -> Iterator[tuple[DescribeTable, Change]]:
    """Yield the steps that describe tables as the schema does, each with the first text that changes as its reason.

    A text that the schema does not state is removed only where it is the one that the last schema stated: others are
    somebody's own. dlt describes its own tables and columns, and variants.
    """
    if abilities.describe_table is Way.NONE:
        return
    tables = dict(comparison.described)
    run(tables, steps)
    known = comparison.known.tables if comparison.known is not None else {}
    for name, stated in comparison.schema.tables.items():
        if name not in tables or is_bookkeeping(name):
            continue
        last = known.get(comparison.old_table(name))
        before: dict[str, str | None] = {}
        after: dict[str, str | None] = {}
        for part, there, wanted in _parts(tables[name], stated):
            former = _part(last, comparison.old_column(name, part)) if last is not None else None
            old, new = description_of(there), _kept(wanted, abilities)
            if old != new and (new is not None or old == _kept(former, abilities)):
                before[part], after[part] = old, new
        if after:
            yield DescribeTable(name, before, after), _reason(name, before, after)


def _parts(there: Table, stated: Table) -> Iterator[tuple[str, Column | Table, Column | Table]]:
    """Yield a table and its columns as they are there and as they are stated, with their names; the table has none."""
    yield "", there, stated
    for name, column in stated.columns.items():
        if name in there.columns and column.is_complete and not (is_dlts_own(name) or column.is_variant):
            yield name, there.columns[name], column


def _part(table: Table, column: str) -> Column | Table | None:
    return table.columns.get(column) if column else table


def _kept(of: Column | Table | None, abilities: Abilities) -> str | None:
    """Return what a destination keeps of a description."""
    text = description_of(of) if of is not None else None
    return None if text is None else abilities.kept_description(text, isinstance(of, Table)) or None


def _reason(table: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Change:
    column = next(iter(after))
    old, new = (ABSENT if texts[column] is None else texts[column] for texts in (before, after))
    if column:
        return ColumnPropertyChanged(table, column, "description", old, new)
    return TablePropertyChanged(table, "description", old, new)
