"""Columns as trees of fields: what stands between a schema and the formats that describe nested records.

A format writes the native form of a field and reads it back (``Codec``). What the native form does not say is computed
here, so every format agrees on it: one with a place for foreign keys carries it as ``x-dlt``, another one loses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from schemactl.errors import InputError, Location, Problem
from schemactl.formats._losses import PROCESSING, Loss
from schemactl.schema import nested_types
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.full_types import MAX_DIGITS, check_scale
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE, Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.types import Column, DataType, Properties, Table
from schemactl.schema.validation import check_column
from schemactl.type_systems.arrow_types import arrow_type_of, is_list, restate, scalar_properties

if TYPE_CHECKING:
    import pyarrow

COMMENT: Final = "comment"
"""The key in the metadata of a field of Arrow or Spark with its description."""

HINTS: Final = "x-dlt"
"""The key under which a format carries what its own words do not say: properties as dlt names them, null for none."""

_TYPE: Final = frozenset(("data_type", "precision", "scale", "timezone", SPARK_TYPE, FIELDS, NESTED_TYPE))

FIELD_ID: Final = "PARQUET:field_id"
_ARROWS_OWN: Final = frozenset(
    (HINTS, COMMENT, FIELD_ID, "ARROW:schema", "ARROW:extension:name", "ARROW:extension:metadata")
)

_UTC: Final = ("UTC", "Etc/UTC", "Z", "+00:00")

Native = TypeVar("Native")


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or what is nested in one.

    Attributes:
        fields: of an object; empty for others.
        element: of a list.
        values: of an object whose keys are data.
        unread: what a file says here and no property does: its word, the value, and what comes of it.
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


@dataclass(frozen=True, slots=True)
class Codec(Generic[Native]):
    """Writes one field in a format's own words, and reads it back."""

    write: Callable[[Field], Native]
    read: Callable[[str, Native], Field]

    def hints(self, field: Field) -> dict[str, Any]:
        """Return what the native form of a column does not say of it."""
        return beside(field.properties, properties_of(self.read(field.name, self.write(field))))

    def restored(self, name: str, native: Native, hints: Any, path: str) -> dict[str, Any]:
        """Return the properties of a column of its native form and the hints beside it.

        Where the type in the native form was edited since, the hints on the type are old, and do not count.

        Raises:
            InputError: the hints are none that a column can have.
        """
        own = properties_of(self.read(name, native))
        if hints is None:
            return own
        if not isinstance(hints, Mapping):
            raise InputError(f"`{HINTS}` of `{name}` is not a mapping", at=Location(path))
        full = joined(own, hints)
        if problems := tuple(Problem(each.message, hint=each.hint) for each in check_column(full)):
            message = f"`{HINTS}` of `{name}` states what no column can have"
            raise InputError(message, at=Location(path), problems=problems)
        if self.write(field_of(Column(name, full))) == native:
            return full
        found = joined(own, {key: value for key, value in hints.items() if key not in _TYPE})
        # A column whose type dlt states keeps doing so.
        return dict(restate(found, hints[NESTED_TYPE])) if hints.get(NESTED_TYPE) else found


def fields_of(table: Table) -> list[Field]:
    """Return the columns of a table as ``field_of`` does."""
    return [field_of(column) for column in table.columns.values()]


def note(text: Any, key: str = "description") -> dict[str, str]:
    """Return a description under the key that a format has for it; nothing where there is none."""
    return {key: text} if isinstance(text, str) and text else {}


def named(stated: Any) -> list[dict[str, Any]]:
    """Return the objects of a list that have a name."""
    found = stated if isinstance(stated, list) else ()
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("name"), str)]


def mapping(stated: Any) -> dict[str, Any]:
    """Return what is stated where it is an object; else an empty one."""
    return stated if isinstance(stated, dict) else {}


def hinted(hints: Any, within: str | None = None) -> dict[str, Any]:
    """Return hints under their key, ``within`` an object of that key, if it is given; nothing where there are none."""
    found = {HINTS: hints} if hints else {}
    return {within: found} if found and within else found


def stated(properties: Properties) -> dict[str, Any]:
    """Return properties without nulls and without the marks that loads leave."""
    return {key: value for key, value in properties.items() if value is not None and key not in PROCESSING}


def field_of(column: Column) -> Field:
    """Return a column with what it states of the data in it: ``x-spark-type`` and ``x-fields``, else ``x-nested-type``.

    Raises:
        InputError: what it states is no type of nested data.
    """
    properties = stated(column.properties)
    of = nested_types.stated_type(column, keeps_sizes=True)
    if of is None:
        known = arrow_type_of(column)
        return Field(column.name, properties) if known is None else _of_arrow(column.name, known, properties)
    return replace(_nested(column.name, of, properties.get(FIELDS)), properties=properties)


