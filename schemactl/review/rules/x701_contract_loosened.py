from schemactl.review.contracts import Shift, shift_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="contract loosened",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Loads may now change what the contract kept as it was: new tables, new columns or variants come without a "
    "review, and readers that count on a fixed form meet them without notice.",
    fix="Loosen only what has to change, for example `columns` of one table, and freeze it again afterwards.",
    find=shift_rule(Shift.is_loosened),
)
