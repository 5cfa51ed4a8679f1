"""H603: an ``x-`` hint that schemactl does not know."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.hints import HintChange, extra_hints, has_rule, hint_match, is_unset
from schemactl.review.nested_fields import fields_of
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import shown
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.personal import is_protective


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each hint of a table or column that is new, gone or another, and has no rule of its own."""
    for change in extra_hints(comparison):
        has_own_rule = has_rule(change.name) or is_protective(change.name)
        has_field_findings = isinstance(change, ColumnPropertyChanged) and fields_of(comparison, change)
        if not has_own_rule and not has_field_findings:
            yield hint_match(change, _phrases(change))


def _phrases(change: HintChange) -> str:
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
