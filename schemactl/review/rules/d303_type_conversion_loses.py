"""D303: another data type that takes over every value and keeps only a part of it."""

from schemactl.review.retypes import converted
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.schema.conversions import Conversion


def find(comparison: Comparison) -> Matches:
    """Yield each column whose values lose digits or their meaning in the new type."""
    for retype, lost in converted(comparison, Conversion.LOSES):
        sentence = f"{retype.where} changes from `{retype.before}` to `{retype.after}`: {lost}"
        yield retype.match(sentence, impact=retype.impact(RULE.impact))


RULE = Rule(
    id="D303",
    title="type conversion loses information",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt converts such values silently: there is no error, no variant column, and no way back to the value that "
    "was loaded. Values that are stored already lose the same when the column is converted. Readers are broken where "
    "the new type is of another family (numbers, times, texts, bools, JSON, binaries): engines refuse most queries "
    "then.",
    fix="Add a new column of the new type beside the old one. Where integers are points in time, state `x-unit: "
    "epoch_s` on the column if they count seconds since 1970; the change is then rule D302.",
    find=find,
)
