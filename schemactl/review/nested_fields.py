"""Find the fields that were added, removed, renamed or retyped inside columns of objects and lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Literal

from schemactl.review.comparison import Comparison
from schemactl.review.hints import is_unset
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.review.wording import place
from schemactl.schema.arrow_types import NESTED_TYPE, decode, from_arrow
from schemactl.schema.changes import ABSENT, ColumnPropertyChanged
from schemactl.schema.contract import Mode, contract_for
from schemactl.schema.nested_types import (
    SPARK_TYPE,
    STRING,
    FieldPath,
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
    write_type,
)
from schemactl.schema.renames import column_renames
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Schema, Table


class FieldEvent(Enum):
    """The kind of a field's change."""

    ADDED = auto()
    REMOVED = auto()
    RENAMED = auto()
    RETYPED = auto()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field inside a column, or what the column itself keeps.

    Attributes:
        change: of the column's type.
        path: names and ``INSIDE``; empty for the column itself. Of a field that has another name, the new one.
        before, after: its type; None where it is not there.
        origin: the name that the field had, None where it has it still.
    """

    change: ColumnPropertyChanged
    path: FieldPath
    before: NestedType | None
    after: NestedType | None
    origin: str | None = None

    @property
    def event(self) -> FieldEvent:
        """Return the kind of the change."""
        if self.origin is not None:
            return FieldEvent.RENAMED
        if self.before is None:
            return FieldEvent.ADDED
        return FieldEvent.REMOVED if self.after is None else FieldEvent.RETYPED

    @property
    def where(self) -> str:
        """The field's full name in backquotes, from its table on."""
        return place(self.change.table, self.name)

    @property
    def old_where(self) -> str:
        """The same with the name that the field had."""
        return place(self.change.table, f"{self.change.column}{path_text(self._old_path)}")

    @property
    def name(self) -> str:
        """The field's full name, from its column on."""
        return f"{self.change.column}{path_text(self.path)}"

    @property
    def _old_path(self) -> FieldPath:
        return self.path if self.origin is None else (*self.path[:-1], self.origin)

    def match(self, sentence: str, impact: Impact | None = None, question: Literal["field"] | None = None) -> Match:
        """Return the match with a sentence."""
        return Match(
            sentence=sentence,
            table=self.change.table,
            column=self.change.column,
            keys=("tables", self.change.table, "columns", self.change.column, self.change.name),
            before=_plain(self._old_path, self.before),
            after=_plain(self.path, self.after),
            impact=impact,
            question=question,
            field=self.path if question else (),
        )


def field_changes(comparison: Comparison, event: FieldEvent) -> Iterator[FieldChange]:
    """Yield the changes of one kind inside columns that are nested before and after; not the fields of new columns."""
    for change in comparison.of(ColumnPropertyChanged):
        yield from (found for found in fields_of(comparison, change) or () if found.event is event)


def fields_of(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[FieldChange, ...] | None:
    """Return the field changes behind a changed property; none where only the order of fields changed.

    None where the property states no structure, where its type cannot be read, and where the normalizer keeps none.
    """
    before, after = _structures(comparison, change)
    if before is None or after is None:
        return None
    return tuple(
        FieldChange(change, found.path, found.before, found.after, found.origin)
        for found in differences(before, after, _renames)
    )


def had_fields(comparison: Comparison, table: str, column: str) -> bool:
    """Return whether a column of the head schema held objects or lists in the base schema, which queries may access."""
    before = comparison.base_column(table, column)
    if before is None or before.data_type is not DataType.JSON:
        return False
    if before.properties.get(NESTED_TYPE):
        return True
    is_kept = keeps_structure(comparison.base.schema.normalizers)
    return is_kept and isinstance(_stated(before.properties.get(SPARK_TYPE)), Struct | ListOf | MapOf)


def type_label(of: NestedType) -> str:
    """Return a short name of a type, without what is nested in it."""
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


def freezes_fields(schema: Schema, table: str) -> bool:
    """Return whether a load fails whose data has new fields, or fields of another type, in columns of the table."""
    return contract_for(schema, table).data_type is Mode.FREEZE


# --- the types ---


def _structures(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[NestedType | None, NestedType | None]:
    """Return the structure of a column before and after; None where the property states none.

    Columns of other data types than JSON are not nested. Normalizers that keep no structure load JSON texts, whatever
    ``x-spark-type`` states.
    """
    if change.name not in (DATABASE_TYPE, SPARK_TYPE, NESTED_TYPE):
        return None, None
    columns = (find(change.table, change.column) for find in (comparison.base_column, comparison.head_column))
    are_json = all(column is not None and column.data_type is DataType.JSON for column in columns)
    are_kept = all(keeps_structure(side.schema.normalizers) for side in (comparison.base, comparison.head))
    if change.name == DATABASE_TYPE and isinstance(change.before, str) and isinstance(change.after, str):
        return comparison.structure_in(change.before), comparison.structure_in(change.after)
    if change.name == SPARK_TYPE and are_json and are_kept:
        return _stated(change.before), _stated(change.after)
    if change.name == NESTED_TYPE and are_json:
        return _decoded(change.before), _decoded(change.after)
    return None, None


def _decoded(value: Any) -> NestedType | None:
    """Return the type that ``x-nested-type`` states, whichever the normalizer; JSON texts where it states none.

    None where it is no type.
    """
    try:
        return Json() if is_unset(value) else from_arrow(decode(str(value)))
    except ValueError:
        return None


def _stated(value: Any) -> NestedType | None:
    """Return the type that ``x-spark-type`` states, with its sizes; JSON texts where it states none.

    None where it is no type.
    """
    if value is ABSENT or value is None:
        return Json()
    try:
        found = read_type(str(value), keeps_sizes=True)
    except ValueError:
        return None
    return Json() if found == Leaf(STRING) else found


def _renames(before: Struct, after: Struct) -> dict[str, str]:
    changes = column_renames(_as_table(dict(before.fields)), _as_table(dict(after.fields)), is_guessing=True)
    return {change.after: change.before for change in changes}


def _as_table(fields: dict[str, NestedType]) -> Table:
    """Return fields as columns of a table, so that renames are guessed as those of columns.

    Types are texts there: like columns, fields are only renamed where they keep their type.
    """
    typed = {name: "json text" if isinstance(of, Json) else write_type(of) for name, of in fields.items()}
    return Table("", {name: Column(name, {"data_type": text}) for name, text in typed.items()})


def _plain(path: FieldPath, of: NestedType | None) -> dict[str, str] | None:
    """Return a field as JSON data: it distinguishes the fields of one column in fingerprints."""
    return None if of is None else {"field": path_text(path).removeprefix("."), "type": type_label(of)}
