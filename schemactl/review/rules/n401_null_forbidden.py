from schemactl.review.comparison import is_stored
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place
from schemactl.schema.changes import NullabilityChanged


def find(comparison: Comparison) -> Matches:
    """Yield each column that may not be null any more; one without a data type has no rows yet (rule C211)."""
    for change in comparison.of(NullabilityChanged):
        if not change.is_restated and change.after is False:
            column = comparison.base_column(change.table, change.column)
            has_rows = column is None or is_stored(column)
            yield Match.of(
                change,
                f"{place(change.table, change.column)} must not be null any more",
                impact=None if has_rows else BREAKS_NOBODY,
                question="null" if has_rows else None,
            )


RULE = Rule(
    title="null forbidden",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="A pipeline that sends a null fails with `CannotCoerceNullException`. One that leaves the key out is not "
    "checked by dlt, which never alters the column of a destination: nulls go on arriving there until it is migrated. "
    "Rows with nulls that are stored already stand in the way of that.",
    fix="Count the nulls by giving the data (`--data`), fill them, and have every pipeline send a value. Forbid nulls "
    "only then.",
    find=find,
)
