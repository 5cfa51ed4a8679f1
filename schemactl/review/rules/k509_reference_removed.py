from schemactl.review.keys import reference_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="reference removed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Tools that draw or generate joins from the schema no longer know this one. dlt itself loads as before; note "
    "that it never removes a reference on its own, so somebody took it out.",
    fix="Keep the reference while the columns still mean the same. Otherwise inform those who join the two tables.",
    find=reference_rule(lambda change: change.after is None, "{table} has lost a reference: {before}"),
)