def field_of_arrow(name: str, field: pyarrow.Field) -> Field:
    """Return a field of Arrow; what dlt has no type for is text."""
    known = metadata_of(field)
    # Iceberg writes the numbers by which it finds fields.
    number = known.get(FIELD_ID, "")
    identity = {"x-id": int(number)} if number.isdecimal() else {}
    read = _of_arrow(name, field.type, {"nullable": field.nullable, **note(known.get(COMMENT)), **identity})
    unread = tuple((key, value, None) for key, value in known.items() if key not in _ARROWS_OWN)
    return replace(read, unread=(*unread, *read.unread))


def metadata_of(of: pyarrow.Schema | pyarrow.Field) -> dict[str, str]:
    """Return the metadata of Arrow's schema or field as texts."""
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in (of.metadata or {}).items()}


def _of_arrow(name: str, of: pyarrow.DataType, properties: Properties) -> Field:
    from pyarrow import types as is_a

    if is_a.is_dictionary(of) or is_a.is_run_end_encoded(of):
        return _of_arrow(name, of.value_type, properties)
    nested = {"data_type": "json", **properties}
    if is_a.is_struct(of) and of.num_fields:
        return Field(name, nested, fields=tuple(field_of_arrow(each.name, each) for each in of))
    if is_list(of):
        return Field(name, nested, element=_of_arrow("element", of.value_type, {}))
    if is_a.is_map(of) and (is_a.is_string(of.key_type) or is_a.is_large_string(of.key_type)):
        return Field(name, nested, values=_of_arrow("value", of.item_type, {}))
    if is_a.is_null(of):
        return Field(name, properties)
    if (scalar := scalar_properties(of)) is None:
        lost = ("type", {"type": str(of)}, {"data_type": "text"})
        return Field(name, {"data_type": "text", **properties}, unread=(lost,))
    # A point in time is one in UTC here; another zone says how people read it.
    zone = of.tz if is_a.is_timestamp(of) else None
    lost_zone = (("timezone", zone, None),) if zone not in (None, *_UTC) else ()
    return Field(name, {**scalar, **properties}, unread=lost_zone)


def is_wide_decimal(field: Field, holder: str) -> bool:
    """Return whether a decimal has more digits than Spark and tables of files have: those keep it as text.

    Raises:
        InputError: it has more digits after the point than digits; ``holder`` is what has no such type.
    """
    if field.data_type is not DataType.DECIMAL:
        return False
    digits = field.precision or MAX_DIGITS
    check_scale(field.name, digits, field.scale or 0, holder)
    return digits > MAX_DIGITS


def losses_of(fields: Iterable[Field], place: str) -> Iterator[Loss]:
    """Yield what the form of columns in a file says of them and their properties do not; ``place`` holds them."""
    for field in fields:
        here = f"{place}.{field.name}"
        below: Field | None = field
        while below is not None:
            yield from (Loss(here, *each) for each in below.unread)
            yield from losses_of(below.fields, here)
            below = below.element or below.values


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


def _nested(name: str, of: NestedType, notes: Any) -> Field:
    known = notes if isinstance(notes, Mapping) else {}
    match of:
        case Struct(fields):
            inner = []
            for each, type_ in fields:
                stated_note = known[each] if isinstance(known.get(each), Mapping) else {}
                more = {key: value for key, value in stated_note.items() if key != "fields"}
                field = _nested(each, type_, stated_note.get("fields"))
                inner.append(replace(field, properties=joined(field.properties, more)))
            return Field(name, {"data_type": "json"}, fields=tuple(inner))
        case ListOf(element):
            return Field(name, {"data_type": "json"}, element=_nested("element", element, known))
        case MapOf(value):
            return Field(name, {"data_type": "json"}, values=_nested("value", value, known))
        case Leaf(type_):
            return Field(name, nested_types.leaf_properties(type_) or {})
        case Json():
            return Field(name, {"data_type": "json"})


def _notes(field: Field) -> dict[str, Any]:
    below = field.element or field.values
    if below is not None:
        return _notes(below)
    found = {}
    for each in field.fields:
        known = {key: value for key, value in stated(each.properties).items() if (key, value) != ("nullable", True)}
        own = beside(known, _nested(each.name, _type_of(each), None).properties)
        inner = _notes(each)
        if own or inner:
            found[each.name] = {**own, **({"fields": inner} if inner else {})}
    return found


def _type_of(field: Field) -> NestedType:
    if field.fields:
        return Struct(tuple((each.name, _type_of(each)) for each in field.fields))
    below = field.element or field.values
    if below is not None:
        inner = _type_of(below)
        return Json() if isinstance(inner, Json) else ListOf(inner) if field.element else MapOf(inner)
    return nested_types.leaf_of(field.properties, keeps_sizes=True)


def beside(properties: Properties, native: Properties) -> dict[str, Any]:
    """Return what has to be added to native properties to get the given ones; null takes one away."""
    more = {key: value for key, value in properties.items() if key not in native or native[key] != value}
    return {**more, **{key: None for key in native if key not in properties}}


def joined(native: Properties, more: Properties) -> dict[str, Any]:
    """Return native properties with what ``beside`` found."""
    return {key: value for key, value in {**native, **more}.items() if value is not None}
