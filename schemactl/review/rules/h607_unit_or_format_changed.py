from schemactl.review.hints import UNITS, column_hints, hint_match, is_unset
from schemactl.review.rule import BREAKS_ALL, BREAKS_NOBODY, Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import quote_value
from schemactl.schema.changes import ColumnRetyped


def find(comparison: Comparison) -> Matches:
    """Yield each column with another unit, format, currency, encoding or time zone of its values.

    One that is gone with the type that it was stated for is reported by the rule of the type.
    """
    retyped = {
        (change.table, change.column)
        for change in comparison.of(ColumnRetyped)
        if change.before.get("data_type") != change.after.get("data_type")
    }
    for change in column_hints(comparison, *UNITS):
        before, after = quote_value(change.before), quote_value(change.after)
        if is_unset(change.before):
            yield hint_match(change, f"states `{change.name}` now: {after}", BREAKS_NOBODY)
        elif not is_unset(change.after):
            yield hint_match(
                change, f"changes `{change.name}` from {before} to {after}: its values mean something else"
            )
        elif (change.table, change.column) not in retyped:
            yield hint_match(
                change,
                f"states `{change.name}` no longer; it was {before}",
                Impact(readers=Severity.WARN, writers=Severity.INFO),
            )


RULE = Rule(
    title="unit or format changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Readers compute with the unit: a sum over seconds and milliseconds is no sum. Pipelines that do not know of "
    "the change send the old unit, and stored rows keep it; no engine and no load converts them. The hints are "
    "`x-unit`, `x-format`, `x-currency`, `x-encoding` and `x-timezone`.",
    fix="Add a column of another name with the new unit (`duration_ms` beside `duration`), let all pipelines fill "
    "both, and remove the old one after a notice (rule C205).",
    find=find,
)
