from schemactl.review.added_removed import Removal, removed_columns
from schemactl.review.announcements import column_last_day
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that was removed after the end of its notice."""
    for change in removed_columns(comparison, Removal.ANNOUNCED):
        name = change.column.name
        until = column_last_day(comparison.base_table(change.table), name)
        yield Match.of(change, f"column `{name}` is gone from `{change.table}`, as announced: its last day was {until}")


RULE = Rule(
    title="announced column removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="The base schema names the column in the table's `x-removed-columns` with a last day, and that day is over. "
    "Readers were warned; the values are lost all the same once the column is dropped.",
    fix="Make sure that nobody needs the values. Keep the name in `x-removed-columns`, so that it is not used again.",
    find=find,
)
