"""Widen the types of structs, lists and maps: new fields, and wider types of fields, elements and values.

Scalars inside become wider by the rules of ``widening``. A type with less fields, or with a struct instead of a scalar,
is another type, and no widening leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import Fit, fit_types
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.nested_types import (
    INSIDE,
    STRING,
    FieldPath,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    differences,
    leaf_of,
    leaf_properties,
)
from schemactl.schema.widening import is_wider, type_properties


def leaf_full_type(of: NestedType) -> FullType | None:
    """Return a scalar's type with its sizes; None for nested types, and for types that only a database has."""
    properties = leaf_properties(of.name) if isinstance(of, Leaf) else None
    return None if properties is None else full_type(properties)


def leaf_of_full(of: FullType) -> NestedType:
    """Return a type of scalars as columns of structs and lists have it."""
    return leaf_of(type_properties(of))


def widened_structure(stored: NestedType, declared: NestedType) -> NestedType | None:
    """Return a stored type with the new fields and the wider scalars of a declared type; None if they contradict.

    >>> from schemactl.schema.nested_types import read_type, write_type
    >>> write_type(widened_structure(read_type("struct<a:bigint,b:date>"), read_type("struct<a:double,c:string>")))
    'struct<a:double,b:date,c:string>'
    """
    match stored, declared:
        case Struct(), Struct():
            return _widened_struct(stored, declared)
        case ListOf(stored_element), ListOf(declared_element):
            element = widened_structure(stored_element, declared_element)
            return None if element is None else ListOf(element)
        case MapOf(stored_value), MapOf(declared_value):
            value = widened_structure(stored_value, declared_value)
            return None if value is None else MapOf(value)
        case Leaf(), Leaf() if stored != declared:
            narrow, wide = leaf_full_type(stored), leaf_full_type(declared)
            is_same_or_wider = narrow is not None and wide is not None and (narrow == wide or is_wider(narrow, wide))
            return declared if is_same_or_wider else None
        case _:
            return stored if stored == declared else None


def _widened_struct(stored: Struct, declared: Struct) -> Struct | None:
    fields = dict(stored.fields)
    names_by_lower = {name.lower(): name for name in fields}
    for name, declared_field in declared.fields:
        if names_by_lower.setdefault(name.lower(), name) != name:
            return None  # most readers cannot distinguish the two
        field = widened_structure(fields[name], declared_field) if name in fields else declared_field
        if field is None:
            return None
        fields[name] = field
    return Struct(tuple(fields.items()))


def has_wider_fields(stored: NestedType, declared: NestedType) -> bool:
    """Return whether a field of scalars that both types have is wider in the second one."""
    return widened_structure(stored, declared) is not None and any(
        difference.before is not None and difference.after is not None for difference in differences(stored, declared)
    )


def fit_structures(stored: NestedType, declared: NestedType) -> Fit:
    """Return the fate of values of a nested type in a wider one; refused if that is not wider."""
    widened = widened_structure(stored, declared)
    if widened is None or any(differences(widened, declared)):
        return Fit(Conversion.REFUSED, "fields would be lost, or would have another kind of type")
    leaves = (
        (difference.before, difference.after)
        for difference in differences(stored, declared)
        if isinstance(difference.before, Leaf) and isinstance(difference.after, Leaf)
    )
    full_types = ((leaf_full_type(narrow), leaf_full_type(wide)) for narrow, wide in leaves)
    fits = [fit_types(narrow, wide) for narrow, wide in full_types if narrow is not None and wide is not None]
    return next((leaf_fit for leaf_fit in fits if leaf_fit.conversion is not Conversion.WHOLE), Fit(Conversion.WHOLE))


def has_json_of_scalars(stored: NestedType, declared: NestedType) -> bool:
    """Return whether a field of scalars would become a JSON text, which destinations do not tell from other texts."""
    return any(
        isinstance(difference.before, Leaf) and isinstance(difference.after, Json) and difference.before != Leaf(STRING)
        for difference in differences(stored, declared)
    )


def with_field(of: NestedType, path: FieldPath, field: NestedType) -> NestedType:
    """Return a nested type with another type at a path, which exists in it."""
    if not path:
        return field
    match of:
        case Struct(fields) if path[0] is not INSIDE:
            replaced = dict(fields)
            replaced[path[0]] = with_field(replaced[path[0]], path[1:], field)
            return Struct(tuple(replaced.items()))
        case ListOf(element):
            return ListOf(with_field(element, path[1:], field))
        case MapOf(value):
            return MapOf(with_field(value, path[1:], field))
    raise ValueError(f"{of} has no field at {path}")


def fields_of(of: NestedType, path: FieldPath = ()) -> Iterator[tuple[FieldPath, NestedType]]:
    """Yield the paths of a type, outer ones first, with the type at each."""
    yield path, of
    match of:
        case Struct(fields):
            for name, inner in fields:
                yield from fields_of(inner, (*path, name))
        case ListOf(inner) | MapOf(inner):
            yield from fields_of(inner, (*path, INSIDE))
        case _:
            pass
