"""Delta's types and dlt's, and the limits of its names."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._catalogue import with_nullable
from schemactl.destinations._lake.types import kind_of, types_of_files
from schemactl.destinations._types import keeps_unknown_types
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Properties

NAMES: Final = NameLimits(is_case_sensitive=False)

_NATIVE: Final = re.compile(r"void|variant")
"""Types of Delta Lake that neither dlt nor Spark's DDL of a schema has."""

settle: Final = types_of_files("Delta Lake", lambda written: _NATIVE.fullmatch(written) is not None).settle


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as Delta's catalog has it after dlt writes it."""
    return with_nullable(new_kind(column), column)


def new_kind(column: Column) -> Properties:
    """Return the type that a column gets."""
    return kind_of(settle(column), has_time=False, sizes=(8, 16, 32))
