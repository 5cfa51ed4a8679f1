"""Reads column types from Parquet footers that Spark does not read, so that files that differ are read separately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow

SECOND_DIGITS: Final = {"s": 0, "ms": 3}


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """The declared types of a file that Spark does not see.

    Attributes:
        nulls: columns without a type, which Arrow writes for columns of nulls; Spark reads them as integers, and like
            dlt, schemactl ignores them.
        second_digits: the digits of timestamps in milliseconds, which Spark reads as microseconds.
    """

    nulls: frozenset[str] = frozenset()
    second_digits: frozenset[tuple[str, int]] = frozenset()


def footer_of(schema: pyarrow.Schema) -> ParquetFooter:
    """Return the content of a file's footer."""
    nulls = (field.name for field in schema if pyarrow.types.is_null(field.type))
    digits = (
        (field.name, SECOND_DIGITS[field.type.unit])
        for field in schema
        if pyarrow.types.is_timestamp(field.type) and field.type.unit in SECOND_DIGITS
    )
    return ParquetFooter(frozenset(nulls), frozenset(digits))
