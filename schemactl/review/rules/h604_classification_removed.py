from schemactl.review.hints import extra_hints, hint_match, is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import from_to, quote_value
from schemactl.schema.personal import is_protective


def find(comparison: Comparison) -> Matches:
    """Yield each hint that protected a table or column and does not any more, or states another class."""
    for change in extra_hints(comparison):
        if not is_protective(change.name) or is_unset(change.before):
            continue
        if is_unset(change.after):
            yield hint_match(change, f"is not marked `{change.name}` any more; it was {quote_value(change.before)}")
        else:
            phrase = f"changes `{change.name}` {from_to(change.before, change.after)}"
            yield hint_match(change, phrase)


RULE = Rule(
    title="classification removed or changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Masking, access rules and deletion requests rely on such hints (names with pii, classification, sensitiv, "
    "gdpr or confidential). Without them the column is treated like any other, while its values are the same.",
    fix="Keep the hint unless the person who answers for the data agrees. If it has another name now, state both for a "
    "while.",
    find=find,
)
