from schemactl.review.hints import BOUNDS, column_hints, limit_match
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column with another ``x-minimum``, ``x-maximum`` or ``x-pattern``."""
    for change in column_hints(comparison, *BOUNDS):
        yield limit_match(change, BOUNDS[change.name])


RULE = Rule(
    title="range or pattern changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-minimum` and `x-maximum` are the least and the greatest value that a column may have, both permitted; "
    "`x-pattern` is a regular expression that is found in its texts. dlt keeps them and checks nothing by them. With "
    "narrower ones pipelines still send what is excluded; with wider ones readers meet values they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, inform the readers first.",
    find=find,
)
