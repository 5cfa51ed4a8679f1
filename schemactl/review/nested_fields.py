"""Finds what changed inside columns that keep objects and lists: fields that are new, gone, or of another type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemactl.review.comparison import Comparison
from schemactl.review.places import place
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.nested_columns import SPARK_TYPE, keeps_structure
from schemactl.schema.nested_ddl import structure_in
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.structure import DATABASE_TYPE


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field inside a column, or what the column itself keeps.

    Attributes:
        change: of the column's type.
        path: names joined by dots, ``[]`` after those of lists and maps; empty for the column itself.
        before, after: its type; None where it is not there.
    """

    change: ColumnPropertyChanged
    path: str
    before: NestedType | None
    after: NestedType | None

    @property
    def where(self) -> str:
        """The field's full name in backquotes, from its table on."""
        return place(self.change.table, f"{self.change.column}{self.path}")

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match with a sentence."""
        return Match(
            sentence=sentence,
            table=self.change.table,
            column=self.change.column,
            keys=("tables", self.change.table, "columns", self.change.column, self.change.name),
            before=_plain(self.path, self.before),
            after=_plain(self.path, self.after),
            impact=impact,
        )


def field_changes(comparison: Comparison) -> Iterator[FieldChange]:
    """Yield what changed inside the columns that are nested before and after."""
    for change in comparison.of(ColumnPropertyChanged):
        yield from fields_of(comparison, change)


def fields_of(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[FieldChange, ...]:
    """Return what a changed property says of fields; nothing where it does not, or says only their order."""
    before, after = _structures(comparison, change)
    if before is None or after is None:
        return ()
    return tuple(FieldChange(change, *found) for found in _differences(before, after, ""))


def told_type(of: NestedType) -> str:
    """Return a type in a few letters: what is inside of one that is nested is left out."""
    match of:
        case Leaf(name):
            return name
        case Json():
            return "json text"
        case Struct():
            return "struct"
        case ListOf():
            return "array"
        case MapOf():
            return "map"


def _structures(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[NestedType | None, NestedType | None]:
    """Return what a column kept and keeps; None where it is not nested, or the property says nothing of it."""
    if not isinstance(change.before, str) or not isinstance(change.after, str):
        return None, None
    if change.name == DATABASE_TYPE:
        return comparison.structure_in(change.before), comparison.structure_in(change.after)
    sides = (comparison.base.schema, comparison.head.schema)
    # Other normalisers load JSON texts, whatever is stated.
    if change.name == SPARK_TYPE and all(keeps_structure(schema.normalizers) for schema in sides):
        return structure_in(change.before), structure_in(change.after)
    return None, None


def _differences(
    before: NestedType, after: NestedType, path: str
) -> Iterator[tuple[str, NestedType | None, NestedType | None]]:
    match before, after:
        case Struct(), Struct():
            old, new = dict(before.fields), dict(after.fields)
            for name in dict.fromkeys((*new, *old)):
                inner = f"{path}.{name}"
                if name in old and name in new:
                    yield from _differences(old[name], new[name], inner)
                else:
                    yield inner, old.get(name), new.get(name)
        case (ListOf(inner_before), ListOf(inner_after)) | (MapOf(inner_before), MapOf(inner_after)):
            yield from _differences(inner_before, inner_after, f"{path}[]")
        case _ if before != after:
            yield path, before, after


def _plain(path: str, of: NestedType | None) -> dict[str, str] | None:
    """Return a field as JSON data: fingerprints tell the fields of one column apart by it."""
    return None if of is None else {"field": path.removeprefix("."), "type": told_type(of)}
