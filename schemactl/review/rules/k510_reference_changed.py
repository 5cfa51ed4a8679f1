"""K510: a reference leads elsewhere, or promises another number of rows."""

from schemactl.review.keys import reference_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each reference with another target, other columns or another cardinality."""
    for change in reference_changes(comparison):
        if change.before and change.after:
            yield change.match(f"a reference of {place(change.table)} changes from {change.before} to {change.after}")


RULE = Rule(
    id="K510",
    title="reference changed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="Joins that follow the reference find other rows, or several where there was one, so sums come out too high. "
    "dlt checks no reference, and replaces the old one for the same table without a word.",
    fix="Add the new reference by columns of its own and keep the old one for a while. Look for orphans in the stored "
    "rows.",
    find=find,
)
