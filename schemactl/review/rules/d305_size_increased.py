"""D305: more bits, digits or characters."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.retypes import grows, resized
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column whose values may be longer now."""
    for retype in resized(comparison):
        if grows(retype.before, retype.after):
            yield retype.match(f"{retype.where} grows from {retype.before.size} to {retype.after.size}")


RULE = Rule(
    id="D305",
    title="size increased",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that reserved room for the old size may meet longer values. dlt checks no "
    "value against a size: it creates new columns by it, and never alters those that a destination has.",
    fix="Nothing has to be done for new destinations. Alter the column in those that have it, or longer values are "
    "refused there.",
    find=find,
)
