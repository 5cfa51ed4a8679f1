from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import BREAKS_NOBODY, Direction, Rule

RULE = Rule(
    title="cluster or sort changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The same rows, stored in another order: queries may become faster or slower. dlt clusters and sorts only "
    "tables that it creates.",
    fix="Load the table anew where the order matters, or alter it in the destination.",
    find=hint_rule(
        "cluster",
        "sort",
        says=lambda change: (
            f"no longer {change.name}s the table" if is_unset(change.after) else f"{change.name}s the table now"
        ),
    ),
)
