"""D308: more digits after the point, and fewer before it."""

from schemactl.review.retypes import is_finer, keeps_integer_digits, resized
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that got digits after the point, and lost some before it."""
    for retype in resized(comparison):
        before, after = retype.before, retype.after
        if is_finer(before, after) and not keeps_integer_digits(before, after):
            whole = after.integer_digits
            sentence = f"{retype.where} changes from `{before}` to `{after}`: only {whole} digits before the point"
            yield retype.match(sentence, question="type")


RULE = Rule(
    id="D308",
    title="scale increased at the cost of integer digits",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="Large numbers do not fit any more: a `decimal(10, 2)` holds 99999999.99, a `decimal(10, 4)` only 999999.9999."
    " dlt checks no value against precision and scale, so the load fails: in the destination, or while dlt writes "
    "a Parquet file.",
    fix="Raise the precision by as many digits as the scale. Or count the numbers that are too large by giving the "
    "data (`--data`).",
    find=find,
)
