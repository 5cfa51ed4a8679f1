"""K505: the values of a column need not be unique any more."""

from schemactl.review.hints import column_hints, hint_match, is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that was unique."""
    for change in column_hints(comparison, "unique"):
        if is_unset(change.after):
            yield hint_match(change, "need not be unique any more")


RULE = Rule(
    id="K505",
    title="unique removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that join by the column get several rows where they got one, so sums come out too high. A destination "
    "that has the constraint keeps it, and refuses duplicates until somebody drops it.",
    fix="Keep the hint while anybody joins by the column. Otherwise inform the readers, and drop the constraint in the "
    "destination.",
    find=find,
)
