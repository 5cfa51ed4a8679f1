from schemactl.review.retypes import Effect, conversion_rule
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.full_types import full_type

_refused = conversion_rule(Effect.REFUSED)


def find(comparison: Comparison) -> Matches:
    """Yield each column whose new type takes no value of the old one, and each that has no type any more."""
    yield from _refused(comparison)
    for change in comparison.of(ColumnRetyped):
        before = full_type(change.before)
        if before and full_type(change.after) is None:
            where = place(change.table, change.column)
            sentence = f"{where} loses its type `{before}`: the next load would infer one anew"
            yield Match.of(
                change, sentence, impact=Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.WARN)
            )


RULE = Rule(
    title="type conversion refused",
    impact=Effect.REFUSED.impact,
    direction=Direction.BOTH,
    why="dlt converts no value of the old type to the new one. A pipeline that still sends the old type fills a "
    "variant column such as `total__v_bool`, or fails where the contract freezes data types; stored values cannot be "
    "taken over. A column without a type is not created in a new destination at all, until data gives it one.",
    fix="Add a new column of the new type, and keep the old one until nobody reads it. Where the values can be "
    "converted by your own rule, do so in the pipeline before dlt sees them.",
    find=find,
)
