from typing import Final

from schemactl.review.hints import STABILITY, extra_hints, hint_match
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.stability import Stability, stability

_PROMISES: Final = (Stability.DRAFT, Stability.BETA, Stability.STABLE)


def find(comparison: Comparison) -> Matches:
    """Yield each table and column that is less stable now; what is not stated is ``stable``."""
    for change in extra_hints(comparison, STABILITY):
        before, after = stability(change.before or None), stability(change.after or None)
        if _PROMISES.index(after) < _PROMISES.index(before):
            effect = (
                "from then on its changes break nobody" if after is Stability.DRAFT else "readers are promised less"
            )
            yield hint_match(change, f"goes from `{before}` to `{after}`: {effect}")


RULE = Rule(
    title="stability lowered",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.LOOSENS,
    why="`x-stability` decides how bad later changes are: under `draft` none fails a review, under `beta` none does "
    "for readers alone. Lowering it takes back what readers and pipelines were promised, and removes every gate from "
    "the next review on.",
    fix="Keep the stability of what people use. Where it has to be lowered, agree with those who read the table, and "
    "silence this finding with the reason.",
    find=find,
    is_gate=True,
)
