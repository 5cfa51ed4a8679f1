"""Read how much a schema promises of its parts: ``x-stability`` on a table or a column.

``draft`` promises nothing, ``beta`` promises readers nothing firm, anything else (``stable``) is the rule. The base
schema's word counts, so a change cannot excuse itself; only for what is new there, the head's.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.hints import STABILITY
from schemactl.review.severity import Impact, Severity
from schemactl.schema.types import Column, Schema, chain_of


class Stability(StrEnum):
    """A promise of stability."""

    DRAFT = "draft"
    BETA = "beta"
    STABLE = "stable"


def stability(stated: Any) -> Stability:
    """Return what a hint promises; nothing stated, and anything unknown, is ``stable``."""
    return _stability(stated) or Stability.STABLE


def softened(impact: Impact, stability: Stability) -> Impact:
    """Return the impact, with what readers of a ``beta`` have to put up with as a warning at most."""
    if stability is Stability.BETA and impact.readers is Severity.ERROR:
        return replace(impact, readers=Severity.WARN)
    return impact


class Promises:
    """The promises of two schemas for tables and columns, by their names in the head schema."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._base = comparison.base.schema
        self._head = comparison.head.schema

    def of(self, table: str | None, column: str | None) -> Stability:
        """Return the promise for a column or a table; a column has its table's, a nested table its parent's."""
        if table is None:
            return Stability.STABLE
        base_table = self._comparison.base_tables.get(table, table)
        if column is not None:
            base = self._comparison.base_column(table, column)
            stated = _of_column(base)
            if stated is None and base is None:
                stated = _of_column(self._comparison.head_column(table, column))
            if stated is not None:
                return stated
        if base_table in self._base.tables:
            return _of_table(self._base, base_table)
        return _of_table(self._head, table)


def _of_column(column: Column | None) -> Stability | None:
    return _stability(column.properties.get(STABILITY)) if column else None


def _of_table(schema: Schema, name: str | None) -> Stability:
    stated = (schema.tables[each].properties.get(STABILITY) for each in chain_of(schema, name) if each in schema.tables)
    return next((found for found in map(_stability, stated) if found is not None), Stability.STABLE)


def _stability(stated: Any) -> Stability | None:
    if stated is None:
        return None
    return Stability(stated) if stated in tuple(Stability) else Stability.STABLE
