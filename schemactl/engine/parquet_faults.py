"""Looks again at a Parquet file that Spark could not read: which row group, which column, and pyarrow's reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow
import pyarrow.parquet
from pyarrow.types import is_duration

from schemactl.engine.input import MAGIC
from schemactl.errors import InputError, Location
from schemactl.kernel.opening import reason_of as reason_of_system

_UNITS: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def find_parquet_fault(path: str) -> str | None:
    """Return the fault of a local file; None if nothing is wrong, or it is not Parquet.

    Row groups are read one by one, until one cannot be.
    """
    try:
        with Path(path).open("rb") as opened:
            if MAGIC.get(opened.read(4)) != "parquet":
                return None
    except OSError:
        return None
    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        return reason_of(error)
    with file:
        first = 1
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if (reason := _fault_in_group(file, number)) is not None:
                group_name = f"row group {number + 1} of {file.num_row_groups} (rows {first:,} to {first + rows - 1:,})"
                return f"{group_name}, {reason}"
            first += rows
    return None


def _fault_in_group(file: pyarrow.parquet.ParquetFile, group_index: int) -> str | None:
    columns = [file.schema.column(column_index).path for column_index in range(len(file.schema))]
    for column in columns:
        try:
            file.read_row_group(group_index, columns=[column], use_threads=False)
        except (pyarrow.ArrowException, OSError) as error:
            return f"column `{column}`: {reason_of(error)}"
    return None


def check_parquet_types(schema: pyarrow.parquet.ParquetSchema, path: str) -> None:
    """Refuse intervals, which Spark does not read, and pyarrow reads as 12 bytes."""
    leaves = (schema.column(number) for number in range(len(schema)))
    column = next((leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"), None)
    if column is not None:
        message = f"the column `{column}` is a Parquet interval, which cannot be read"
        raise InputError(message, at=Location(path), hint="remove the column, or change its type")


def unreadable_rows(path: str, error: Exception) -> InputError:
    """Return the error for a file of columns that pyarrow does not open, with pyarrow's reason."""
    if isinstance(error, OSError) and error.errno:
        return InputError(f"the file cannot be read: {reason_of(error)}", at=Location(path))
    message = f"the footer of the file cannot be read: {reason_of(error)}"
    return InputError(message, at=Location(path), hint="was it written to the end?")


def reason_of(error: Exception) -> str:
    r"""Return the first line of pyarrow's message, as the end of a sentence; the system's words for a system error.

    >>> reason_of(OSError("Corrupt snappy compressed data.\nmore"))
    'corrupt snappy compressed data'
    >>> reason_of(OSError("ORC timestamp is out of range"))
    'ORC timestamp is out of range'
    """
    if isinstance(error, OSError) and error.errno:
        return reason_of_system(error)
    first = str(error).strip().partition("\n")[0].rstrip(" .:")
    return first if first[1:2].isupper() else f"{first[:1].lower()}{first[1:]}"


def durations_in(schema: pyarrow.Schema) -> list[str]:
    """Return the columns of durations, each with the unit of its numbers, as shown to people."""
    return list(dict.fromkeys(column for field in schema for column in _durations(field.name, field.type)))


def _durations(column: str, of: pyarrow.DataType) -> Iterator[str]:
    if is_duration(of):
        yield f"`{column}` ({_UNITS[of.unit]})"
    for number in range(of.num_fields):
        yield from _durations(column, of.field(number).type)
