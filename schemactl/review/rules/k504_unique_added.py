"""K504: the values of a column must be unique now."""

from schemactl.review.hints import column_hints, hint_match, is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that became unique."""
    for change in column_hints(comparison, "unique"):
        if is_unset(change.before):
            yield hint_match(change, "must be unique now")


RULE = Rule(
    id="K504",
    title="unique added",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt itself checks nothing. A new table gets a `UNIQUE` constraint where the destination makes indexes "
    "(Postgres does, DuckDB only when asked to), and loads with duplicates fail there; tables that exist are left as "
    "they are.",
    fix="Look for duplicates in the stored rows before the constraint is made, and remove them in the pipeline, for "
    "example by merging on a primary key.",
    find=find,
)
