from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import BREAKS_NOBODY, Direction, Rule

RULE = Rule(
    title="partition changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The same rows, stored in other parts: queries may become faster or slower and cost more. dlt partitions only "
    "tables that it creates; one that exists keeps its partitions.",
    fix="Load the table anew where the partitions matter. Iceberg can change them for new rows alone.",
    find=hint_rule(
        "partition",
        says=lambda change: "no longer partitions the table" if is_unset(change.after) else "partitions the table now",
    ),
)
