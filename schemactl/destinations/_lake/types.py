"""dlt's types as Arrow's, as dlt writes them into tables on files, and back (docs/dlt.md §9.3 has the databases')."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemactl.destinations._catalogue import unknown
from schemactl.destinations._lake.structure import arrow_of, is_nested, structure_of_arrow, timed_as_text
from schemactl.destinations._structure import cut
from schemactl.destinations._types import decimal, decimal_sizes, integer
from schemactl.errors import DestinationError
from schemactl.schema.nested_types import NestedType, read_type, structure_of, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties

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
