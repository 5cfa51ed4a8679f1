from schemactl.review.retypes import Effect, size_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="scale increased",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that round to the old scale, or compare texts such as `1.50`, see others. dlt "
    "never alters a column that a destination has, and Iceberg knows no way to change a scale in place.",
    fix="Inform the readers, and migrate the column in the destinations that have it; in Iceberg by a new column.",
    find=size_rule(Effect.WIDENED, "changes from `{before}` to `{after}`: more digits after the point"),
)
