from dataclasses import replace

from schemactl.review.contracts import freezes_fields
from schemactl.review.nested_fields import FieldEvent, field_changes, type_label
from schemactl.review.retypes import accepts_values, impact_of, value_effect
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each field that is there before and after, of another type."""
    for found in field_changes(comparison, FieldEvent.RETYPED):
        before, after = found.before, found.after
        assert before is not None
        assert after is not None
        kind, impact = value_effect(before, after), impact_of(before, after)
        if freezes_fields(comparison.head.schema, found.change.table) and not accepts_values(before, after):
            impact = replace(impact, writers=Severity.ERROR)
        types = f"from `{type_label(before)}` to `{type_label(after)}`"
        yield found.match(f"{found.where} changes {types}: {kind.phrase}", impact, "field" if kind.is_open else None)


RULE = Rule(
    title="field retyped inside a column",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Queries and programs see another type. No step of a migration changes a type inside a column: where the "
    "destination has the old one, loads are refused that do not fit it. How bad it is for the values is as with a "
    "column of its own that changes so (D301 to D311). Where the contract freezes `data_type`, pipelines fail that "
    "still send the old type.",
    fix="Add a field of another name with the new type, and keep the old one until nobody reads it. Or load the "
    "table anew. Where the values decide, count those that do not fit by giving the data (`--data`).",
    find=find,
)
