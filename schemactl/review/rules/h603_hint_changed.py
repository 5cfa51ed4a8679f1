"""H603: an ``x-`` hint that schemactl does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemactl.review.comparison import Comparison
from schemactl.review.hints import HintChange, extra_hints, hint_match, is_protective, is_unset
from schemactl.review.nested_fields import fields_of
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import shown
from schemactl.schema.changes import ColumnPropertyChanged

_TOLD_ELSEWHERE: Final = frozenset(
    (
        *("x-normalizer", "x-loader", "x-extractor", "x-merge-strategy"),
        *("x-enum", "x-minimum", "x-maximum", "x-pattern", "x-stability", "x-backfill", "x-unit"),
        *("x-renamed-from", "x-removed-columns", "x-removed-tables", "x-source-names"),
    )
)
"""Hints that other rules read."""


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each such hint of a table or column that is new, gone or another."""
    for change in extra_hints(comparison):
        is_removal = is_protective(change.name) and not is_unset(change.before)
        if change.name not in _TOLD_ELSEWHERE and not is_removal and not _is_told_by_field(comparison, change):
            yield hint_match(change, _told(change))


def _is_told_by_field(comparison: Comparison, change: HintChange) -> bool:
    return isinstance(change, ColumnPropertyChanged) and bool(fields_of(comparison, change))


def _told(change: HintChange) -> str:
    if is_unset(change.after):
        return f"has lost the hint `{change.name}`, which was {shown(change.before)}"
    if is_unset(change.before):
        return f"has a new hint `{change.name}`: {shown(change.after)}"
    return f"changes the hint `{change.name}` from {shown(change.before)} to {shown(change.after)}"


RULE = Rule(
    id="H603",
    title="hint changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.NONE,
    why="dlt keeps hints that start with `x-` and hashes them. Only whoever reads them knows what they do: a "
    "destination (`x-bigquery-…`), a tool, or a person.",
    fix="Ask the owner of the hint. If nobody reads it, nothing has to be done.",
    find=find,
)
