from schemactl.review.keys import reference_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="reference changed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="Joins that follow the reference find other rows, or several where there was one, so sums come out too high. "
    "dlt checks no reference, and replaces the old one for the same table without a word.",
    fix="Add the new reference by columns of its own and keep the old one for a while. Look for orphans in the stored "
    "rows.",
    find=reference_rule(
        lambda change: None not in (change.before, change.after),
        "a reference of {table} changes from {before} to {after}",
    ),
)
