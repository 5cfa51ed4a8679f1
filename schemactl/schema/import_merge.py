"""Merges an edited import file into the schema without data: its content wins, columns from data stay.

dlt starts over from an edited import file, and the next data adds the remaining columns again. This module does the
same without data: columns that the import file lacks come from earlier data. A column that only data can decide about
is an open question.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from schemactl.schema.changes import TYPE_PROPERTIES, Change
from schemactl.schema.contract import system_prefix
from schemactl.schema.folds import folds_of
from schemactl.schema.naming import naming_of
from schemactl.schema.paths import Path, parse_path
from schemactl.schema.renames import RENAMED_FROM, column_claims, origins, table_claims
from schemactl.schema.settings import Settings
from schemactl.schema.types import Column, Properties, Schema, Table, ancestors

_INFERRED: Final = ("data_type", "precision", "scale", "timezone", "x-nested-type")
"""Properties of a column that come only from data; all other properties follow from the settings."""

_TYPING: Final = "x-typing"
"""The property of a table and of its columns that a drafted typing writes to the export file only."""

_NOTED: Final = ("x-source-names", "x-detections", _TYPING)
"""Properties of tables that inference and drafts of a typing write down."""

_MARKS: Final = "x-normalizer"

Sources = Mapping[tuple[str, str | None], Sequence[str]]
"""Paths in the data by table and column, in order."""

Named = TypeVar("Named", Table, Column)


@dataclass(frozen=True, slots=True)
class MergedImport:
    """A schema with an applied edit of its import file; it contains a guess for each open question."""

    schema: Schema
    open_questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Synced:
    """The outcome of ``sync`` for a schema whose import file was edited.

    Attributes:
        before: the schema of the export file; None without export file.
        after: the schema with the edit applied; unchanged without an edit.
        is_pending: whether the import file had an unapplied edit when the command began.
        dropped: columns and tables from data that the edit drops.
        open_questions: questions that only data can answer; if any, nothing is written.
    """

    before: Schema | None
    after: Schema
    changes: tuple[Change, ...]
    is_pending: bool
    dropped: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def merge_import(imported: Schema, exported: Schema, earlier: Schema | None, sources: Sources) -> MergedImport:
    """Return the stored schema with the edits of the import file.

    ``earlier`` is the import file that ``exported`` last applied; None if unknown. In that case, a column that
    inference could have created counts as created by data. ``sources`` are the data paths of the stored columns, for
    hints and types by path.
    """
    fitted = _with_fitted_names(imported, exported, earlier)
    merge = _Merge(fitted, exported, earlier and _with_fitted_names(earlier, exported, earlier), sources)
    tables = {name: merge.table(table) for name, table in fitted.tables.items()}
    from_data, names = dict[str, Table](), set(tables)
    for table in _parents_first(exported):
        followed = merge.follow_parent(table)
        if followed.name not in names and merge.keeps_table(table, followed.parent, names):
            from_data[table.name] = followed
            names.add(followed.name)
    for name in filter(from_data.__contains__, exported.tables):  # in the order of the file
        columns = {column.name: merge.column_of_data(name, column, None) for column in from_data[name].columns.values()}
        tables[from_data[name].name] = replace(from_data[name], columns=columns)
    return MergedImport(replace(fitted, tables=tables, normalizers=merge.normalizers()), tuple(merge.open_questions))


def _with_fitted_names(imported: Schema, exported: Schema, earlier: Schema | None) -> Schema:
    """Return an import file with the shortened names of its tables and columns if their names were too long.

    The user's import file keeps the long name, and the export file records it with the shorter name.
    """
    tables = {}
    for table in imported.tables.values():
        before = earlier.tables.get(table.name) if earlier else None
        name = _fitted(table.name, imported.tables, exported.tables, earlier.tables if earlier else {})
        stored = exported.tables.get(name)
        names = {
            column: _fitted(column, table.columns, stored.columns if stored else {}, before.columns if before else {})
            for column in table.columns
        }
        columns = {
            new: Column(new, _with_origins(table.columns[old].properties, stored.columns[new].properties))
            if stored is not None and new != old
            else table.columns[old]
            for old, new in names.items()
        }
        renamed = stored is not None and name != table.name
        properties = _with_origins(table.properties, stored.properties) if stored and renamed else table.properties
        tables[name] = Table(name, columns, properties)
    return replace(imported, tables=tables)


def _fitted(name: str, imported: Container[str], stored: Mapping[str, Any], before: Container[str]) -> str:
    """Return the stored, shortened form of an imported name; other imported names are renames by the user."""
    if name in stored:
        return name
    shorter_names = (of for of in stored if len(of) < len(name) and of not in imported and of not in before)
    return next((of for of in shorter_names if name in origins(stored[of].properties)), name)


def _with_origins(properties: Properties, stored: Properties) -> Properties:
    return {**properties, RENAMED_FROM: stored[RENAMED_FROM]}


class _Merge:
    def __init__(self, imported: Schema, exported: Schema, earlier: Schema | None, sources: Sources) -> None:
        self.imported, self.exported, self.earlier, self.sources = imported, exported, earlier, sources
        self.open_questions: list[str] = []
        self._new, self._old = Settings.of(imported.settings), Settings.of(exported.settings)
        self._system_prefix = system_prefix(naming_of(exported))
        self._moved = frozenset(origin for table in imported.tables.values() for origin in origins(table.properties))
        self._renamed = table_claims(exported, imported, exported, counts_hints=True)
        for table in _parents_first(exported):
            if table.parent in self._renamed and table.name not in self._renamed:
                self._renamed[table.name] = _nested_name(table, self._renamed[table.parent])
        self._claims = {new: old for old, new in self._renamed.items()}

    def table(self, imported: Table) -> Table:
        """Return a table of the import file with its columns from data."""
        stored = _origin(imported, self.exported.tables, self._claims)
        if stored is None:
            return imported
        before = self.earlier.tables.get(stored.name) if self.earlier else None
        claims = {new: old for old, new in column_claims(imported, stored, stored).items()}
        imported_columns: dict[str, tuple[str, Column]] = {}
        for name, column in imported.columns.items():
            stored_column = _origin(column, stored.columns, claims)
            if not column.is_complete and stored_column is not None and stored_column.is_complete:
                column = self._complete(imported.name, column, stored_column, before)
            if stored_column is not None and _type(column) == _type(stored_column):
                column = replace(column, properties={**_drafted_typing(stored_column, before), **column.properties})
            imported_columns[name] = (stored_column.name if stored_column else name, column)
        new_names = {origin: name for name, (origin, _) in imported_columns.items()}
        folded_names = _newly_folded(imported, stored)
        columns = {}
        # The order follows the stored columns; new columns come last.
        for name, column in stored.columns.items():
            if name in new_names:
                columns[new_names[name]] = imported_columns[new_names[name]][1]
            elif name not in folded_names and self._is_of_data(column, before):
                columns[name] = self.column_of_data(imported.name, column, before)
        columns |= {name: column for name, (_, column) in imported_columns.items() if name not in columns}
        declared = {*(before.properties if before else ()), *imported.properties}
        inherited = {key: stored.properties[key] for key in _NOTED if key in stored.properties and key not in declared}
        if stored.normalizer_hint("seen-data"):
            inherited[_MARKS] = {**(imported.properties.get(_MARKS) or {}), "seen-data": True}
        return replace(imported, columns=columns, properties={**imported.properties, **inherited})

    def follow_parent(self, table: Table) -> Table:
        """Return a stored table under its new name if the import file renames a table that it is nested in."""
        if table.parent not in self._renamed:
            return table
        properties = {**table.properties, "parent": self._renamed[table.parent]}
        return Table(self._renamed[table.name], table.columns, properties)

    def keeps_table(self, table: Table, parent: str | None, names: Container[str]) -> bool:
        """Return whether a table outside of the import file comes from data; ``parent`` is its current parent."""
        if table.name in self._moved or (parent is not None and parent not in names):
            return False
        if table.name.startswith(self._system_prefix):
            return True
        if self.earlier is not None:
            return table.name not in self.earlier.tables
        return bool(table.normalizer_hint("seen-data"))

    def normalizers(self) -> Properties:
        """Return the ``normalizers`` section, with the additions of inference."""
        imported, stored = self.imported.normalizers, self.exported.normalizers
        before = self.earlier.normalizers if self.earlier is not None else _without_propagation(stored)
        if imported in (before, stored):
            return stored
        if any(table.normalizer_hint("seen-data") for table in self.exported.tables.values()):
            self.open_questions.append("`normalizers` changed, which changes names of tables and columns")
        return imported

    def _is_of_data(self, column: Column, before: Table | None) -> bool:
        if not column.is_complete:
            return False
        if self.earlier is None:
            return "nullable" in column.properties  # inference always sets it
        earlier_column = before.columns.get(column.name) if before else None
        return earlier_column is None or not earlier_column.is_complete

    def _complete(self, table: str, imported: Column, stored: Column, before: Table | None) -> Column:
        """Return a column that the import file gives only hints, with its type from data."""
        old = before.columns.get(stored.name) if before else None
        if old is not None and old.is_complete:
            self.open_questions.append(f"`{table}.{imported.name}` no longer declares a type")
        self._ask_for_type(table, stored)
        return Column(imported.name, {**self._inferred(table, stored), **imported.properties})

    def column_of_data(self, table: str, column: Column, before: Table | None) -> Column:
        """Return a column outside of the import file, without the hints that an earlier version of the file gave it."""
        if not column.is_complete:
            return column
        self._ask_for_type(table, column)
        inferred = self._inferred(table, column)
        had_hints = before is not None and column.name in before.columns
        if self.earlier is None:
            had_hints = not column.properties.keys() <= {*inferred, _TYPING}
        is_as_before = self.imported.settings.get("default_hints") == self.exported.settings.get("default_hints")
        if is_as_before and not had_hints:
            return column
        return Column(column.name, {**inferred, **_drafted_typing(column, before)})

    def _path(self, table: str, column: Column) -> Path | None:
        """Return the path of a column's first value in the data; None if unknown."""
        paths = () if column.is_variant else self.sources.get((table, column.name), ())
        return parse_path(paths[0]) if paths else None

    def _inferred(self, table: str, column: Column) -> dict[str, Any]:
        """Return the properties of a column that come from data and settings."""
        inferred_keys = (*_INFERRED, "variant", "description") if column.is_variant else _INFERRED
        inferred = {key: column.properties[key] for key in inferred_keys if key in column.properties}
        return {**inferred, **self._new.column_hints(column.name, self._path(table, column))}

    def _ask_for_type(self, table: str, column: Column) -> None:
        """Add an open question if the settings give a column of data another type."""
        if column.is_variant or column.name.startswith(self._system_prefix) or table.startswith(self._system_prefix):
            return
        name = f"`{table}.{column.name}`"
        path = self._path(table, column)
        preferred = self._new.preferred_type(column.name, path)
        if preferred != self._old.preferred_type(column.name, path) and preferred is not column.data_type:
            self.open_questions.append(f"`preferred_types` changed for {name}")
        elif preferred is None and self._new.detections != self._old.detections:
            question = "`detections` changed, which changes types of columns"
            if question not in self.open_questions:
                self.open_questions.append(question)


