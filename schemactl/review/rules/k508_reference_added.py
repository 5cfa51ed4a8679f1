from schemactl.review.keys import reference_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="reference added",
    impact=Impact(readers=Severity.INFO, writers=Severity.WARN, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt records references and checks none: neither that the other table exists nor that its rows do. Readers "
    "take them for true, so rows without a partner (orphans) fall out of their joins.",
    fix="Look for orphans in the stored rows, and load the table that is referred to first.",
    find=reference_rule(lambda change: change.before is None, "{table} has a new reference: {after}"),
)
