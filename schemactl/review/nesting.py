"""What the configuration of dlt's relational normalizer says about nesting and propagation (docs/dlt.md §1.5, §5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.schema.changes import ABSENT
from schemactl.schema.templates import RELATIONAL_NORMALIZER

_SHORT = RELATIONAL_NORMALIZER.rpartition(".")[2]


def module(stated: Any) -> str:
    """Return the module of ``normalizers.json``; dlt's own may be named without its package."""
    name = _section(stated).get("module") or RELATIONAL_NORMALIZER
    return RELATIONAL_NORMALIZER if name == _SHORT else str(name)


def config(stated: Any) -> Mapping[str, Any]:
    """Return the config of ``normalizers.json``."""
    return _section(stated).get("config") or {}


def propagated(
    comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield what propagates otherwise: the table (None for all root tables), and its columns before and after.

    Tables that are on one side only are no change: dlt adds an entry with each new table it merges.
    """
    old, new = before.get("propagation") or {}, after.get("propagation") or {}
    if (old.get("root") or {}) != (new.get("root") or {}):
        yield None, old.get("root") or {}, new.get("root") or {}
    of_old, of_new = old.get("tables") or {}, new.get("tables") or {}
    for table in {**of_old, **of_new}:
        origin = comparison.base_tables.get(table, table)
        is_shared = origin in comparison.base.schema.tables and table in comparison.head.schema.tables
        left, right = of_old.get(origin) or {}, of_new.get(table) or {}
        if is_shared and left != right:
            yield table, left, right


def _section(stated: Any) -> Mapping[str, Any]:
    return {} if stated is ABSENT or not stated else stated
