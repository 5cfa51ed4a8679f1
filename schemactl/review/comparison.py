"""The input of rules: two schemas, and the changes between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

from schemactl.errors import Location
from schemactl.grouping import group_by
from schemactl.review.field_changes import (
    STRUCTURE_HINTS,
    FieldChange,
    FieldPropertyChanged,
    StructureReader,
    column_fields,
)
from schemactl.schema.changes import Change, ColumnPropertyChanged, ColumnRenamed, TableRenamed
from schemactl.schema.nested_types import keeps_structure, structure_in
from schemactl.schema.structure import NameLimits, typed_columns
from schemactl.schema.types import Column, Schema, Table

Kind = TypeVar("Kind", bound=Change)


@dataclass(frozen=True, slots=True)
class Side:
    """A schema that is compared.

    Attributes:
        stated_hash: the ``version_hash`` of its file, if it has one.
        is_edited: whether the file's content has changed since its hash was made.
        stated_engine_version: the ``engine_version`` of its file, before the upgrade.
        destination: the name limits of the destination whose catalog it is; None for a schema file.
        hashes: its own hash and earlier hashes, or the hashes that the destination was loaded with; the newest first.
            Set if one side is a catalog.
        open_questions: questions about unapplied edits of an import file that only data can answer.
        unfilled: table and name of each column that must not be null and that no field of the model fills.
    """

    schema: Schema
    stated_hash: str | None = None
    is_edited: bool = False
    stated_engine_version: int = 11
    destination: NameLimits | None = None
    hashes: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    unfilled: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that decides reviews, and is another in the head than in the base.

    Attributes:
        key: its name in settings files.
        before, after: its value at the base and in the head, defaults included, as plain JSON data.
        at, base_at: its places at the head and the base; None if they have no settings file.
    """

    key: str
    before: Any
    after: Any
    at: Location | None = None
    base_at: Location | None = None


@dataclass(frozen=True)
class Comparison:
    """Two schemas with the changes that lead from the first to the second (``schema.diff.diff``).

    Attributes:
        today: the day for which announced removals are checked.
        structure_in: reads the types of columns in ``x-database-type``; None if it is not nested.
        settings: the settings that the head changes; they belong to no schema, so a separate comparison has them.
        is_descendant: whether git has the base's revision in the history of the head; looked up only if hashes differ.
    """

    base: Side
    head: Side
    changes: tuple[Change, ...]
    today: date
    structure_in: StructureReader = structure_in
    settings: tuple[SettingChange, ...] = ()
    is_descendant: Callable[[], bool] = lambda: False

    def of(self, kind: type[Kind], *names: str) -> Iterator[Kind]:
        """Yield the changes of one kind, in their order; with names, only changes of properties with these names."""
        for change in self._by_kind.get(kind, ()):
            if not names or change.name in names:  # type: ignore[union-attr]
                yield change  # type: ignore[misc]

    @cached_property
    def _by_kind(self) -> Mapping[type, list[Change]]:
        return group_by(self.changes, type)

    @cached_property
    def base_tables(self) -> Mapping[str, str]:
        """Names of renamed tables in the base schema, by their names in the head schema."""
        return {change.after: change.before for change in self.of(TableRenamed)}

    @cached_property
    def base_columns(self) -> Mapping[tuple[str, str], str]:
        """Names of renamed columns in the base schema, by (table, column) in the head schema."""
        return {(change.table, change.after): change.before for change in self.of(ColumnRenamed)}

    @cached_property
    def head_columns(self) -> Mapping[tuple[str, str], str]:
        """Names of renamed columns in the head schema, by (table in the head schema, column in the base schema)."""
        return {(table, old): new for (table, new), old in self.base_columns.items()}

    @cached_property
    def fields(self) -> Mapping[tuple[str, str], tuple[FieldChange | FieldPropertyChanged, ...] | None]:
        """The changes inside columns whose structure or hints changed, by (table, column) in the head schema.

        None for a column whose structure cannot be compared.
        """
        hint_changes = self.of(ColumnPropertyChanged, *STRUCTURE_HINTS)
        is_kept = any(keeps_structure(side.schema.normalizers) for side in (self.base, self.head))
        changes = {}
        for table, name in dict.fromkeys((change.table, change.column) for change in hint_changes):
            base, head = self.base_column(table, name), self.head_column(table, name)
            if base is not None and head is not None:
                changes[table, name] = column_fields(table, base, head, self.structure_in, keeps_structure=is_kept)
        return changes

    def base_table(self, table: str) -> Table | None:
        """Return a table of the base schema by its name in the head schema, None for a new table."""
        return self.base.schema.tables.get(self.base_tables.get(table, table))

    def base_column(self, table: str, column: str) -> Column | None:
        """Return a column of the base schema by its name in the head schema, None for a new column."""
        base_table = self.base_table(table)
        return base_table.columns.get(self.base_columns.get((table, column), column)) if base_table else None

    def head_column(self, table: str, column: str) -> Column | None:
        """Return a column of the head schema, if it exists."""
        head_table = self.head.schema.tables.get(table)
        return head_table.columns.get(column) if head_table else None

    def has_stored_rows(self, table: str) -> bool:
        """Return whether a table of the head schema may have rows: the base schema has it, with a typed column."""
        base_table = self.base_table(table)
        return base_table is not None and bool(typed_columns(base_table))


def is_filled_by_dlt(column: str) -> bool:
    """Return whether dlt fills the column itself: data lacks it, and an import file can omit it."""
    return column.casefold().startswith("_dlt_")
