"""Structs, lists and maps in Arrow, as what ``x-spark-type`` states of columns that keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct

if TYPE_CHECKING:
    import pyarrow


def is_nested(of: pyarrow.DataType) -> bool:
    """Return whether a type is one of structs, lists or maps."""
    import pyarrow.types as is_a

    return bool(is_a.is_struct(of) or is_a.is_list(of) or is_a.is_large_list(of) or is_a.is_map(of))


def structure_of_arrow(of: pyarrow.DataType) -> NestedType | None:
    """Return a type of Arrow, None where a part of it is none that DDL says.

    Integers and floats keep their sizes here: ``int`` is not ``bigint``, which is all that ``read_type`` gives.
    """
    import pyarrow.types as is_a

    if is_a.is_struct(of):
        fields = [(field.name, structure_of_arrow(field.type)) for field in of]
        known = tuple((name, inner) for name, inner in fields if inner is not None)
        return Struct(known) if len(known) == len(fields) else None
    if is_a.is_list(of) or is_a.is_large_list(of):
        element = structure_of_arrow(of.value_type)
        return None if element is None else ListOf(element)
    if is_a.is_map(of):
        value = structure_of_arrow(of.item_type)
        return None if value is None or not _is_text(of.key_type) else MapOf(value)
    if is_a.is_decimal(of):
        return Leaf(f"decimal({of.precision},{of.scale})")
    name = _leaf_name(of)
    return None if name is None else Leaf(name)


def arrow_of(of: NestedType) -> pyarrow.DataType:
    """Return the type that files keep a structure in, as Spark writes it.

    Raises:
        ValueError: a part of it is of no type that files have.
    """
    import pyarrow as pa

    match of:
        case Struct(fields):
            return pa.struct([pa.field(name, arrow_of(inner)) for name, inner in fields])
        case ListOf(element):
            return pa.list_(pa.field("element", arrow_of(element)))
        case MapOf(value):
            return pa.map_(pa.string(), arrow_of(value))
        case Json():
            return pa.string()
        case Leaf(name):
            return _arrow_leaf(name)


def timed_as_text(of: NestedType) -> NestedType:
    """Return a structure with texts for times of day, for formats that have none."""
    match of:
        case Struct(fields):
            return Struct(tuple((name, timed_as_text(inner)) for name, inner in fields))
        case ListOf(element):
            return ListOf(timed_as_text(element))
        case MapOf(value):
            return MapOf(timed_as_text(value))
        case Leaf(name) if name.startswith("time("):
            return Leaf("string")
        case _:
            return of


def _is_text(of: pyarrow.DataType) -> bool:
    import pyarrow.types as is_a

    return bool(is_a.is_string(of) or is_a.is_large_string(of) or is_a.is_string_view(of))


def _leaf_name(of: pyarrow.DataType) -> str | None:
    import pyarrow.types as is_a

    if _is_text(of):
        return "string"
    if is_a.is_binary(of) or is_a.is_large_binary(of) or is_a.is_binary_view(of):
        return "binary"
    return next((name for name, found in _leaves().items() if found == of), None)


def _arrow_leaf(name: str) -> pyarrow.DataType:
    import pyarrow as pa

    if name in ("string", "binary"):
        return pa.string() if name == "string" else pa.binary()
    kind, _, sizes = name.rstrip(")").partition("(")
    if kind == "decimal":
        digits, places = sizes.split(",")
        return pa.decimal128(int(digits), int(places))
    if kind == "time":
        return pa.time64("us")
    found = _leaves().get(name)
    if found is None:
        raise ValueError(f"files have no type `{name}`")
    return found


def _leaves() -> dict[str, pyarrow.DataType]:
    import pyarrow as pa

    return {
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "time(6)": pa.time64("us"),
    }
