"""Applies changes to a schema: ``apply(a, diff(a, b))`` is ``b``, the order of columns included.

The order of tables is no part of a schema (dlt sorts them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

from schemactl.schema.changes import (
    ABSENT,
    TYPE_PROPERTIES,
    Change,
    ColumnAdded,
    ColumnChange,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    HeaderChanged,
    NormalizerChanged,
    NullabilityChanged,
    SettingChanged,
    TableAdded,
    TablePropertyChanged,
    TableRemoved,
    TableRenamed,
)
from schemactl.schema.types import Column, Schema, Table


def apply(schema: Schema, changes: Iterable[Change]) -> Schema:
    """Return the schema with the changes made, in their order.

    Raises:
        KeyError: a change speaks of a table or a column that is not there, or gives a name that is taken.
    """
    draft = _SchemaDraft.of(schema)
    for change in changes:
        match change:
            case HeaderChanged():
                _state(draft.header, change.name, change.after)
            case SettingChanged():
                _state(draft.settings, change.name, change.after)
            case NormalizerChanged():
                _state(draft.normalizers, change.name, change.after)
            case TableRenamed():
                draft.rename(change.before, change.after)
            case TableRemoved():
                draft.remove(change.table.name)
            case TableAdded():
                draft.add(change.table)
            case TablePropertyChanged():
                draft.state(draft.table(change.table), change.name, change.after)
            case _:
                _apply_to_columns(draft.table(change.table), change)
    return draft.finished()


def header_of(schema: Schema) -> dict[str, Any]:
    """Return the keys at the top of the schema's file that are stated and no sections, as plain JSON data."""
    stated = {
        "version": schema.version,
        "version_hash": schema.version_hash or ABSENT,
        "engine_version": schema.engine_version,
        "name": schema.name,
        "previous_hashes": list(schema.previous_hashes),
        "imported_version_hash": ABSENT if schema.imported_version_hash is None else schema.imported_version_hash,
        "description": ABSENT if schema.description is None else schema.description,
    }
    return {name: value for name, value in {**stated, **schema.extensions}.items() if value is not ABSENT}


_HEADER_FIELDS: Final = frozenset(
    ("version", "version_hash", "engine_version", "name", "previous_hashes", "imported_version_hash", "description")
)


# Drafts are mutable, and found by number where names change: thousands of changes each take constant time.


@dataclass(slots=True)
class _ColumnDraft:
    name: str
    properties: dict[str, Any]


@dataclass(slots=True)
class _TableDraft:
    """A table whose columns are opened when the first of them changes."""

    name: str
    properties: dict[str, Any]
    origin: Mapping[str, Column]
    columns: dict[int, _ColumnDraft] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    displaced: dict[str, int] = field(default_factory=dict)
    is_open: bool = False
    next_number: int = 0

    @classmethod
    def of(cls, table: Table) -> _TableDraft:
        return cls(table.name, dict(table.properties), table.columns)

    def open(self) -> None:
        if not self.is_open:
            self.is_open = True
            for column in self.origin.values():
                self.add(column)

    def add(self, column: Column) -> None:
        self._refuse_taken(column.name)
        self.numbers[column.name] = self.next_number
        self.columns[self.next_number] = _ColumnDraft(column.name, dict(column.properties))
        self.next_number += 1

    def remove(self, name: str) -> None:
        del self.columns[self._number(name)]
        del self.numbers[name]

    def rename(self, before: str, after: str) -> None:
        """Give a column another name; the one that has it must get another one itself (``finished`` looks)."""
        number = self.displaced.pop(before) if before in self.displaced else self.numbers.pop(self._known(before))
        if after in self.numbers:
            if after in self.displaced:
                self._refuse_taken(after)
            self.displaced[after] = self.numbers[after]
        self.numbers[after] = number
        self.columns[number].name = after

    def reorder(self, names: Iterable[str]) -> None:
        first = {number: self.columns[number] for number in map(self._number, names)}
        self.columns = {**first, **self.columns}

    def properties_of(self, name: str) -> dict[str, Any]:
        return self.columns[self._number(name)].properties

    def finished(self) -> Table:
        if not self.is_open:
            return Table(self.name, self.origin, self.properties)
        for name in self.displaced:
            self._refuse_taken(name)
        columns = {draft.name: Column(draft.name, draft.properties) for draft in self.columns.values()}
        return Table(self.name, columns, self.properties)

    def _number(self, name: str) -> int:
        return self.numbers[self._known(name)]

    def _known(self, name: str) -> str:
        if name not in self.numbers:
            raise KeyError(f"there is no column `{name}` in the table `{self.name}`")
        return name

    def _refuse_taken(self, name: str) -> None:
        if name in self.numbers:
            raise KeyError(f"there is a column `{name}` in the table `{self.name}` already")


