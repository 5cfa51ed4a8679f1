from schemactl.review.retypes import Effect, resized
from schemactl.review.rule import Comparison, Direction, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each timestamp with another time zone property; absent means true, as in dlt."""
    for retype in resized(comparison):
        if retype.before.timezone == retype.after.timezone:
            continue
        if retype.after.timezone:
            yield retype.match("is a point in time now; before it was local, without a time zone")
        else:
            yield retype.match("has no time zone any more; before it was a point in time")


RULE = Rule(
    title="time zone changed",
    impact=Effect.REZONED.impact,
    direction=Direction.BOTH,
    why="Comparisons and conversions in queries mean something else: a column with a time zone is shown in the "
    "session's zone, one without is not. dlt writes UTC in both cases, and leaves the column in the destination as it "
    "is, so old and new destinations disagree.",
    fix="Add a new column, or migrate the column in a session whose time zone is UTC, and inform the readers.",
    find=find,
)
