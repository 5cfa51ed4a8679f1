from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="unique removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that join by the column get several rows where they got one, so sums come out too high. A destination "
    "that has the constraint keeps it, and refuses duplicates until somebody drops it.",
    fix="Keep the hint while anybody joins by the column. Otherwise inform the readers, and drop the constraint in the "
    "destination.",
    find=hint_rule("unique", says=lambda change: "need not be unique any more" if is_unset(change.after) else None),
)
