"""Find the changed fields inside columns of objects and lists, and phrase them for rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, assert_never

from schemactl.review.comparison import Comparison
from schemactl.review.field_changes import FieldChange, FieldEvent, FieldPropertyChanged, has_structure
from schemactl.review.hints import column_hints, is_restated
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.contract import Mode, contract_for
from schemactl.schema.nested_types import FieldPath, Json, Leaf, ListOf, MapOf, NestedType, Struct, path_text
from schemactl.schema.types import Properties, Schema


def field_changes(comparison: Comparison, event: FieldEvent) -> Iterator[FieldChange]:
    """Yield the changes of one kind inside columns that are nested before and after; not the fields of new columns."""
    for changes in comparison.fields.values():
        for change in changes or ():
            if isinstance(change, FieldChange) and change.event is event:
                yield change


def field_hints(comparison: Comparison, *names: str) -> Iterator[FieldPropertyChanged]:
    """Yield the changed properties of fields inside columns, by names or all, if the meaning changed."""
    for changes in comparison.fields.values():
        for change in changes or ():
            if isinstance(change, FieldPropertyChanged) and (not names or change.name in names):
                is_same_nullability = (change.before is False) is (change.after is False)  # false is not unset
                if not (is_same_nullability if change.name == "nullable" else is_restated(change)):
                    yield change


def value_hints(comparison: Comparison, *names: str) -> Iterator[ColumnPropertyChanged]:
    """Yield the changed hints of columns, then of fields inside columns, of these names, or all."""
    yield from column_hints(comparison, *names)
    yield from field_hints(comparison, *names)


def properties_of(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[Properties, Properties]:
    """Return all properties of the column or field whose hint changed, before and after."""
    if isinstance(change, FieldPropertyChanged):
        return change.before_properties, change.after_properties
    columns = (find(change.table, change.column) for find in (comparison.base_column, comparison.head_column))
    before, after = (column.properties if column else {} for column in columns)
    return before, after


def had_fields(comparison: Comparison, table: str, column: str) -> bool:
    """Return whether a column of the head schema held objects or lists in the base schema, which queries may access."""
    before = comparison.base_column(table, column)
    return before is not None and has_structure(before)


def type_label(of: NestedType) -> str:
    """Return a short name of a type, without nested fields."""
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
        case _:
            assert_never(of)


def freezes_fields(schema: Schema, table: str) -> bool:
    """Return whether a load fails whose data has new fields, or fields of another type, in columns of the table."""
    return contract_for(schema, table).data_type is Mode.FREEZE


def field_match(
    change: FieldChange, sentence: str, impact: Impact | None = None, question: Literal["field"] | None = None
) -> Match:
    """Return the match of a changed field with a sentence."""
    return Match(
        sentence=sentence,
        table=change.table,
        column=change.column,
        keys=("tables", change.table, "columns", change.column, change.hint),
        before=_plain(change, change.old_path, change.before),
        after=_plain(change, change.path, change.after),
        impact=impact,
        question=question,
        field=change.path if question else (),
    )


def _plain(change: FieldChange, path: FieldPath, of: NestedType | None) -> dict[str, Any] | None:
    """Return a field as JSON data: it distinguishes the fields of one column in fingerprints."""
    if of is None:
        return None
    field = path_text(path).removeprefix(".")
    if change.event is FieldEvent.REORDERED and isinstance(of, Struct):
        return {"field": field, "fields": [name for name, _ in of.fields]}
    return {"field": field, "type": type_label(of)}
