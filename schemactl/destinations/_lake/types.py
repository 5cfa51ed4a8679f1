"""dlt's types as Arrow's, as dlt writes them into tables on files, and back (docs/dlt.md §9.3 has the databases').

So are structs, lists and maps: what ``x-spark-type`` states of columns that keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemactl.destinations._catalogue import unknown
from schemactl.destinations._structure import cut
from schemactl.destinations._types import decimal, decimal_sizes, integer
from schemactl.errors import DestinationError
from schemactl.schema.nested_types import (
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    read_type,
    structure_of,
    write_type,
)
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties, Table

if TYPE_CHECKING:
    import pyarrow

MAX_DECIMAL = 38
"""Digits that decimals of both formats have room for."""


def kind_of(column: Column, *, has_time: bool, sizes: tuple[int, ...]) -> Properties:
    """Return what a catalog says of such a column that dlt has made, but for nulls.

    Args:
        column: complete, or with a database's own type.
        has_time: whether the format has times of day; else dlt writes them as texts.
        sizes: the bits that the format has integers of, ascending.
    """
    properties = column.properties
    if DATABASE_TYPE in properties:
        return unknown(properties[DATABASE_TYPE])
    match column.data_type:
        case DataType.JSON:
            structure = structure_of(column)
            return {"data_type": "text"} if structure is None else _structure(structure, has_time)
        case DataType.WEI:
            return {"data_type": "text"}
        case DataType.TIME:
            return {"data_type": "time" if has_time else "text"}
        case DataType.DECIMAL:
            return _decimal(properties)
        case DataType.BIGINT:
            bits = properties.get("precision") or 64
            return integer(next((size for size in sizes if bits <= size), 64))
        case DataType.TIMESTAMP:
            zone = {} if properties.get("timezone") is not False else {"timezone": False}
            return {"data_type": "timestamp", **zone}
        case other:
            return {"data_type": str(other)}


def _structure(of: NestedType, has_time: bool) -> Properties:
    return unknown(write_type(of if has_time else timed_as_text(of), has_comments=False))


def kind_of_nested(of: pyarrow.DataType) -> Properties | None:
    """Return what a catalog says of a column of structs, lists or maps; None of other ones, and unknown ones."""
    found = structure_of_arrow(of) if is_nested(of) else None
    return None if found is None else unknown(write_type(found))


def _decimal(properties: Properties) -> Properties:
    """Return the size that dlt gives to a decimal in files: the scale counts only with the precision."""
    if properties.get("precision") is None:
        return decimal(*decimal_sizes({}))
    precision, scale = properties["precision"], properties.get("scale") or 0
    return decimal(precision, scale) if precision <= MAX_DECIMAL else {"data_type": "text"}


def arrow_type(kind: Properties) -> pyarrow.DataType:
    """Return the Arrow type of what ``kind_of`` gives.

    Raises:
        DestinationError: it is none that files have.
    """
    import pyarrow as pa

    if DATABASE_TYPE in kind:
        try:
            return arrow_of(read_type(kind[DATABASE_TYPE]))
        except ValueError as error:
            raise DestinationError(f"`{cut(kind[DATABASE_TYPE])}` is no type of files: {error}") from error
    match kind["data_type"]:
        case "bigint":
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(kind.get("precision", 64), pa.int64())
        case "decimal":
            return pa.decimal128(kind["precision"], kind["scale"])
        case "timestamp":
            return pa.timestamp("us", None if kind.get("timezone") is False else "UTC")
        case other:
            plain = {"text": pa.string(), "double": pa.float64(), "bool": pa.bool_(), "binary": pa.binary()}
            return {**plain, "date": pa.date32(), "time": pa.time64("us")}[other]


def plain_type(of: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type without what only matters in memory: large texts, lists and views are as any others."""
    import pyarrow as pa
    import pyarrow.types as is_a

    if is_a.is_struct(of):
        return pa.struct([field.with_type(plain_type(field.type)) for field in of])
    if is_a.is_list(of) or is_a.is_large_list(of):
        return pa.list_(of.value_field.with_type(plain_type(of.value_type)))
    if is_a.is_map(of):
        key, item = (field.with_type(plain_type(field.type)) for field in (of.key_field, of.item_field))
        return pa.map_(key, item)
    if is_a.is_large_string(of) or is_a.is_string_view(of):
        return pa.string()
    return pa.binary() if is_a.is_large_binary(of) or is_a.is_binary_view(of) else of


def fits(kind: Properties, there: Properties) -> bool:
    """Return whether values of one type go into a column of another one, if each of them has room.

    Texts take what dlt may have written as texts before; whether each value has room is found out on writing.
    """
    if DATABASE_TYPE in kind or DATABASE_TYPE in there:
        return kind == there
    ours, theirs = kind.get("data_type"), there.get("data_type")
    if ours == theirs:
        return ours != "timestamp" or (kind.get("timezone") is False) == (there.get("timezone") is False)
    return (ours, theirs) in {("time", "text"), ("bigint", "double"), ("bigint", "decimal")}


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


_PARTITIONING = frozenset(("text", "bigint", "bool", "date", "timestamp"))  # delta-rs misreads decimals below 0


def can_partition(kind: Properties) -> bool:
    """Return whether tables are partitioned by values of a type: each has one text, and equals itself alone."""
    return kind.get("data_type") in _PARTITIONING


def partitions_of(table: Table) -> tuple[str, ...]:
    """Return the columns that are hinted as a table's partitions, in their order."""
    return tuple(name for name, each in table.columns.items() if each.is_complete and each.properties.get("partition"))
