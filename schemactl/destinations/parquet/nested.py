"""Structs and lists in folders of Parquet, as Spark's DDL has them: what columns with ``x-spark-type`` are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemactl.normalization.nested_types import Leaf, ListOf, NestedType, Struct, is_within, read_type, write_type

if TYPE_CHECKING:
    import pyarrow


def ddl_of(of: pyarrow.DataType) -> str | None:
    """Return an Arrow type of structs or lists as Spark's DDL; None for others, and those that loads do not write."""
    import pyarrow.types as is_a

    found = _structure_of(of) if is_a.is_struct(of) or is_a.is_list(of) else None
    return None if found is None else write_type(found)


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


def _structure_of(of: pyarrow.DataType) -> NestedType | None:
    import pyarrow.types as is_a

    if is_a.is_struct(of):
        fields = [(field.name, _structure_of(field.type)) for field in of]
        known = tuple((name, inner) for name, inner in fields if inner is not None)
        return Struct(known) if len(known) == len(fields) else None
    if is_a.is_list(of):
        element = _structure_of(of.value_type)
        return None if element is None else ListOf(element)
    if is_a.is_decimal128(of):
        return Leaf(f"decimal({of.precision},{of.scale})")
    name = _leaf_name(of)
    return None if name is None else Leaf(name)


def _leaf_name(of: pyarrow.DataType) -> str | None:
    import pyarrow as pa

    names = {
        pa.int64(): "bigint",
        pa.float64(): "double",
        pa.bool_(): "boolean",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.date32(): "date",
        pa.timestamp("us", "UTC"): "timestamp",
        pa.timestamp("us"): "timestamp_ntz",
        pa.time64("us"): "time(6)",
    }
    return names.get(of)
