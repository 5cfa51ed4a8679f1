from schemactl.review.added_removed import Addition, added_columns
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import typed


def find(comparison: Comparison) -> Matches:
    """Yield each added column that is nullable, has no type yet, or stands in a table without rows."""
    for change in added_columns(comparison, Addition.PLAIN):
        column = change.column
        waits = "" if column.is_complete else ", without a data type so far"
        yield Match.of(change, f"column {typed(column)} is new in `{change.table}`{waits}")


RULE = Rule(
    title="column added",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="The rows that are stored get nulls, and pipelines that do not know the column leave it null. dlt adds it "
    "with the next load; a column without a data type waits until there is data.",
    fix="Nothing has to be done. Queries with `SELECT *` get one column more.",
    find=find,
)
