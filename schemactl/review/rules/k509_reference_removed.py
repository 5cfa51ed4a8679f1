"""K509: a table does not refer to another one any more."""

from schemactl.review.keys import reference_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each reference that is gone."""
    for change in reference_changes(comparison):
        if change.after is None:
            yield change.match(f"{place(change.table)} has lost a reference: {change.before}")


RULE = Rule(
    id="K509",
    title="reference removed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Tools that draw or generate joins from the schema no longer know this one. dlt itself loads as before; note "
    "that it never removes a reference on its own, so somebody took it out.",
    fix="Keep the reference while the columns still mean the same. Otherwise inform those who join the two tables.",
    find=find,
)
