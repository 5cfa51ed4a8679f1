"""T113: the columns of a table stand in another order."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import ColumnsReordered


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each table whose columns stand in another order."""
    for change in comparison.of(ColumnsReordered):
        yield Match(
            sentence=f"the columns of `{change.table}` stand in another order{_first_move(change)}",
            table=change.table,
            keys=("tables", change.table, "columns"),
            before=list(change.before),
            after=list(change.after),
        )


def _first_move(change: ColumnsReordered) -> str:
    places = zip(change.before, change.after, strict=False)
    moved = next(((place, new, old) for place, (old, new) in enumerate(places, 1) if old != new), None)
    return f": number {moved[0]} is `{moved[1]}`, no longer `{moved[2]}`" if moved else ""


RULE = Rule(
    id="T113",
    title="columns reordered",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.NONE,
    why="The order of columns is part of dlt's hash, so the version counts on. Queries that name their columns do "
    "not notice. A table that is there already keeps its order, a table that is made anew has the new one: then "
    "`SELECT *` and `INSERT ... SELECT *` by position meet other columns.",
    fix="Name the columns in queries that depend on their order.",
    find=find,
)
