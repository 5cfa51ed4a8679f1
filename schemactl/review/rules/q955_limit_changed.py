from schemactl.review.hints import LIMITS, canonical, extra_hints, limit_match
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.schema.changes import ColumnPropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each column with another limit of that kind."""
    for change in extra_hints(comparison):
        name = LIMITS.get(canonical(change.name))
        if name is not None and isinstance(change, ColumnPropertyChanged):
            yield limit_match(change, name)


RULE = Rule(
    title="length, exclusive bound, step or number of items changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-min-length`, `x-max-length`, `x-exclusive-minimum`, `x-exclusive-maximum`, `x-multiple-of`, `x-min-items`, "
    "`x-max-items` and `x-unique-items` are JSON Schema's keywords for what values may be. dlt keeps them and checks "
    "nothing by them. With narrower ones pipelines still send what is excluded; with wider ones readers meet values "
    "they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, inform the readers first.",
    find=find,
)
