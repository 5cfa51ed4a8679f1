"""X702: a contract lets less through."""

from schemactl.review.contracts import shifts
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each entity whose contract is stricter, wherever it is inherited from."""
    for shift in shifts(comparison):
        if shift.is_tightened:
            yield shift.match


RULE = Rule(
    id="X702",
    title="contract tightened",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A pipeline whose data brings something new was let through, and now is not: under `freeze` its load fails "
    "with `DataValidationError`, under `discard_row` and `discard_value` dlt drops rows or values without a word.",
    fix="Let every pipeline run against the new contract first, for example with `schemactl infer --check` on its "
    "data. Add what is still missing to the schema before it is frozen.",
    find=find,
)
