from schemactl.review.retypes import Effect, size_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="size increased",
    impact=Effect.GROWS.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that reserved room for the old size may meet longer values. dlt checks no "
    "value against a size: it creates new columns by it, and never alters those that a destination has.",
    fix="Nothing has to be done for new destinations. Alter the column in those that have it, or longer values are "
    "refused there.",
    find=size_rule(Effect.GROWS, "grows from {before.size} to {after.size}"),
)
