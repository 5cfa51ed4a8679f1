"""Structs, lists and maps in folders of Parquet, as Spark's DDL: what columns with ``x-spark-type`` are there."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from schemactl.destinations._lake.structure import is_nested, structure_of_arrow
from schemactl.destinations._structure import Clash, cut, grown, shown
from schemactl.schema.nested_types import Leaf, ListOf, MapOf, NestedType, Struct, is_within, read_type, write_type

if TYPE_CHECKING:
    import pyarrow


def ddl_of(of: pyarrow.DataType) -> str | None:
    """Return an Arrow type of structs, lists or maps as Spark's DDL; None for others, and what loads do not write."""
    found = structure_of_arrow(of) if is_nested(of) else None
    if found is None:
        return None
    written = write_type(found)
    # DDL of a schema has integers and floats of one size: what it does not say is none of its types.
    return written if read_type(written) == found else None


def is_readable_as(found: str, wanted: str) -> bool:
    """Return whether files with a column of one type can be read together with files that have it as another one.

    Args:
        found: of older files.
        wanted: of newer ones, which may have more fields.
    """
    try:
        return is_within(read_type(found), read_type(wanted))
    except ValueError:  # an Arrow type that no DDL says
        return found == wanted


def are_read_together(kinds: Collection[str]) -> bool:
    """Return whether files that have a column as structs, lists or maps of these types make one table."""
    try:
        first, *others = map(read_type, kinds)
    except ValueError:  # a type that is no structure's
        return False
    joint: NestedType | Clash = first
    for each in others:
        joint = joint if isinstance(joint, Clash) else grown(joint, each)
    return not isinstance(joint, Clash) and not isinstance(first, Leaf)


def difference(column: str, found: str, wanted: str) -> str:
    """Return in words what keeps two types from being read together, for the first field that does."""
    try:
        there, ours = read_type(found), read_type(wanted)
    except ValueError:
        return f"`{column}` is {cut(wanted)}, and {cut(found)}"
    return _difference(column, there, ours) or f"`{column}` is {cut(wanted)}, and {cut(found)}"


def _difference(place: str, there: NestedType, ours: NestedType) -> str | None:
    match there, ours:
        case Struct(), Struct():
            fields = dict(ours.fields)
            parts = (
                _difference(f"{place}.{name}", inner, fields[name])
                if name in fields
                else f"`{place}.{name}` is no field, and {shown(inner)}"
                for name, inner in there.fields
            )
            return next(filter(None, parts), None)
        case ListOf(element), ListOf(our_element):
            return _difference(f"{place}[]", element, our_element)
        case MapOf(value), MapOf(our_value):
            return _difference(f"{place}[]", value, our_value)
        case _:
            alike = write_type(there) == write_type(ours)
            return None if alike else f"`{place}` is {shown(ours)}, and {shown(there)}"
