"""Columns of folders of Parquet as Arrow's fields: those that dlt writes, and what the files of a table have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations._lake.structure import arrow_of, is_nested, structure_of_arrow
from schemactl.destinations._lake.types import plain_type
from schemactl.destinations._structure import Clash, cut, grown
from schemactl.destinations.parquet.catalogue import file_columns, partition_keys, stored
from schemactl.errors import DestinationError, InputError
from schemactl.schema.nested_types import read_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow

MOST_DIGITS = 38
"""Of a decimal that is kept in 16 bytes; longer ones take 32."""


def field_of(column: Column) -> pyarrow.Field:
    """Return a new column as dlt writes it.

    Raises:
        InputError: it has a type that only a database knows, or sizes that Parquet has not.
    """
    import pyarrow

    try:
        return pyarrow.field(column.name, _type_of(column), column.nullable)
    except (KeyError, ValueError) as error:
        raise InputError(f"column `{column.name}` has no type that Parquet has: {error}") from error


def _type_of(column: Column) -> pyarrow.DataType:
    import pyarrow as pa

    kind = stored(column)
    if DATABASE_TYPE in kind:
        return arrow_of(read_type(kind[DATABASE_TYPE]))
    precision = kind.get("precision")
    match kind["data_type"]:
        case "bigint":
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(precision or 64, pa.int64())
        case "wei":
            return pa.decimal128(38, 0)
        case "decimal":
            make = pa.decimal128 if kind["precision"] <= MOST_DIGITS else pa.decimal256
            return make(kind["precision"], kind["scale"])
        case "timestamp":
            unit = {3: "ms", 9: "ns"}.get(precision or 6, "us")
            return pa.timestamp(unit, None if kind.get("timezone") is False else "UTC")
        case "time":
            return {3: pa.time32("ms"), 9: pa.time64("ns")}.get(precision or 6, pa.time64("us"))
        case "binary":
            return pa.binary(precision or -1)
        case other:
            return {"text": pa.string(), "double": pa.float64(), "bool": pa.bool_(), "date": pa.date32()}[other]


def joint_fields(files: Mapping[str, Path]) -> pyarrow.Schema:
    """Return the columns of all files of a table: those of the last one, then what only older ones have.

    A column is as the last file with it has it; it may be null where a file lacks it, or says that it may. What
    stands in names of folders only is text.

    Args:
        files: by name.

    Raises:
        DestinationError: a file cannot be read, or two have columns of one name and different types.
    """
    import pyarrow

    found: dict[str, pyarrow.Field] = {}
    kinds: dict[str, Column] = {}
    count: dict[str, int] = {}
    for file in reversed(list(files.values())):
        columns = file_columns(file)
        for field in read_fields(file):
            column = columns[field.name]
            first = kinds.setdefault(field.name, column)
            held = found.setdefault(field.name, field)
            joint = _joint_structure(held.type, field.type)
            if joint is None and _kind(first) != _kind(column):
                raise DestinationError(
                    f"`{field.name}` is {cut(_kind(column))} in `{file}`, "
                    f"and {cut(_kind(first))} in later files of the table",
                    hint="write the table anew, then migrate",
                )
            found[field.name] = held.with_nullable(held.nullable or field.nullable).with_type(joint or held.type)
            count[field.name] = count.get(field.name, 0) + 1
    for name in files:
        for key in partition_keys(name):
            found.setdefault(key, pyarrow.field(key, pyarrow.string()))
    return pyarrow.schema(
        [field.with_nullable(field.nullable or count.get(name, 0) < len(files)) for name, field in found.items()]
    )


def _joint_structure(one: pyarrow.DataType, other: pyarrow.DataType) -> pyarrow.DataType | None:
    """Return structs, lists or maps with the fields of both; None of other types, and where they do not go together."""
    parts = [structure_of_arrow(each) if is_nested(each) else None for each in (one, other)]
    if parts[0] is None or parts[1] is None:
        return None
    joint = grown(parts[0], parts[1])
    return None if isinstance(joint, Clash) else arrow_of(joint)


def read_fields(file: Path) -> pyarrow.Schema:
    """Return the columns of one file as new files are to hold them.

    Raises:
        DestinationError: it cannot be read.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        fields = pyarrow.parquet.read_schema(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise DestinationError(f"cannot read `{file}`: {error}") from error
    # What Spark and pandas keep beside the columns speaks of the columns as they were.
    return pyarrow.schema([pyarrow.field(each.name, _dense(each.type), each.nullable) for each in fields])


def _dense(of: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow.types as is_a

    return plain_type(of.value_type if is_a.is_dictionary(of) else of)


def _kind(column: Column) -> str:
    kind = stored(column)
    zone = " without time zone" if kind.get("timezone") is False else ""
    return f"{kind.get('data_type') or next(iter(kind.values()))}{zone}"
