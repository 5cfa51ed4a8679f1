from schemactl.review.hints import extra_hints, hint_match, is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import quote_value
from schemactl.schema.personal import is_protective


def find(comparison: Comparison) -> Matches:
    """Yield each table and column that gets such a mark; of new ones it is reported with them."""
    for change in extra_hints(comparison):
        if is_protective(change.name) and is_unset(change.before):
            yield hint_match(change, f"is marked `{change.name}` now: {quote_value(change.after)}")


RULE = Rule(
    title="classification added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="Masking and access rules go by such hints (names with pii, classification, sensitiv, gdpr or confidential): "
    "readers may see masked values or none from now on. Values that are stored already, in copies and backups too, "
    "were treated like any other until today.",
    fix="Inform the readers, and treat the stored values as the mark asks: mask them, or restrict who may read them.",
    find=find,
)
