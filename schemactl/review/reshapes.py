"""Data that changes its form between columns and nested tables: one event behind many changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from schemactl.grouping import group_by
from schemactl.review.comparison import Comparison
from schemactl.schema.changes import ColumnAdded, ColumnRemoved, TableAdded, TableRemoved
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import DataType, Table


class Form(Enum):
    """The kind of reshaping."""

    COLLAPSED = auto()
    """Nested tables or flattened columns become one ``json`` column."""
    EXPLODED = auto()
    """A ``json`` column becomes nested tables or flattened columns."""
    LISTED = auto()
    """A column of single values becomes a nested table."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """One key of the data that is stored in another form.

    Attributes:
        table, column: the column that holds, or held, all of the data; names as in the changes.
        tables, columns: the tables and columns that the data is, or was, spread over; tables by name.
        keeps_column: whether the column of single values is kept together with its nested table.
    """

    form: Form
    table: str
    column: str
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keeps_column: bool = False


def reshapes(comparison: Comparison) -> tuple[Reshape, ...]:
    """Return the reshapes between two schemas, in the order of the changes."""
    return tuple(_Finder(comparison).find())


def reshaped_tables(comparison: Comparison) -> frozenset[str]:
    """Return the tables whose coming or going is part of a reshape."""
    return frozenset(name for reshape in reshapes(comparison) for name in reshape.tables)


def reshaped_columns(comparison: Comparison) -> frozenset[tuple[str, str]]:
    """Return the columns (table, column) whose coming or going is part of a reshape."""
    return frozenset((shape.table, name) for shape in reshapes(comparison) for name in (shape.column, *shape.columns))


class _Finder:
    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._added = list(comparison.of(ColumnAdded))
        self._removed = list(comparison.of(ColumnRemoved))
        added_tables = (change.table for change in comparison.of(TableAdded))
        removed_tables = (change.table for change in comparison.of(TableRemoved))
        self._new, self._gone = (
            group_by((table for table in tables if table.parent is not None), lambda table: table.parent or "")
            for tables in (added_tables, removed_tables)
        )

    def find(self) -> Iterator[Reshape]:
        if not (self._new or self._gone or (self._added and self._removed)):
            return
        naming = naming_of(self._comparison.head.schema)
        removed_columns = {(change.table, change.column.name) for change in self._removed}
        for added in self._added:
            if added.column.properties.get("data_type") == DataType.JSON:
                yield from self._collapsed(added, naming)
        for removed in self._removed:
            yield from self._spread(removed, naming)
        yield from self._beside(removed_columns, naming)

    def _collapsed(self, added: ColumnAdded, naming: Naming) -> Iterator[Reshape]:
        parents = {added.table: None, self._comparison.base_tables.get(added.table, added.table): None}
        tables = [name for parent in parents for name in _below(parent, added.column.name, self._gone, naming)]
        columns = _flattened(added.table, added.column.name, self._removed, naming)
        if tables or columns:
            yield Reshape(Form.COLLAPSED, added.table, added.column.name, tuple(sorted(tables)), columns)

    def _spread(self, removed: ColumnRemoved, naming: Naming) -> Iterator[Reshape]:
        table, column = removed.table, removed.column
        tables = tuple(sorted(_below(table, column.name, self._new, naming)))
        if column.properties.get("data_type") == DataType.JSON:
            columns = _flattened(table, column.name, self._added, naming)
            if tables or columns:
                yield Reshape(Form.EXPLODED, table, column.name, tables, columns)
        elif naming.shorten_fragments(table, column.name) in tables:
            yield Reshape(Form.LISTED, table, column.name, tables)

    def _beside(self, removed_columns: set[tuple[str, str]], naming: Naming) -> Iterator[Reshape]:
        """Yield columns that stay while a nested table of their name comes, as dlt leaves them (docs/dlt.md §6.5)."""
        changed_columns = removed_columns | {(change.table, change.column.name) for change in self._added}
        new_tables = {table.name for tables in self._new.values() for table in tables}
        for parent, tables in self._new.items():
            parent_table = self._comparison.head.schema.tables.get(parent)
            if parent_table is None or parent in new_tables:
                continue
            nested_names = {table.name for table in tables}
            for column in parent_table.columns.values():
                if (parent, column.name) in changed_columns or column.data_type in (None, DataType.JSON):
                    continue
                if naming.shorten_fragments(parent, column.name) in nested_names:
                    nested = tuple(sorted(_below(parent, column.name, self._new, naming)))
                    yield Reshape(Form.LISTED, parent, column.name, nested, keeps_column=True)


def _below(table: str, column: str, by_parent: Mapping[str, list[Table]], naming: Naming) -> Iterator[str]:
    """Yield the nested tables that hold a key of a table, with all that is nested in them."""
    name = naming.shorten_fragments(table, column)
    nested_names = [nested_table.name for nested_table in by_parent.get(table, ())]
    pending_names = [of for of in nested_names if of == name or of.startswith(name + naming.path_separator)]
    yielded_names: set[str] = set()
    while pending_names:
        nested_name = pending_names.pop(0)
        if nested_name not in yielded_names:
            yielded_names.add(nested_name)
            yield nested_name
            pending_names += [nested_table.name for nested_table in by_parent.get(nested_name, ())]


def _flattened(
    table: str, column: str, changes: list[ColumnAdded] | list[ColumnRemoved], naming: Naming
) -> tuple[str, ...]:
    """Return the columns that hold the keys of a mapping."""
    prefix = naming.make_path(column) + naming.path_separator
    return tuple(
        change.column.name
        for change in changes
        if change.table == table and change.column.name.startswith(prefix) and not change.column.is_variant
    )
