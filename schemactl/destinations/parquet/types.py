"""The types of Parquet's footers and dlt's, and the limits of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import unknown
from schemactl.destinations._lake.types import is_arrow_name, types_of_files
from schemactl.destinations._types import decimal, keeps_unknown_types
from schemactl.schema.nested_types import read_type, structure_of, write_type
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties
from schemactl.type_systems.arrow_types import (
    arrow_type_of,
    from_exact_arrow,
    is_nested,
    plain_type,
    scalar_properties,
    scalar_type,
)

if TYPE_CHECKING:
    import pyarrow

NAMES: Final = NameLimits()


def kind_of(of: pyarrow.DataType) -> Properties:
    """Return dlt's type for the type of a column in a footer."""
    import pyarrow
    import pyarrow.types as is_a

    if is_a.is_dictionary(of):
        return kind_of(of.value_type)
    if is_a.is_decimal(of):
        is_wei = of.scale == 0 and of.precision >= 38
        return {"data_type": "wei"} if is_wei else decimal(of.precision, of.scale)
    if is_nested(of) and (nested_type := from_exact_arrow(of)) is not None:
        written = write_type(nested_type)
        # The DDL of a schema has one size of integers and floats, so a type that it cannot express is unknown to a
        # schema.
        return unknown(written if read_type(written) == nested_type else str(plain_type(of)))
    # Integers of 64 bits without a sign are decimals to dlt, and no decimals in files.
    is_foreign = is_a.is_uint64(of) or isinstance(of, pyarrow.BaseExtensionType)
    return (None if is_foreign else scalar_properties(of)) or unknown(str(plain_type(of)))


def _is_native(written: str) -> bool:
    """Return whether a text is a type of footers that dlt lacks, also of structs and lists as Arrow writes them."""
    import pyarrow

    if "<" in written:
        return True
    return is_arrow_name(written) and DATABASE_TYPE in kind_of(pyarrow.type_for_alias(written))


settle: Final = types_of_files("Parquet", _is_native).settle


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return the type of such a column in the footers of dlt's Parquet files.

    It does not contain nulls: Spark marks all columns as nullable.
    """
    column = settle(column)
    if DATABASE_TYPE in column.properties:
        return unknown(column.properties[DATABASE_TYPE])
    if (structure := structure_of(column)) is not None:
        return unknown(write_type(structure, has_comments=False))
    properties = dict(column.properties)
    if column.data_type is DataType.BIGINT:
        size = properties.get("precision")
        properties["precision"] = next((bits for bits in (8, 16, 32) if size is not None and size <= bits), 64)
    if column.data_type is DataType.BINARY:
        properties.pop("precision", None)  # dlt's files have a fixed length, and loads write any: both may be there
    of = arrow_type_of(column)
    try:
        return kind_of(scalar_type(properties) if of is None else of)
    except ValueError:  # more digits than Arrow has
        return decimal(properties["precision"], properties.get("scale") or 0)
