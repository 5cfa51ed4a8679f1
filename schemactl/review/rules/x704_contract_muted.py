"""X704: what failed loudly is dropped in silence now."""

from schemactl.review.contracts import shifts
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each entity that goes from ``freeze`` to ``discard_row`` or ``discard_value``."""
    for shift in shifts(comparison):
        if shift.is_muted:
            yield shift.match


RULE = Rule(
    id="X704",
    title="contract muted",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.LOOSENS,
    why="Under `freeze` a load with unexpected data fails and somebody looks at it. Under `discard_row` and "
    "`discard_value` dlt drops the row or the value, and neither logs nor stores what it dropped.",
    fix="Keep `freeze`, and repair the source or extend the schema. Where loads must not fail, let the contract "
    "evolve, and review the schema that comes out.",
    find=find,
)
