from schemactl.review.added_removed import BACKFILL, Addition, added_columns
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import quote_value, typed


def find(comparison: Comparison) -> Matches:
    """Yield each added column that may not be null and states ``x-backfill``."""
    for change in added_columns(comparison, Addition.BACKFILLED):
        value = quote_value(change.column.properties[BACKFILL])
        yield Match.of(
            change,
            f"column {typed(change.column)} is new in `{change.table}` and may not be null; stored rows get {value}",
        )


RULE = Rule(
    title="required column added with a value for stored rows",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="The stored rows get the value that `x-backfill` states, so they are safe, if it is true of them. Pipelines "
    "that do not send the column fail. dlt itself does not know `x-backfill`: its own load adds the column with "
    "`NOT NULL`, which most databases refuse on a table that has rows.",
    fix="Add the column and fill the stored rows at the destination before the next load, and let all pipelines send "
    "it. Or make it nullable.",
    find=find,
)