@dataclass(slots=True)
class _SchemaDraft:
    header: dict[str, Any]
    settings: dict[str, Any]
    normalizers: dict[str, Any]
    tables: dict[str, _TableDraft] = field(default_factory=dict)
    # Tables by their parents' names; one that has changed its parent since may stand at the old one still.
    nested: dict[str, list[_TableDraft]] = field(default_factory=dict)
    # Tables whose names others have taken, with those nested in them, until they get another one themselves.
    displaced: dict[str, tuple[_TableDraft, list[_TableDraft]]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema) -> _SchemaDraft:
        draft = cls(header_of(schema), dict(schema.settings), dict(schema.normalizers))
        for table in schema.tables.values():
            draft.add(table)
        return draft

    def table(self, name: str) -> _TableDraft:
        if name not in self.tables:
            raise KeyError(f"there is no table `{name}`")
        return self.tables[name]

    def add(self, table: Table) -> None:
        self._refuse_taken(table.name)
        self.tables[table.name] = draft = _TableDraft.of(table)
        self._note_parent(draft)

    def remove(self, name: str) -> None:
        del self.tables[self.table(name).name]

    def rename(self, before: str, after: str) -> None:
        """Give a table another name; the one that has it must get another one itself (``finished`` looks)."""
        if before in self.displaced:
            table, children = self.displaced.pop(before)
        else:
            table, children = self.table(before), self.nested.pop(before, [])
            del self.tables[before]
        if after in self.tables:
            if after in self.displaced:
                self._refuse_taken(after)
            self.displaced[after] = (self.tables[after], self.nested.pop(after, []))
        table.name = after
        self.tables[after] = table
        for child in children:
            if child.properties.get("parent") == before:
                self.state(child, "parent", after)

    def state(self, table: _TableDraft, name: str, value: Any) -> None:
        _state(table.properties, name, value)
        if name == "parent":
            self._note_parent(table)

    def finished(self) -> Schema:
        for name in self.displaced:
            self._refuse_taken(name)
        header = {name: value for name, value in self.header.items() if name in _HEADER_FIELDS}
        previous_hashes = tuple(header.pop("previous_hashes", ()))
        return Schema(
            **header,
            previous_hashes=previous_hashes,
            tables={name: table.finished() for name, table in self.tables.items()},
            settings=self.settings,
            normalizers=self.normalizers,
            extensions={name: value for name, value in self.header.items() if name not in _HEADER_FIELDS},
        )

    def _note_parent(self, table: _TableDraft) -> None:
        parent = table.properties.get("parent")
        if isinstance(parent, str):
            self.nested.setdefault(parent, []).append(table)

    def _refuse_taken(self, name: str) -> None:
        if name in self.tables:
            raise KeyError(f"there is a table `{name}` already")


def _state(properties: dict[str, Any], name: str, value: Any) -> None:
    if value is ABSENT:
        properties.pop(name, None)
    else:
        properties[name] = value


def _apply_to_columns(table: _TableDraft, change: ColumnChange) -> None:
    table.open()
    match change:
        case ColumnRenamed():
            table.rename(change.before, change.after)
        case ColumnRemoved():
            table.remove(change.column.name)
        case ColumnAdded():
            table.add(change.column)
        case ColumnRetyped():
            properties = table.properties_of(change.column)
            for name in TYPE_PROPERTIES:
                _state(properties, name, change.after.get(name, ABSENT))
        case NullabilityChanged():
            _state(table.properties_of(change.column), "nullable", change.after)
        case ColumnPropertyChanged():
            _state(table.properties_of(change.column), change.name, change.after)
        case ColumnsReordered():
            table.reorder(change.after)
        case _:
            assert_never(change)
