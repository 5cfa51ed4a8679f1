"""D305: more bits, digits or characters."""

from schemactl.review.retypes import grows, resized
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each column whose values may be longer now."""
    for retype in resized(comparison):
        if grows(retype.before, retype.after):
            yield retype.match(f"{retype.where} grows from {retype.before.size} to {retype.after.size}")


RULE = Rule(
    id="D305",
    title="size increased",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that reserved room for the old size may meet longer values. dlt checks no "
    "value against a size: it creates new columns by it, and never alters those that a destination has.",
    fix="Nothing has to be done for new destinations. Alter the column in those that have it, or longer values are "
    "refused there.",
    find=find,
)
