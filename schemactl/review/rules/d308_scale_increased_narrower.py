from schemactl.review.retypes import Effect, size_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="scale increased at the cost of integer digits",
    impact=Effect.DEPENDS.impact,
    direction=Direction.BOTH,
    why="Large numbers do not fit any more: a `decimal(10, 2)` holds 99999999.99, a `decimal(10, 4)` only 999999.9999."
    " dlt checks no value against precision and scale, so the load fails: in the destination, or while dlt writes "
    "a Parquet file.",
    fix="Raise the precision by as many digits as the scale. Or count the numbers that are too large by giving the "
    "data (`--data`).",
    find=size_rule(
        Effect.DEPENDS, "changes from `{before}` to `{after}`: only {after.integer_digits} digits before the point"
    ),
)