def _drafted_typing(stored: Column, before: Table | None) -> Properties:
    """Return the typing of a stored column, unless the earlier import file declared it and can have dropped it."""
    declared = before.columns[stored.name].properties if before and stored.name in before.columns else {}
    return {_TYPING: stored.properties[_TYPING]} if _TYPING in stored.properties and _TYPING not in declared else {}


def _parents_first(schema: Schema) -> list[Table]:
    """Return tables sorted so that parents come before their nested tables: a file may have any order."""
    return sorted(schema.tables.values(), key=lambda table: len(ancestors(schema, table.name)))


def _nested_name(table: Table, parent: str) -> str:
    """Return the name of a nested table under the parent ``parent``; a shortened name stays."""
    if table.parent is None or not table.name.startswith(table.parent):
        return table.name
    return parent + table.name.removeprefix(table.parent)


def _origin(imported: Named, stored: Mapping[str, Named], claims: Mapping[str, str]) -> Named | None:
    """Return the stored table or column of an imported one, None if it is new.

    A newly declared former name overrides its current name, so two tables can swap names.
    """
    names = (claims.get(imported.name, imported.name), imported.name, *origins(imported.properties))
    return next((stored[name] for name in names if name in stored), None)


def _newly_folded(imported: Table, stored: Table) -> frozenset[str]:
    """Return the variants that an edit folds: data may have added a variant again after an earlier fold."""
    earlier = folds_of(stored.columns.values())

    def is_new(variant: str, into: str) -> bool:
        column = stored.columns.get(into)
        return variant not in earlier or column is None or _type(column) != _type(imported.columns[into])

    return frozenset(variant for variant, into in folds_of(imported.columns.values()).items() if is_new(variant, into))


def _type(column: Column) -> tuple[Any, ...]:
    return tuple(column.properties.get(key) for key in TYPE_PROPERTIES)


def _without_propagation(normalizers: Properties) -> Properties:
    """Return the section without the keys that inference writes down in it (docs/dlt.md §5.5)."""
    section = dict(normalizers.get("json") or {})
    config = {key: value for key, value in (section.pop("config", None) or {}).items() if key != "propagation"}
    return {**normalizers, "json": {**section, "config": config} if config else section}
