"""Applies changes to a schema: ``apply(a, diff(a, b))`` is ``b``, the order of columns included.

The order of tables is not part of a schema (dlt sorts them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeVar, assert_never

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
from schemactl.schema.types import TOP_LEVEL, Column, Schema, Table

_Named = TypeVar("_Named")


@dataclass(slots=True)
class _Draft:
    """A table that changes."""

    properties: dict[str, Any]
    columns: dict[str, Column]


def apply(schema: Schema, changes: Iterable[Change]) -> Schema:
    """Return the schema with changes applied in order."""
    header, settings, normalizers = header_of(schema), dict(schema.settings), dict(schema.normalizers)
    tables = {name: _Draft(dict(table.properties), dict(table.columns)) for name, table in schema.tables.items()}
    for change, batch in _batches(changes):
        match change:
            case HeaderChanged():
                _state(header, change.name, change.after)
            case SettingChanged():
                _state(settings, change.name, change.after)
            case NormalizerChanged():
                _state(normalizers, change.name, change.after)
            case TableRenamed():
                tables = _renamed_tables(tables, batch)
            case TableRemoved():
                _known(tables, change.table.name, "table `{}`")
                del tables[change.table.name]
            case TableAdded():
                _refuse_taken(tables, change.table.name, "table `{}`")
                tables[change.table.name] = _Draft(dict(change.table.properties), dict(change.table.columns))
            case TablePropertyChanged():
                _state(_known(tables, change.table, "table `{}`").properties, change.name, change.after)
            case _:
                draft = _known(tables, change.table, "table `{}`")
                draft.columns = _with_change(draft.columns, change, batch)
    previous_hashes = tuple(header.pop("previous_hashes", ()))
    return Schema(
        **{name: value for name, value in header.items() if name in _HEADER_FIELDS},
        previous_hashes=previous_hashes,
        tables={name: Table(name, draft.columns, draft.properties) for name, draft in tables.items()},
        settings=settings,
        normalizers=normalizers,
        extensions={name: value for name, value in header.items() if name not in _HEADER_FIELDS},
    )


def header_of(schema: Schema) -> dict[str, Any]:
    """Return the top-level keys of the schema's file, without sections, as plain JSON data."""
    header = {
        "version": schema.version,
        "version_hash": schema.version_hash or ABSENT,
        "engine_version": schema.engine_version,
        "name": schema.name,
        "previous_hashes": list(schema.previous_hashes),
        "imported_version_hash": ABSENT if schema.imported_version_hash is None else schema.imported_version_hash,
        "description": ABSENT if schema.description is None else schema.description,
    }
    return {name: value for name, value in {**header, **schema.extensions}.items() if value is not ABSENT}


_HEADER_FIELDS: Final = TOP_LEVEL - {"tables", "settings", "normalizers"}


def _batches(changes: Iterable[Change]) -> Iterable[tuple[Change, list[Any]]]:
    """Yield the changes; renames of all tables, or of the columns of one, that follow each other come at once."""

    def renamed(change: Change) -> tuple[type, str] | None:
        match change:
            case TableRenamed():
                return TableRenamed, ""
            case ColumnRenamed():
                return ColumnRenamed, change.table
        return None

    for key, batch in groupby(changes, renamed):
        if key is None:
            yield from ((change, []) for change in batch)
        else:
            renames = list(batch)
            yield renames[0], renames


def _renamed_tables(tables: Mapping[str, _Draft], renames: Iterable[TableRenamed]) -> dict[str, _Draft]:
    names = _new_names(tables, renames, "table `{}`")
    for draft in tables.values():
        if draft.properties.get("parent") in names:
            draft.properties["parent"] = names[draft.properties["parent"]]
    return {names.get(name, name): draft for name, draft in tables.items()}


def _new_names(items: Mapping[str, Any], renames: Iterable[TableRenamed | ColumnRenamed], kind: str) -> dict[str, str]:
    """Return new names by old ones; the owner of a name that another takes must itself be renamed."""
    names: dict[str, str] = {}
    origins: dict[str, str] = {}
    for change in renames:
        origin = change.before
        # If two columns have had a name, it means the column that still needs a new name.
        if origin not in items or origin in names:
            origin = _known(origins, change.before, kind)
            del origins[change.before]
        _refuse_taken(origins, change.after, kind)
        names[origin], origins[change.after] = change.after, origin
    for new in origins:
        if new not in names:
            _refuse_taken(items, new, kind)
    return names


def _known(items: Mapping[str, _Named], name: str, kind: str) -> _Named:
    if name not in items:
        raise KeyError(f"there is no {kind.format(name)}")
    return items[name]


def _refuse_taken(items: Mapping[str, Any], name: str, kind: str) -> None:
    if name in items:
        raise KeyError(f"{kind.format(name)} already exists")


def _state(properties: dict[str, Any], name: str, value: Any) -> None:
    if value is ABSENT:
        properties.pop(name, None)
    else:
        properties[name] = value


def _with_change(
    columns: dict[str, Column], change: ColumnChange, renames: Iterable[ColumnRenamed]
) -> dict[str, Column]:
    """Apply a change to the columns of a table and return them; may change the given dict."""
    kind = f"column `{{}}` in the table `{change.table}`"
    match change:
        case ColumnRenamed():
            names = _new_names(columns, renames, kind)
            return {
                names.get(name, name): Column(names[name], column.properties) if name in names else column
                for name, column in columns.items()
            }
        case ColumnRemoved():
            _known(columns, change.column.name, kind)
            del columns[change.column.name]
        case ColumnAdded():
            _refuse_taken(columns, change.column.name, kind)
            columns[change.column.name] = change.column
        case ColumnsReordered():
            return {name: _known(columns, name, kind) for name in change.after} | columns
        case ColumnRetyped() | NullabilityChanged() | ColumnPropertyChanged():
            properties = dict(_known(columns, change.column, kind).properties)
            if isinstance(change, ColumnRetyped):
                for name in TYPE_PROPERTIES:
                    _state(properties, name, change.after.get(name, ABSENT))
            else:
                _state(properties, "nullable" if isinstance(change, NullabilityChanged) else change.name, change.after)
            columns[change.column] = Column(change.column, properties)
        case _:
            assert_never(change)
    return columns
