"""C215: a field is gone from inside a column that keeps objects or lists."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.nested_fields import field_changes, told_type
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each field that is gone; those inside of it are not told as well."""
    for found in field_changes(comparison):
        if found.before is not None and found.after is None:
            yield found.match(f"field {found.where} (`{told_type(found.before)}`) is gone")


RULE = Rule(
    id="C215",
    title="field removed inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A query that selects the field fails once it is dropped, and its values are lost. No load and no step of a "
    "migration drops a field, so until somebody does, it stays at the destination, and is null in new rows.",
    fix="Keep the field in `x-spark-type` until nobody reads it any more.",
    find=find,
)
