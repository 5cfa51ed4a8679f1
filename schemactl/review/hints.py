"""Finds changed hints: what a column or a table states beside type, nullability and description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.places import place
from schemactl.review.rule import Match
from schemactl.review.severity import Impact
from schemactl.review.wording import plain
from schemactl.schema.changes import ABSENT, ColumnPropertyChanged, TablePropertyChanged

HintChange = ColumnPropertyChanged | TablePropertyChanged


def column_hints(comparison: Comparison, *names: str) -> Iterator[ColumnPropertyChanged]:
    """Yield the columns where one of these hints changed; absent, null and false are the same (docs/dlt.md §1.3)."""
    for change in comparison.of(ColumnPropertyChanged):
        if change.name in names and not is_restated(change):
            yield change


def hint_changes(comparison: Comparison) -> Iterator[HintChange]:
    """Yield every changed property of tables, then of columns."""
    yield from comparison.of(TablePropertyChanged)
    yield from comparison.of(ColumnPropertyChanged)


def extra_hints(comparison: Comparison) -> Iterator[HintChange]:
    """Yield the tables, then the columns, where an ``x-`` hint changed; absent, null and false are the same."""
    for change in hint_changes(comparison):
        if change.name.startswith("x-") and not is_restated(change):
            yield change


def is_unset(stated: Any) -> bool:
    """Return whether a hint counts as not given: absent, null or false."""
    return stated is ABSENT or stated is None or stated is False


def is_restated(change: HintChange) -> bool:
    """Return whether a hint is as little given as before (docs/dlt.md §1.3).

    Null as a validity's end is given, and as a table's contract it goes before that of the schema (rule X705).
    """
    is_given = change.name in ("x-active-record-timestamp", "schema_contract")
    return is_unset(change.before) and is_unset(change.after) and not is_given


def hint_match(change: HintChange, phrase: str, impact: Impact | None = None, aspect: str = "") -> Match:
    """Return the match whose sentence is the name of the column or table and what happened to it."""
    column = change.column if isinstance(change, ColumnPropertyChanged) else None
    keys = ("tables", change.table, *(("columns", column) if column is not None else ()), change.name)
    return Match(
        sentence=f"{place(change.table, column)} {phrase}",
        table=change.table,
        column=column,
        keys=keys,
        before=plain(change.before),
        after=plain(change.after),
        impact=impact,
        aspect=aspect,
    )
