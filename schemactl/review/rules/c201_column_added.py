"""C201: a column is new that rows may do without."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.added_removed import Addition, added_columns
from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import typed


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each added column that is nullable, has no type yet, or stands in a table without rows."""
    for change in added_columns(comparison, Addition.PLAIN):
        column = change.column
        waits = "" if column.is_complete else ", without a data type so far"
        yield Match(
            sentence=f"column {typed(column)} is new in `{change.table}`{waits}",
            table=change.table,
            column=column.name,
            after=column.to_dict(),
        )


RULE = Rule(
    id="C201",
    title="column added",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="The rows that are stored get nulls, and pipelines that do not know the column leave it null. dlt adds it "
    "with the next load; a column without a data type waits until there is data.",
    fix="Nothing has to be done. Queries with `SELECT *` get one column more.",
    find=find,
)
