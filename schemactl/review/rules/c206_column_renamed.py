"""C206: a column has another name."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import ColumnRenamed


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each renamed column."""
    for change in comparison.of(ColumnRenamed):
        verb = "is" if change.is_stated else "seems to be"
        yield Match(
            sentence=f"column `{change.before}` of `{change.table}` {verb} called `{change.after}` now",
            table=change.table,
            column=change.after,
            keys=("tables", change.table, "columns", change.after),
            before=change.before,
            after=change.after,
        )


RULE = Rule(
    id="C206",
    title="column renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt knows no renames: it adds a column with the new name, null in all stored rows, and leaves the old one, "
    "null in all new rows. Queries on either name see half of the values, and pipelines that still send the old name "
    "fill the old column.",
    fix="Rename the column at the destination before the next load, and give readers a view or a generated column "
    "with the old name. State `x-renamed-from: OLD` on the column, so that nobody has to guess; where it is a new "
    "column, `x-renamed-from: []`.",
    find=find,
)
