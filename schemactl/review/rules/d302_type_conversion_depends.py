"""D302: another data type that takes over only some of the values."""

from schemactl.review.retypes import converted
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.schema.conversions import Conversion


def find(comparison: Comparison) -> Matches:
    """Yield each column whose new type refuses some values of the old one, or has no room for them."""
    for retype, lost in converted(comparison, Conversion.DEPENDS):
        sentence = f"{retype.where} changes from `{retype.before}` to `{retype.after}`: {lost}"
        yield retype.match(sentence, impact=retype.impact(RULE.impact), question="type")


RULE = Rule(
    id="D302",
    title="type conversion depends on the values",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="dlt converts the values that fit the new type. Each one that does not fit goes into a variant column such as "
    "`total__v_double` at the next load, or fails the load where the contract freezes data types; a number that is "
    "larger than the new type fails in the destination. Rows that are stored already cannot be converted while one of "
    "them does not fit. Readers are broken where the new type is of another family (numbers, times, texts, bools, "
    "JSON, binaries): engines refuse most queries then, whatever the values.",
    fix="Count the values that do not fit by giving the data (`--data`). If there are any, repair them at the source, "
    "or add a new column of the new type, fill it where the value fits, and remove the old one later.",
    find=find,
)
