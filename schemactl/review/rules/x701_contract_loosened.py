"""X701: a contract lets more through."""

from schemactl.review.contracts import shifts
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each entity whose contract is less strict, wherever it is inherited from."""
    for shift in shifts(comparison):
        if shift.is_loosened:
            yield shift.match


RULE = Rule(
    id="X701",
    title="contract loosened",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Loads may now change what the contract kept as it was: new tables, new columns or variants come without a "
    "review, and readers that count on a fixed form meet them without notice.",
    fix="Loosen only what has to change, for example `columns` of one table, and freeze it again afterwards.",
    find=find,
)
