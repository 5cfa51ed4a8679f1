from dataclasses import replace

from schemactl.review.hints import HintChange, extra_hints, has_rule, hint_match, is_unset
from schemactl.review.nested_fields import fields_of
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule
from schemactl.review.wording import from_to, quote_value
from schemactl.schema.arrow_types import NESTED_TYPE, describe
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.personal import is_protective


def find(comparison: Comparison) -> Matches:
    """Yield each hint of a table or column that is new, gone or another, and has no rule of its own."""
    for change in extra_hints(comparison):
        has_own_rule = has_rule(change.name) or is_protective(change.name)
        has_field_findings = isinstance(change, ColumnPropertyChanged) and fields_of(comparison, change)
        if not has_own_rule and not has_field_findings:
            stated = _readable(change)
            yield hint_match(stated, _phrases(stated))


def _readable(change: HintChange) -> HintChange:
    """Return a change of dlt's ``x-nested-type`` with the types in it, others as they are."""
    if change.name != NESTED_TYPE:
        return change
    before, after = (describe(each) if isinstance(each, str) else each for each in (change.before, change.after))
    return replace(change, before=before, after=after)


def _phrases(change: HintChange) -> str:
    if is_unset(change.after):
        return f"has lost the hint `{change.name}`, which was {quote_value(change.before)}"
    if is_unset(change.before):
        return f"has a new hint `{change.name}`: {quote_value(change.after)}"
    if change.before == change.after:
        return f"states the same type {quote_value(change.after)} with another text of `{change.name}`"
    return f"changes the hint `{change.name}` {from_to(change.before, change.after)}"


RULE = Rule(
    title="hint changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="dlt keeps hints that start with `x-` and hashes them. Only whoever reads them knows what they do: a "
    "destination (`x-bigquery-…`), a tool, or a person.",
    fix="Ask the owner of the hint. If nobody reads it, nothing has to be done.",
    find=find,
)
