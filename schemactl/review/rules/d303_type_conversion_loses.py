from schemactl.review.retypes import Effect, conversion_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="type conversion loses information",
    impact=Effect.LOSES.impact,
    direction=Direction.BOTH,
    why="dlt converts such values silently: there is no error, no variant column, and no way back to the value that "
    "was loaded. Values that are stored already lose the same when the column is converted. Readers are broken where "
    "the new type is of another family (numbers, times, texts, bools, JSON, binaries): engines refuse most queries "
    "then.",
    fix="Add a new column of the new type beside the old one. Where integers are points in time, state `x-unit: "
    "epoch_s` on the column if they count seconds since 1970; the change is then rule D302.",
    find=conversion_rule(Effect.LOSES),
)
