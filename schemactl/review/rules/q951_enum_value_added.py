from dataclasses import replace

from schemactl.review.hints import column_hints, hint_match, permitted_values, values, without
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is longer, or gone."""
    for change in column_hints(comparison, "x-enum"):
        before, after = permitted_values(change.before), permitted_values(change.after)
        if before is None:
            continue
        if after is None:
            yield hint_match(change, f"may have any value now; it was one of {values(before)}")
        elif added := without(after, before):
            is_replaced = bool(without(before, after))
            impact = replace(RULE.impact, readers=Severity.ERROR) if is_replaced else None
            yield hint_match(change, f"may be {values(added)} now", impact)


RULE = Rule(
    title="permitted value added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that distinguish the values (`CASE`, a `match`, an enum in a typed client) meet one that they do not "
    "know. `x-enum` is the list of all values that a column may have; dlt keeps it and checks nothing by it. "
    "Where others are gone at the same time, values may have been renamed: queries that ask for the old ones find no "
    "new row.",
    fix="Inform the readers, and let them handle values that they do not know, before a pipeline sends the new one.",
    find=find,
)
