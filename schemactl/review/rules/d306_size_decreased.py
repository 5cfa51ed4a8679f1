from schemactl.review.retypes import Effect, size_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="size decreased",
    impact=Effect.SHRINKS.impact,
    direction=Direction.TIGHTENS,
    why="Longer values do not fit any more. dlt checks no value against a size and makes no variant column: the load "
    "fails, in the destination or while dlt writes a Parquet file, or the destination ignores the size (DuckDB "
    "does so for texts). Stored rows cannot be taken over while one of them is too long.",
    fix="Count the values that are too long by giving the data (`--data`). Shorten them at the source first, or keep "
    "the old size.",
    find=size_rule(Effect.SHRINKS, "shrinks from {before.size} to {after.size}"),
)
