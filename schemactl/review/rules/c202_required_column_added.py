from schemactl.review.added_removed import Addition, added_columns
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import typed


def find(comparison: Comparison) -> Matches:
    """Yield each added column that may not be null, in a table that was there."""
    for change in added_columns(comparison, Addition.REQUIRED):
        yield Match.of(change, f"column {typed(change.column)} is new in `{change.table}`, and may not be null")


RULE = Rule(
    title="required column added",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="The rows that are stored have no value for the column. dlt adds it with `NOT NULL`, which most databases "
    "refuse on a table that has rows: the load fails. Pipelines that do not send the column fail as well.",
    fix="Make the column nullable. Fill the stored rows, let all pipelines send it, and forbid nulls after that. Or "
    "state `x-backfill: VALUE` on the column for what the stored rows shall get (rule C203).",
    find=find,
)
