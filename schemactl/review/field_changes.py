"""Compare the fields inside two versions of a column of objects or lists: their types, nulls, order and hints.

`x-spark-type` or dlt's `x-nested-type` defines a structure, in a catalog the database's type; `x-fields` has the other
properties of the fields. Programs that read the files see the structure, whether or not loads use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from schemactl.schema.arrow_hint import NESTED_TYPE, decode
from schemactl.schema.changes import ABSENT, TYPE_PROPERTIES, ColumnPropertyChanged
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.nested_types import (
    FIELDS,
    INSIDE,
    SPARK_TYPE,
    STRING,
    FieldPath,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    leaf_properties,
    path_text,
    read_type,
    write_type,
)
from schemactl.schema.renames import ID, RENAMED_FROM, column_renames
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties, Table
from schemactl.type_systems.arrow_types import from_arrow

STRUCTURE_HINTS: Final = (DATABASE_TYPE, SPARK_TYPE, NESTED_TYPE, FIELDS)
"""The properties of a column that define its fields."""

StructureReader: TypeAlias = Callable[[str], NestedType | None]
"""Reads a database's own type; None if it is not nested."""


class FieldEvent(Enum):
    """The kind of a field's change."""

    ADDED = auto()
    REMOVED = auto()
    RENAMED = auto()
    RETYPED = auto()
    REORDERED = auto()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field inside a column, or the column itself.

    Attributes:
        hint: the property of the column that defines the type.
        path, old_path: names and ``INSIDE``, in the head and in the base; empty for the column itself.
        before, after: its type; None if the field does not exist. Of REORDERED, the objects with the fields.
        before_properties, after_properties: as if the field were a column.
        is_stated: of RENAMED, whether the schema declares the rename; else it is a guess.
    """

    table: str
    column: str
    hint: str
    event: FieldEvent
    path: FieldPath
    old_path: FieldPath
    before: NestedType | None
    after: NestedType | None
    before_properties: Properties = field(default_factory=dict)
    after_properties: Properties = field(default_factory=dict)
    is_stated: bool = False

    @property
    def name(self) -> str:
        """The field's full name, from its column on."""
        return f"{self.column}{path_text(self.path)}"

    @property
    def old_name(self) -> str:
        """The full name that the field had."""
        return f"{self.column}{path_text(self.old_path)}"

    @property
    def full_types(self) -> tuple[FullType | None, FullType | None]:
        """The types of scalars with the sizes that hints set; None for nested and database types."""
        return _full_type(self.before, self.before_properties), _full_type(self.after, self.after_properties)


