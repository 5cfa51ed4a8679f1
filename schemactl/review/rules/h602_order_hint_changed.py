"""H602: other columns cluster or sort a table."""

from schemactl.review.hints import column_hints, hint_match, is_unset
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each column that clusters or sorts its table now, or no longer."""
    for change in column_hints(comparison, "cluster", "sort"):
        gone = is_unset(change.after)
        yield hint_match(change, f"no longer {change.name}s the table" if gone else f"{change.name}s the table now")


RULE = Rule(
    id="H602",
    title="cluster or sort changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The same rows, stored in another order: queries may become faster or slower. dlt clusters and sorts only "
    "tables that it creates.",
    fix="Load the table anew where the order matters, or alter it in the destination.",
    find=find,
)
