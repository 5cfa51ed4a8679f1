"""C212: a column is described in other words."""

from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import plain
from schemactl.schema.changes import ColumnPropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each column with another description."""
    for change in comparison.of(ColumnPropertyChanged):
        before, after = plain(change.before), plain(change.after)
        if change.name == "description" and before != after:
            yield Match.of(change, f"the description of column `{change.column}` of `{change.table}` changed")


RULE = Rule(
    id="C212",
    title="column description changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The description is for people; it is part of dlt's hash, so the version counts on. A new description may "
    "report that the meaning of the values is another, which no rule can see.",
    fix="Nothing has to be done, if the values still mean the same. If they do not, use a new column.",
    find=find,
)
