from schemactl.review.added_removed import Removal, removed_tables
from schemactl.review.announcements import table_last_day
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each table that was removed after the end of its notice."""
    for change in removed_tables(comparison, Removal.ANNOUNCED):
        name = change.table.name
        last_day = table_last_day(comparison.base.schema, name)
        yield Match.of(change, f"table `{name}` is gone, as announced: its last day was {last_day}")


RULE = Rule(
    title="announced table removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="The base schema names the table, or the one it is nested in, in `x-removed-tables` with a last day, and that "
    "day is over. Readers were warned; the rows are lost all the same once the table is dropped.",
    fix="Make sure that nobody needs the rows. Keep the name in `x-removed-tables`, so that it is not used again.",
    find=find,
)
