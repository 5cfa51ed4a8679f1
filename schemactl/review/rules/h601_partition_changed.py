"""H601: other columns partition a table."""

from schemactl.review.hints import column_hints, hint_match, is_unset
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each column that partitions its table now, or no longer."""
    for change in column_hints(comparison, "partition"):
        gone = is_unset(change.after)
        yield hint_match(change, "no longer partitions the table" if gone else "partitions the table now")


RULE = Rule(
    id="H601",
    title="partition changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The same rows, stored in other parts: queries may become faster or slower and cost more. dlt partitions only "
    "tables that it creates; one that exists keeps its partitions.",
    fix="Load the table anew where the partitions matter. Iceberg can change them for new rows alone.",
    find=find,
)
