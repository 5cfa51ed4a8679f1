"""D306: fewer bits, digits or characters."""

from schemactl.review.retypes import grows, resized
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column whose values must be shorter now."""
    for retype in resized(comparison):
        if grows(retype.before, retype.after) is False:
            sentence = f"{retype.where} shrinks from {retype.before.size} to {retype.after.size}"
            yield retype.match(sentence, question="type")


RULE = Rule(
    id="D306",
    title="size decreased",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="Longer values do not fit any more. dlt checks no value against a size and makes no variant column: the load "
    "fails, in the destination or while dlt writes a Parquet file, or the destination ignores the size (DuckDB "
    "does so for texts). Stored rows cannot be taken over while one of them is too long.",
    fix="Count the values that are too long by giving the data (`--data`). Shorten them at the source first, or keep "
    "the old size.",
    find=find,
)
