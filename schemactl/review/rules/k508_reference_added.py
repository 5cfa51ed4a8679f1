"""K508: a table refers to another one now."""

from schemactl.review.keys import reference_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each new reference."""
    for change in reference_changes(comparison):
        if change.before is None:
            yield change.match(f"{place(change.table)} has a new reference: {change.after}")


RULE = Rule(
    id="K508",
    title="reference added",
    impact=Impact(readers=Severity.INFO, writers=Severity.WARN, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt records references and checks none: neither that the other table exists nor that its rows do. Readers "
    "take them for true, so rows without a partner (orphans) fall out of their joins.",
    fix="Look for orphans in the stored rows, and load the table that is referred to first.",
    find=find,
)
