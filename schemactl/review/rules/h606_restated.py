from typing import Final

from schemactl.review.hints import hint_changes, hint_match, is_restated
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule
from schemactl.review.wording import place, quote_value
from schemactl.schema.changes import ColumnRetyped, NullabilityChanged
from schemactl.schema.full_types import full_type

_SAME: Final = "which means the same"


def find(comparison: Comparison) -> Matches:
    """Yield each property that is stated, left out or spelled anew without another meaning."""
    for retyped in comparison.of(ColumnRetyped):
        before, after = full_type(retyped.before), full_type(retyped.after)
        if before == after:
            where, phrase = place(retyped.table, retyped.column), f"`{after}`" if after else "no type"
            yield Match.of(retyped, f"{where} states its type in another way, and it is still {phrase}")
    for change in comparison.of(NullabilityChanged):
        if change.is_restated:
            phrase = (
                f"states `nullable` as {quote_value(change.after)} instead of {quote_value(change.before)}, {_SAME}"
            )
            yield Match.of(change, f"{place(change.table, change.column)} {phrase}")
    for hint in hint_changes(comparison):
        if is_restated(hint) and hint.name != "description":
            phrase = f"states `{hint.name}` as {quote_value(hint.after)} instead of {quote_value(hint.before)}, {_SAME}"
            yield hint_match(hint, phrase)


RULE = Rule(
    title="restated",
    impact=Impact(),
    direction=Direction.NONE,
    why="A property that is absent, null or its default means the same to dlt: `nullable: true`, `unique: false`, "
    "`precision: 64` of a bigint. The hash is made of what is stated, so it changes all the same.",
    fix="Nothing has to be done.",
    find=find,
    is_cosmetic=True,
)
