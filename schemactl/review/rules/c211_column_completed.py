from schemactl.review.added_removed import BACKFILL
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import plain
from schemactl.schema.changes import ColumnRetyped


def find(comparison: Comparison) -> Matches:
    """Yield each column that got its first data type; dlt adds it to the table now, so it may be required."""
    for change in comparison.of(ColumnRetyped):
        data_type = plain(change.after.get("data_type"))
        if plain(change.before.get("data_type")) is not None or data_type is None:
            continue
        impact = _impact(comparison, change)
        required = ", and may not be null" if impact else ""
        yield Match.of(
            change,
            f"column `{change.column}` of `{change.table}` has a data type now, `{data_type}`{required}",
            impact=impact,
        )


def _impact(comparison: Comparison, change: ColumnRetyped) -> Impact | None:
    """Return what a required column does to a table that has rows."""
    column = comparison.head.schema.tables[change.table].columns[change.column]
    if column.nullable or not comparison.has_stored_rows(change.table):
        return None
    data = Severity.ERROR if column.properties.get(BACKFILL) is None else Severity.WARN
    return Impact(readers=Severity.INFO, writers=Severity.ERROR, data=data)


RULE = Rule(
    title="column completed",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="dlt does not make a column without a data type at the destination. With one it does, with the next load: "
    "stored rows get nulls, and where the column may not be null most databases refuse it on a table with rows.",
    fix="Nothing has to be done for a nullable column. Make a required one nullable first, and forbid nulls when all "
    "rows have a value.",
    find=find,
)
