"""Read the stability that a schema promises for its parts: ``x-stability`` on a table or a column.

``draft`` promises nothing, ``beta`` promises readers nothing firm, anything else (``stable``) is the default. The base
schema's mark counts, so a change cannot excuse itself; for new parts the head's mark counts.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.hints import STABILITY
from schemactl.review.severity import Impact, Severity
from schemactl.schema.types import chain_of


class Stability(StrEnum):
    """A promise of stability."""

    DRAFT = "draft"
    BETA = "beta"
    STABLE = "stable"


def stability(hint: Any) -> Stability:
    """Return the promise of a hint; an unset or unknown one is ``stable``."""
    return _stability(hint) or Stability.STABLE


def softened(impact: Impact, stability: Stability) -> Impact:
    """Return the impact; for ``beta``, changes that break readers are at most a warning."""
    if stability is Stability.BETA and impact.readers is Severity.ERROR:
        return replace(impact, readers=Severity.WARN)
    return impact


def promise_of(comparison: Comparison, table: str | None, column: str | None) -> Stability:
    """Return the promise for a column or a table, by its name in the head schema.

    A column has its table's, a nested table its parent's.
    """
    if table is None:
        return Stability.STABLE
    if column is not None:
        # The head's mark counts only for a new column.
        shared_column = comparison.base_column(table, column) or comparison.head_column(table, column)
        column_stability = _stability(shared_column.properties.get(STABILITY)) if shared_column else None
        if column_stability is not None:
            return column_stability
    base_table = comparison.base_tables.get(table, table)
    schema, name = comparison.head.schema, table
    if base_table in comparison.base.schema.tables:
        schema, name = comparison.base.schema, base_table
    tables = (schema.tables[ancestor] for ancestor in chain_of(schema, name) if ancestor in schema.tables)
    promises = (_stability(table.properties.get(STABILITY)) for table in tables)
    return next((promise for promise in promises if promise is not None), Stability.STABLE)


def _stability(hint: Any) -> Stability | None:
    if hint is None:
        return None
    return Stability(hint) if hint in tuple(Stability) else Stability.STABLE
