"""C212: a column is described in other words."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import plain
from schemactl.schema.changes import ColumnPropertyChanged


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column with another description."""
    for change in comparison.of(ColumnPropertyChanged):
        before, after = plain(change.before), plain(change.after)
        if change.name == "description" and before != after:
            yield Match(
                sentence=f"the description of column `{change.column}` of `{change.table}` changed",
                table=change.table,
                column=change.column,
                keys=("tables", change.table, "columns", change.column, "description"),
                before=before,
                after=after,
            )


RULE = Rule(
    id="C212",
    title="column description changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.NONE,
    why="The description is for people; it is part of dlt's hash, so the version counts on. A new description may "
    "report that the meaning of the values is another, which no rule can see.",
    fix="Nothing has to be done, if the values still mean the same. If they do not, use a new column.",
    find=find,
)
