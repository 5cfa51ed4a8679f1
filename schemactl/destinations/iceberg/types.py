"""Iceberg's types and dlt's, and the limits of its names."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._catalogue import with_nullable
from schemactl.destinations._lake.types import kind_of, types_of_files
from schemactl.destinations._types import keeps_unknown_types
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Properties

NAMES: Final = NameLimits()

WIDENS: Final = frozenset((("int", "bigint"), ("float", "double"), ("decimal", "decimal")))
"""Types that Iceberg widens in place (its specification, "schema evolution"); decimals by digits before the point."""

_NATIVE: Final = re.compile(r"timestamp(tz)?_ns|uuid|fixed\[\d+\]|unknown|variant|geometry.*|geography.*")
"""Types of Iceberg that neither dlt nor Spark's DDL of a schema has."""

settle: Final = types_of_files("Iceberg", lambda written: _NATIVE.fullmatch(written) is not None).settle


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as Iceberg's catalog has it after dlt writes it."""
    return with_nullable(new_kind(column), column)


def new_kind(column: Column) -> Properties:
    """Return the type that a column gets."""
    return kind_of(settle(column), has_time=True, sizes=(32,))
