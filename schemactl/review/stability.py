"""How much a schema promises of its parts: ``x-stability`` on a table or a column.

``draft`` promises nothing, ``beta`` promises readers nothing firm, anything else (``stable``) is the rule. The base
schema's word counts, so a change cannot excuse itself; only for what is new there, the head's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.hint_names import STABILITY
from schemactl.review.severity import Impact, Severity
from schemactl.schema.changes import ColumnRenamed
from schemactl.schema.nesting import chain_of
from schemactl.schema.types import Schema


class Stability(StrEnum):
    """What is promised."""

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
    """What two schemas promise of tables and columns, by their names in the head schema."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._base = comparison.base.schema
        self._head = comparison.head.schema

    def of(self, table: str | None, column: str | None) -> Stability:
        """Return the promise for a column or a table; a column has its table's, a nested table its parent's."""
        if table is None:
            return Stability.STABLE
        base_table = self.base_table(table)
        if column is not None:
            stated = _of_column(self._base, base_table, self.base_column(table, column))
            if stated is None and not self._is_in_base(base_table, self.base_column(table, column)):
                stated = _of_column(self._head, table, column)
            if stated is not None:
                return stated
        if base_table in self._base.tables:
            return _of_table(self._base, base_table)
        return _of_table(self._head, table)

    def base_table(self, table: str) -> str:
        """Return a table's name in the base schema."""
        return self._comparison.base_tables.get(table, table)

    def base_column(self, table: str, column: str) -> str:
        """Return a column's name in the base schema."""
        return self._renamed.get((table, column), column)

    def _is_in_base(self, table: str, column: str) -> bool:
        return table in self._base.tables and column in self._base.tables[table].columns

    @cached_property
    def _renamed(self) -> Mapping[tuple[str, str], str]:
        return {(change.table, change.after): change.before for change in self._comparison.of(ColumnRenamed)}


def _of_column(schema: Schema, table: str, column: str) -> Stability | None:
    found = schema.tables[table].columns.get(column) if table in schema.tables else None
    return _stability(found.properties.get(STABILITY)) if found else None


def _of_table(schema: Schema, name: str | None) -> Stability:
    stated = (schema.tables[each].properties.get(STABILITY) for each in chain_of(schema, name) if each in schema.tables)
    return next((found for found in map(_stability, stated) if found is not None), Stability.STABLE)


def _stability(stated: Any) -> Stability | None:
    if stated is None:
        return None
    return Stability(stated) if stated in tuple(Stability) else Stability.STABLE
