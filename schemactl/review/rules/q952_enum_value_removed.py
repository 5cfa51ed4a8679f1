from schemactl.review.hints import column_hints, hint_match, permitted_values, values, without
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is shorter, or new."""
    for change in column_hints(comparison, "x-enum"):
        before, after = permitted_values(change.before), permitted_values(change.after)
        if after is None:
            continue
        if before is None:
            yield hint_match(change, f"must be one of {values(after)} now; before it could have any value")
        elif removed := without(before, after):
            yield hint_match(change, f"must not be {values(removed)} any more")


RULE = Rule(
    title="permitted value removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="Pipelines still send the value, and stored rows may hold it. `x-enum` is the list of all values that a column "
    "may have; dlt keeps it and checks nothing by it, so a broken promise is noticed only by the readers.",
    fix="Stop sending the value first, and replace it in the stored rows. Shorten the list when none is left.",
    find=find,
)
