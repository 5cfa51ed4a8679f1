from schemactl.review.comparison import is_stored
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place
from schemactl.schema.changes import NullabilityChanged


def find(comparison: Comparison) -> Matches:
    """Yield each column that may be null, and might not before; nobody reads one that has no data type yet."""
    for change in comparison.of(NullabilityChanged):
        if not change.is_restated and change.before is False:
            column = comparison.base_column(change.table, change.column)
            yield Match.of(
                change,
                f"{place(change.table, change.column)} may be null now",
                impact=None if column is None or is_stored(column) else BREAKS_NOBODY,
            )


RULE = Rule(
    title="null allowed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers relied on a value in every row: joins drop rows with null, `count(column)` and averages change, and "
    "typed clients fail on the first null. dlt does not drop the `NOT NULL` of a destination's column, so loads of "
    "nulls fail there until it is migrated.",
    fix="Keep the column not nullable and have the pipeline send a value that says `unknown`. Or inform the readers, "
    "let them handle nulls, and only then allow them.",
    find=find,
)
