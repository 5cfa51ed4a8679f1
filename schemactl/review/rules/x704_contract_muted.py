from schemactl.review.contracts import Shift, shift_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="contract muted",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.LOOSENS,
    why="Under `freeze` a load with unexpected data fails and somebody looks at it. Under `discard_row` and "
    "`discard_value` dlt drops the row or the value, and neither logs nor stores what it dropped.",
    fix="Keep `freeze`, and repair the source or extend the schema. Where loads must not fail, let the contract "
    "evolve, and review the schema that comes out.",
    find=shift_rule(Shift.is_muted),
)
