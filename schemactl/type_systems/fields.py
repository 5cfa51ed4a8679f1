"""Columns as trees of nested fields, in the words of a schema, of Arrow and of SQL.

A field can be read from a column, from an Arrow type and (``sql_fields``) from an SQL type, and has the properties of
the column that holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from schemactl.schema import nested_types
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE, Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.types import Column, DataType, Properties, Table
from schemactl.type_systems.arrow_types import arrow_type_of, is_list, scalar_properties

if TYPE_CHECKING:
    import pyarrow

PROCESSING: Final = frozenset(("x-normalizer", "x-loader", "x-extractor"))
"""Marks of loads, which mean nothing elsewhere."""

COMMENT: Final = "comment"
"""The key in the metadata of a field of Arrow or Spark with its description."""

HINTS: Final = "x-dlt"
"""The key under which a format carries properties that its own words cannot express, with dlt's names."""

FIELD_ID: Final = "PARQUET:field_id"

_ARROWS_OWN: Final = frozenset(
    (HINTS, COMMENT, FIELD_ID, "ARROW:schema", "ARROW:extension:name", "ARROW:extension:metadata")
)

_UTC: Final = ("UTC", "Etc/UTC", "Z", "+00:00")


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field nested in one.

    Attributes:
        fields: of an object; empty for other types.
        element: of a list.
        values: of an object whose keys are data.
        unread: parts of a file that no property represents: the file's word, the value, and the value used instead.
    """

    name: str
    properties: Properties
    fields: tuple[Field, ...] = ()
    element: Field | None = None
    values: Field | None = None
    unread: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def data_type(self) -> DataType:
        """The type; text for a column that waits for data."""
        return DataType(self.properties.get("data_type") or "text")

    @property
    def nullable(self) -> bool:
        return self.properties.get("nullable") is not False

    @property
    def description(self) -> str | None:
        return self.properties.get("description")

    @property
    def precision(self) -> int | None:
        return self.properties.get("precision")

    @property
    def scale(self) -> int | None:
        return self.properties.get("scale")


def fields_of(table: Table) -> list[Field]:
    """Return the columns of a table as ``field_of`` does."""
    return [field_of(column) for column in table.columns.values()]


def note(text: Any, key: str = "description") -> dict[str, str]:
    """Return a description under the format's key for it; empty without a description."""
    return {key: text} if isinstance(text, str) and text else {}


def plain_properties(properties: Properties) -> dict[str, Any]:
    """Return properties without nulls and without the marks that loads leave."""
    return {key: value for key, value in properties.items() if value is not None and key not in PROCESSING}


def field_of(column: Column) -> Field:
    """Return a column as a field: nested by ``x-spark-type`` and ``x-fields``, else by ``x-nested-type``."""
    properties = plain_properties(column.properties)
    nested_type = nested_types.stated_type(column, keeps_sizes=True)
    if nested_type is None:
        arrow_type = arrow_type_of(column)
        return Field(column.name, properties) if arrow_type is None else _of_arrow(column.name, arrow_type, properties)
    return replace(_nested(column.name, nested_type, properties.get(FIELDS)), properties=properties)


def field_of_arrow(name: str, field: pyarrow.Field) -> Field:
    """Return a field of Arrow; types that dlt lacks become text."""
    metadata = metadata_of(field)
    # Iceberg writes the numbers by which it finds fields.
    number = metadata.get(FIELD_ID, "")
    identity = {"x-id": int(number)} if number.isdecimal() else {}
    arrow_field = _of_arrow(name, field.type, {"nullable": field.nullable, **note(metadata.get(COMMENT)), **identity})
    unread = tuple((key, value, None) for key, value in metadata.items() if key not in _ARROWS_OWN)
    return replace(arrow_field, unread=(*unread, *arrow_field.unread))


def metadata_of(of: pyarrow.Schema | pyarrow.Field) -> dict[str, str]:
    """Return the metadata of Arrow's schema or field as texts."""
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in (of.metadata or {}).items()}


def _of_arrow(name: str, arrow_type: pyarrow.DataType, properties: Properties) -> Field:
    from pyarrow import types as is_a

    if is_a.is_dictionary(arrow_type) or is_a.is_run_end_encoded(arrow_type):
        return _of_arrow(name, arrow_type.value_type, properties)
    nested = {"data_type": "json", **properties}
    if is_a.is_struct(arrow_type) and arrow_type.num_fields:
        return Field(name, nested, fields=tuple(field_of_arrow(child.name, child) for child in arrow_type))
    if is_list(arrow_type):
        return Field(name, nested, element=_of_arrow("element", arrow_type.value_type, {}))
    if is_a.is_map(arrow_type) and (is_a.is_string(arrow_type.key_type) or is_a.is_large_string(arrow_type.key_type)):
        return Field(name, nested, values=_of_arrow("value", arrow_type.item_type, {}))
    if is_a.is_null(arrow_type):
        return Field(name, properties)
    if (scalar := scalar_properties(arrow_type)) is None:
        lost_fact = ("type", {"type": str(arrow_type)}, {"data_type": "text"})
        return Field(name, {"data_type": "text", **properties}, unread=(lost_fact,))
    # Timestamps are in UTC here; another zone only affects how people read them.
    zone = arrow_type.tz if is_a.is_timestamp(arrow_type) else None
    lost_zone = (("timezone", zone, None),) if zone not in (None, *_UTC) else ()
    return Field(name, {**scalar, **properties}, unread=lost_zone)


