from schemactl.review.contracts import Shift, shift_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="contract tightened",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A pipeline whose data brings something new was let through, and now is not: under `freeze` its load fails "
    "with `DataValidationError`, under `discard_row` and `discard_value` dlt drops rows or values without a word.",
    fix="Let every pipeline run against the new contract first, for example with `schemactl infer --check` on its "
    "data. Add what is still missing to the schema before it is frozen.",
    find=shift_rule(Shift.is_tightened),
)
