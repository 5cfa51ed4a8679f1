"""Which columns the patterns of ``default_hints`` and ``preferred_types`` hit (docs/dlt.md §1.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.schema.patterns import compile_pattern
from schemactl.schema.settings import Settings


def column_names(comparison: Comparison) -> Mapping[str, str]:
    """Return the full name of the first column of each name in the head schema; patterns look at names only."""
    places: dict[str, str] = {}
    for table in comparison.head.schema.tables.values():
        for column in table.columns:
            places.setdefault(column, f"{table.name}.{column}")
    return places


def hit(patterns: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Return the names that any of the patterns hits."""
    compiled = [compile_pattern(pattern) for pattern in patterns]
    return frozenset(name for name in names if any(pattern.search(name) for pattern in compiled))


def preferred(stated: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, str]:
    """Return the preferred types of the names that get one."""
    settings = Settings.of({"preferred_types": stated})
    found = ((name, settings.preferred_type(name)) for name in names)
    return {name: str(data_type) for name, data_type in found if data_type}
