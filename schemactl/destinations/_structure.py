"""Compare types of nested columns: the type that a table's column needs to hold a load's values."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from schemactl.normalization.package import LoadPackage
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.nested_types import (
    SPARK_TYPE,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    differences,
    keeps_structure,
    path_text,
    read_type,
)
from schemactl.schema.types import Schema, Table

_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_MOST_SHOWN: Final = 60
"""Characters of a type in a message."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Two types at the same place that cannot be combined.

    Attributes:
        field: its path: names joined by dots, ``[]`` after the names of lists and maps; empty for the column itself.
        stored_type: of the table.
        load_type: of the load.
    """

    field: str
    stored_type: NestedType
    load_type: NestedType

    def describe(self, column: str) -> str:
        """Return a clause that describes the clash."""
        full_path = column + (self.field if self.field.startswith("[") else f".{self.field}" if self.field else "")
        return f"`{full_path}` is {shown(self.stored_type)} there, and {shown(self.load_type)} in the schema"


def as_stored(schema: Schema) -> Schema:
    """Return a schema whose columns declare structure only if its normalizer keeps it; else loads write JSON texts.

    dlt's ``x-nested-type`` is ignored: it describes Arrow data that dlt loaded.
    """
    ignored = _ignored(schema)
    return replace(schema, tables={name: _as_texts(table, ignored) for name, table in schema.tables.items()})


def package_as_stored(package: LoadPackage) -> LoadPackage:
    """Return a load whose tables are as in ``as_stored``; the schema to remember stays."""
    ignored = _ignored(package.schema)
    tables = (replace(staged, table=_as_texts(staged.table, ignored)) for staged in package.tables)
    return replace(package, tables=tuple(tables))


def _ignored(schema: Schema) -> frozenset[str]:
    return frozenset((NESTED_TYPE,) if keeps_structure(schema.normalizers) else (NESTED_TYPE, SPARK_TYPE))


def _as_texts(table: Table, ignored: frozenset[str]) -> Table:
    if all(ignored.isdisjoint(column.properties) for column in table.columns.values()):
        return table
    columns = {
        name: replace(column, properties={key: value for key, value in column.properties.items() if key not in ignored})
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def grown(
    stored: NestedType, ours: NestedType, wider: Collection[tuple[str, str]] = (), path: str = ""
) -> NestedType | Clash:
    """Return the type that holds stored and new values: new fields at the end, existing ones unchanged.

    ``wider`` are pairs of leaves: a table may turn the first into the second. ``path`` is the type's, for a clash.
    """
    match stored, ours:
        case Struct(), Struct():
            return _grown_struct(stored, ours, wider, path)
        case ListOf(element), ListOf(our_element):
            inner = grown(element, our_element, wider, f"{path}[]")
            return inner if isinstance(inner, Clash) else ListOf(inner)
        case MapOf(value), MapOf(our_value):
            inner = grown(value, our_value, wider, f"{path}[]")
            return inner if isinstance(inner, Clash) else MapOf(inner)
        case Leaf("string"), Json():
            return stored
        case Leaf(name), Leaf(our_name) if (name, our_name) in wider:
            return ours
        case Leaf(name), Leaf(our_name) if ("decimal", "decimal") in wider and _has_more_digits(our_name, name):
            return ours
        case Leaf(name), Leaf(our_name) if _has_room(name, our_name):
            return stored
        case _:
            return stored if stored == ours else Clash(path, stored, ours)


def _grown_struct(stored: Struct, ours: Struct, wider: Collection[tuple[str, str]], path: str) -> Struct | Clash:
    fields = dict(stored.fields)
    spelt = {name.lower(): name for name in fields}
    for name, inner in ours.fields:
        stored_name = spelt.get(name.lower())
        field_path = f"{path}.{name}" if path else name
        if stored_name is not None and stored_name != name:
            return Clash(field_path, Leaf(f"called `{stored_name}`"), Leaf(f"called `{name}`"))
        grown_field = inner if stored_name is None else grown(fields[name], inner, wider, field_path)
        if isinstance(grown_field, Clash):
            return grown_field
        fields[name] = grown_field
    return Struct(tuple(fields.items()))


def gained(stored: NestedType, declared: NestedType, wider: Collection[tuple[str, str]] = ()) -> tuple[str, ...] | None:
    """Return the fields that loads add until a table's type is the schema's; None if loads cannot reach this type.

    The order of fields does not count: new fields come last. ``wider`` is as in ``grown``.

    >>> gained(read_type("struct<a:bigint>"), read_type("struct<b:array<date>,a:bigint>"))
    ('b',)
    """
    grown_type = grown(stored, declared, wider)
    if isinstance(grown_type, Clash) or any(differences(grown_type, declared)):
        return None
    return tuple(path_text(difference.path).removeprefix(".") for difference in differences(stored, grown_type))


def gained_by_ddl(stored: str, declared: str, wider: Collection[tuple[str, str]] = ()) -> tuple[str, ...] | None:
    """Do as ``gained`` for catalogs that write types as Spark's DDL."""
    try:
        # A load of bigints is refused by ints.
        return gained(read_type(stored, keeps_sizes=True), read_type(declared, keeps_sizes=True), wider)
    except ValueError:  # a type that no load writes
        return None


def _has_room(name: str, for_name: str) -> bool:
    """Return whether one decimal holds another."""
    size, needed_size = _DECIMAL.fullmatch(name), _DECIMAL.fullmatch(for_name)
    if size is None or needed_size is None:
        return False
    digits, places = int(size[1]), int(size[2])
    return places >= int(needed_size[2]) and digits - places >= int(needed_size[1]) - int(needed_size[2])


def _has_more_digits(name: str, old_name: str) -> bool:
    return name != old_name and _has_room(name, old_name) and name.partition(",")[2] == old_name.partition(",")[2]


def shown(of: NestedType) -> str:
    """Return a type for a message: only the kind of a struct, as its fields are many."""
    match of:
        case Struct():
            return "a struct"
        case ListOf():
            return "a list"
        case MapOf():
            return "a map"
        case Json():
            return "a JSON text"
        case Leaf(name):
            return name


def cut(written: str) -> str:
    """Return the text of a type, cut if it is too long for a message."""
    return written if len(written) <= _MOST_SHOWN else f"{written[: _MOST_SHOWN - 1]}…"