@dataclass(frozen=True, slots=True)
class FieldPropertyChanged(ColumnPropertyChanged):
    """A property of a field inside a column changed: ``nullable``, ``description``, an ``x-`` hint ...

    Attributes:
        path: of the field in the head schema.
        before_properties, after_properties: all properties of the field, as if it were a column.
    """

    path: FieldPath = ()
    before_properties: Properties = field(default_factory=dict)
    after_properties: Properties = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that lead from the column to the property."""
        steps = [step for step in self.path if step is not INSIDE]
        inner = (key for step in steps for key in ("fields", step))
        return FIELDS, *tuple(inner)[1:], self.name


def column_fields(
    table: str, before: Column, after: Column, structure_in: StructureReader, *, keeps_structure: bool
) -> tuple[FieldChange | FieldPropertyChanged, ...] | None:
    """Return the changes inside a column, in the order of its fields; None if a side has no type to compare.

    If loads write JSON texts (not ``keeps_structure``), a new ``x-spark-type`` changes nothing: None, too.
    """
    hint, old, new = _structures(before, after, structure_in)
    if old is None or new is None:
        return None
    if hint == SPARK_TYPE and isinstance(old, Json) and not isinstance(new, Json) and not keeps_structure:
        return None
    old_field, new_field = _Field(old, {}, before.properties.get(FIELDS)), _Field(new, {}, after.properties.get(FIELDS))
    return tuple(_Walk(table, after.name, hint).changes(old_field, new_field, (), ()))


@dataclass(frozen=True, slots=True)
class _Field:
    """A field with its properties, and the notes of ``x-fields`` about the fields inside of it."""

    type: NestedType
    properties: Properties
    notes: Any

    def fields(self) -> dict[str, _Field]:
        """Return the fields of an object by name; empty for other types."""
        notes = self.notes if isinstance(self.notes, Mapping) else {}
        fields = self.type.fields if isinstance(self.type, Struct) else ()
        return {name: _with_note(of, notes.get(name)) for name, of in fields}


def _with_note(of: NestedType, note: Any) -> _Field:
    """Return a field with the properties that ``x-fields`` sets; null removes a property."""
    hints = note if isinstance(note, Mapping) else {}
    of_type = (leaf_properties(of.name) or {}) if isinstance(of, Leaf) else {"data_type": str(DataType.JSON)}
    joined = {**of_type, **{key: value for key, value in hints.items() if key != "fields"}}
    return _Field(of, {key: value for key, value in joined.items() if value is not None}, hints.get("fields"))


def _full_type(of: NestedType | None, properties: Properties) -> FullType | None:
    return full_type(properties or leaf_properties(of.name) or {}) if isinstance(of, Leaf) else None


@dataclass(frozen=True, slots=True)
class _Walk:
    """Compares the fields of one column."""

    table: str
    column: str
    hint: str

    def changes(
        self, before: _Field, after: _Field, path: FieldPath, old_path: FieldPath
    ) -> Iterator[FieldChange | FieldPropertyChanged]:
        match before.type, after.type:
            case Struct(), Struct():
                yield from self._of_objects(before, after, path, old_path)
            case (ListOf(old), ListOf(new)) | (MapOf(old), MapOf(new)):
                # Hints of a list or a map are about the fields in its elements.
                inner = _Field(old, {}, before.notes), _Field(new, {}, after.notes)
                yield from self.changes(*inner, (*path, INSIDE), (*old_path, INSIDE))
            case old, new:
                types = _full_type(old, before.properties), _full_type(new, after.properties)
                if old != new or types[0] != types[1]:
                    yield self._change(FieldEvent.RETYPED, before, after, path, old_path)

    def _of_objects(
        self, before: _Field, after: _Field, path: FieldPath, old_path: FieldPath
    ) -> Iterator[FieldChange | FieldPropertyChanged]:
        old, new = before.fields(), after.fields()
        renames = _renames(old, new)
        old_names = {name: name for name in new if name in old}
        old_names |= {name: origin for name, (origin, _) in renames.items()}
        gone = {*old_names.values()}
        for name in dict.fromkeys((*new, *old)):
            field_path, origin = (*path, name), old_names.get(name) if name in new else None
            if origin is None:
                if name in new:
                    yield self._change(FieldEvent.ADDED, None, new[name], field_path, (*old_path, name))
                elif name not in gone:
                    yield self._change(FieldEvent.REMOVED, old[name], None, field_path, (*old_path, name))
                continue
            sides, old_field_path = (old[origin], new[name]), (*old_path, origin)
            if name in renames:
                yield self._change(FieldEvent.RENAMED, *sides, field_path, old_field_path, is_stated=renames[name][1])
            yield from self._properties(*sides, field_path)
            yield from self.changes(*sides, field_path, old_field_path)
        # Only fields of both sides count: new and removed fields do not change the order.
        in_order = [name for name in old if name in gone]
        if in_order != [old_names[name] for name in new if name in old_names]:
            yield self._change(FieldEvent.REORDERED, before, after, path, old_path)

    def _change(
        self,
        event: FieldEvent,
        before: _Field | None,
        after: _Field | None,
        path: FieldPath,
        old_path: FieldPath,
        *,
        is_stated: bool = False,
    ) -> FieldChange:
        return FieldChange(
            self.table,
            self.column,
            self.hint,
            event,
            path,
            old_path,
            before.type if before else None,
            after.type if after else None,
            before.properties if before else {},
            after.properties if after else {},
            is_stated,
        )

    def _properties(self, before: _Field, after: _Field, path: FieldPath) -> Iterator[FieldPropertyChanged]:
        old, new = before.properties, after.properties
        for name in sorted({*old, *new} - {*TYPE_PROPERTIES, RENAMED_FROM}):
            sides = old.get(name, ABSENT), new.get(name, ABSENT)
            if sides[0] != sides[1]:
                yield FieldPropertyChanged(self.table, self.column, name, *sides, path, old, new)


def _renames(old: Mapping[str, _Field], new: Mapping[str, _Field]) -> dict[str, tuple[str, bool]]:
    """Return the former names of fields by new name, and whether the schema declares them; found as for columns."""
    if old.keys() == new.keys():
        return {}
    changes = column_renames(_as_table(old.items()), _as_table(new.items()), is_guessing=True)
    return {change.after: (change.before, change.is_stated) for change in changes}


def _as_table(fields: Iterable[tuple[str, _Field]]) -> Table:
    """Return fields as columns of a table; types are texts there, as only a field of the same type has another name."""
    columns = {}
    for name, inner in fields:
        of = "json text" if isinstance(inner.type, Json) else write_type(inner.type)
        sizes = _full_type(inner.type, inner.properties)
        identity = {key: inner.properties[key] for key in (ID, RENAMED_FROM) if key in inner.properties}
        columns[name] = Column(name, {"data_type": f"{of} {sizes or ''}", **identity})
    return Table("", columns)


# --- the types ---


def has_structure(column: Column) -> bool:
    """Return whether a JSON column declares a structure of objects or lists."""
    _, of = _stated_structure(column)
    return column.data_type is DataType.JSON and isinstance(of, Struct | ListOf | MapOf)


def _structures(
    before: Column, after: Column, structure_in: StructureReader
) -> tuple[str, NestedType | None, NestedType | None]:
    """Return the hint that declares the structure, and the structure before and after; None if it cannot be read.

    In schema files only JSON columns are nested; catalogs have nested columns of other types.
    """
    sides = before.properties.get(DATABASE_TYPE), after.properties.get(DATABASE_TYPE)
    if isinstance(sides[0], str) and isinstance(sides[1], str):
        return DATABASE_TYPE, structure_in(sides[0]), structure_in(sides[1])
    if any(column.data_type is not DataType.JSON for column in (before, after)):
        return SPARK_TYPE, None, None
    (old_hint, old), (new_hint, new) = _stated_structure(before), _stated_structure(after)
    return old_hint if isinstance(new, Json) else new_hint, old, new


def _stated_structure(column: Column) -> tuple[str, NestedType | None]:
    """Return the hint and its type, with sizes: JSON texts if a column has no such hint, None if it is no type."""
    spark_type, nested_type = (column.properties.get(hint) for hint in (SPARK_TYPE, NESTED_TYPE))
    try:
        if spark_type is not None:
            structure = read_type(str(spark_type), keeps_sizes=True)
            return SPARK_TYPE, Json() if structure == Leaf(STRING) else structure
        if nested_type:
            return NESTED_TYPE, from_arrow(decode(str(nested_type)))
    except ValueError:
        return (SPARK_TYPE if spark_type is not None else NESTED_TYPE), None
    return SPARK_TYPE, Json()
