"""Iceberg's types and dlt's, and the limits of its names."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._lake.types import types_of_files
from schemactl.schema.structure import NameLimits

NAMES: Final = NameLimits()

WIDENS: Final = frozenset((("int", "bigint"), ("float", "double"), ("decimal", "decimal")))
"""Types that Iceberg widens in place (its specification, "schema evolution"); decimals by digits before the point."""

_NATIVE: Final = re.compile(r"timestamp(tz)?_ns|uuid|fixed\[\d+\]|unknown|variant|geometry.*|geography.*")
"""Types of Iceberg that neither dlt nor Spark's DDL of a schema has."""

_TYPES: Final = types_of_files("Iceberg", lambda written: _NATIVE.fullmatch(written) is not None, sizes=(32,))
settle: Final = _TYPES.settle
new_kind: Final = _TYPES.new_kind
stored: Final = _TYPES.stored
