from schemactl.review.retypes import Effect, conversion_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="type conversion depends on the values",
    impact=Effect.DEPENDS.impact,
    direction=Direction.UNDETERMINED,
    why="dlt converts the values that fit the new type. Each one that does not fit goes into a variant column such as "
    "`total__v_double` at the next load, or fails the load where the contract freezes data types; a number that is "
    "larger than the new type fails in the destination. Rows that are stored already cannot be converted while one of "
    "them does not fit. Readers are broken where the new type is of another family (numbers, times, texts, bools, "
    "JSON, binaries): engines refuse most queries then, whatever the values.",
    fix="Count the values that do not fit by giving the data (`--data`). If there are any, repair them at the source, "
    "or add a new column of the new type, fill it where the value fits, and remove the old one later.",
    find=conversion_rule(Effect.DEPENDS),
)
