"""Delta's types and dlt's, and the limits of its names."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._lake.types import types_of_files
from schemactl.schema.structure import NameLimits

NAMES: Final = NameLimits(is_case_sensitive=False)

_NATIVE: Final = re.compile(r"void|variant")
"""Types of Delta Lake that neither dlt nor Spark's DDL of a schema has."""

_TYPES: Final = types_of_files(
    "Delta Lake", lambda written: _NATIVE.fullmatch(written) is not None, has_time=False, sizes=(8, 16, 32)
)
settle: Final = _TYPES.settle
new_kind: Final = _TYPES.new_kind
stored: Final = _TYPES.stored
