"""Reads the types that queries cast columns to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from schemactl.schema.types import DataType

_TARGETS: Final[Mapping[str, tuple[DataType, bool]]] = {
    "TEXT": (DataType.TEXT, False),
    "VARCHAR": (DataType.TEXT, False),
    "DOUBLE": (DataType.DOUBLE, False),
    "BIGINT": (DataType.BIGINT, False),
    "BOOLEAN": (DataType.BOOL, False),
    "DATE": (DataType.DATE, False),
    "TIME": (DataType.TIME, False),
    "TIMESTAMP": (DataType.TIMESTAMP, False),
    "TIMESTAMPNTZ": (DataType.TIMESTAMP, False),
    "DATETIME": (DataType.TIMESTAMP, False),
    "TIMESTAMPTZ": (DataType.TIMESTAMP, True),
    "TIMESTAMPLTZ": (DataType.TIMESTAMP, True),
}
"""The types of a cast by sqlglot's names, and whether a timestamp knows its time zone."""

_IN_DIALECTS: Final[Mapping[str, Mapping[str, tuple[DataType, bool]]]] = {
    "postgres": {"DECIMAL": (DataType.DECIMAL, False)},  # of any size
    "mysql": {"CHAR": (DataType.TEXT, False)},  # of any length in a cast
}

_SIZED: Final[Mapping[str, tuple[str, ...]]] = {
    "mysql": ("DATETIME", "TIME"),
    "oracle": ("DATE", "VARCHAR"),
    "redshift": ("VARCHAR",),
    **dict.fromkeys(("tsql", "fabric"), ("DATETIME", "VARCHAR")),
}
"""Types that have a size by default, or other values than their words say."""


def read_target(cast: exp.Cast, dialect: str | None) -> tuple[DataType, bool] | None:
    """Return the type of a cast, and whether a timestamp knows its time zone; None for other types, or with a size."""
    target = cast.to
    if not isinstance(target, exp.DataType) or target.expressions or cast.args.get("format"):
        return None
    type_name = target.this.name if isinstance(target.this, exp.DataType.Type) else str(target.this)
    if type_name in _SIZED.get(dialect or "", ()):
        return None
    return _IN_DIALECTS.get(dialect or "", {}).get(type_name) or _TARGETS.get(type_name)
