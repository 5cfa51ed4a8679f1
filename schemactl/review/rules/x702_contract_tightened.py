"""X702: a contract lets less through."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.contracts import shifts
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity


def find(comparison: Comparison) -> Iterator[Match]:
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