@dataclass(frozen=True, slots=True)
class UnreadFact:
    """A fact about a column in a file that no property has.

    Attributes:
        path: the column, and the fields that lead to the fact.
        word: the file's own word for it.
        value: the value in the file.
        after: the value used instead, if any.
    """

    path: str
    word: str
    value: Any
    after: Any = None


def unread_facts(fields: Iterable[Field], holder: str) -> Iterator[UnreadFact]:
    """Yield the facts about columns in a file that no property has; ``holder`` is their table."""
    for field in fields:
        path = f"{holder}.{field.name}"
        child: Field | None = field
        while child is not None:
            yield from (UnreadFact(path, *fact) for fact in child.unread)
            yield from unread_facts(child.fields, path)
            inner = child.element or child.values
            yield from () if inner is None else _item_facts(path, inner, field)
            child = inner


def _item_facts(path: str, item: Field, field: Field) -> Iterator[UnreadFact]:
    """Yield the properties of the items of a list, or the values of a map, that no hint of the field has."""
    of_type = _nested(item.name, _type_of(item), None).properties
    reported = {word for word, *_ in (*item.unread, *field.unread)}
    reported |= {"precision", "scale"} if "type" in reported else set()
    for key, value in properties_to_add(plain_properties(item.properties), of_type).items():
        # Whether items are null is nothing of the type. Protocol Buffers have hints of the field for enums in it.
        is_kept = key in field.properties or (key == "x-enum" and "x-proto-enum" in field.properties)
        if value is not None and key != "nullable" and key not in reported and not is_kept:
            yield UnreadFact(path, key, value)


def properties_of(field: Field) -> dict[str, Any]:
    """Return the properties of the column that holds a field."""
    of = _type_of(field)
    if isinstance(of, Leaf):
        return dict(field.properties)
    properties = {**field.properties, "data_type": "json"}
    if isinstance(of, Json):
        return properties
    notes = _notes(field)
    return {**properties, SPARK_TYPE: nested_types.write_type(of), **({FIELDS: notes} if notes else {})}


def _nested(name: str, nested_type: NestedType, notes: Any) -> Field:
    field_notes = notes if isinstance(notes, Mapping) else {}
    match nested_type:
        case Struct(fields):
            inner_fields = []
            for field_name, type_ in fields:
                field_note = field_notes[field_name] if isinstance(field_notes.get(field_name), Mapping) else {}
                hints = {key: value for key, value in field_note.items() if key != "fields"}
                field = _nested(field_name, type_, field_note.get("fields"))
                inner_fields.append(replace(field, properties=joined(field.properties, hints)))
            return Field(name, {"data_type": "json"}, fields=tuple(inner_fields))
        case ListOf(element):
            return Field(name, {"data_type": "json"}, element=_nested("element", element, field_notes))
        case MapOf(value):
            return Field(name, {"data_type": "json"}, values=_nested("value", value, field_notes))
        case Leaf(type_):
            return Field(name, nested_types.leaf_properties(type_) or {})
        case Json():
            return Field(name, {"data_type": "json"})


def _notes(field: Field) -> dict[str, Any]:
    inner = field.element or field.values
    if inner is not None:
        return _notes(inner)
    notes_by_field = {}
    for child in field.fields:
        declared = plain_properties(child.properties)
        if declared.get("nullable") is True:
            del declared["nullable"]
        own_notes = properties_to_add(declared, _nested(child.name, _type_of(child), None).properties)
        nested_notes = _notes(child)
        if own_notes or nested_notes:
            notes_by_field[child.name] = {**own_notes, **({"fields": nested_notes} if nested_notes else {})}
    return notes_by_field


def _type_of(field: Field) -> NestedType:
    if field.fields:
        return Struct(tuple((child.name, _type_of(child)) for child in field.fields))
    child = field.element or field.values
    if child is not None:
        inner_type = _type_of(child)
        return Json() if isinstance(inner_type, Json) else ListOf(inner_type) if field.element else MapOf(inner_type)
    return nested_types.leaf_of(field.properties, keeps_sizes=True)


def properties_to_add(properties: Properties, native: Properties) -> dict[str, Any]:
    """Return the properties to add to native ones to get ``properties``; null removes a property."""
    more = {key: value for key, value in properties.items() if key not in native or native[key] != value}
    return {**more, **{key: None for key in native if key not in properties}}


def joined(native: Properties, more: Properties) -> dict[str, Any]:
    """Return native properties with the result of ``properties_to_add``."""
    return {key: value for key, value in {**native, **more}.items() if value is not None}
