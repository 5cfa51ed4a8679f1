from schemactl.review.contracts import broken_by_fields, states_contract
from schemactl.review.nested_fields import FieldChange, FieldEvent, type_label
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.contract import Entity
from schemactl.schema.judgment import Violation, judge


def find(comparison: Comparison) -> Matches:
    """Yield each change that dlt would not let data make; a renamed table, column or field is a new one."""
    base, head = comparison.base.schema, comparison.head.schema
    if not comparison.changes or not (states_contract(base) or states_contract(head)):
        return
    for violation in judge(base, head).violations:
        fields = broken_by_fields(comparison, violation)
        if fields is None:
            yield Match(
                sentence=_phrases(violation),
                table=violation.table,
                column=violation.column,
                before=violation.expected,
                after=violation.found,
            )
        else:
            yield from (field.match(_field_sentence(violation, field)) for field in fields)


def _field_sentence(violation: Violation, field: FieldChange) -> str:
    """Return the sentence of a field that is new, under a new name, or of another type."""
    rule = f"the contract `{violation.entity}: {violation.mode}` of `{violation.table}`"
    now = type_label(field.after) if field.after else None
    if field.event is FieldEvent.RETYPED and field.before:
        return f"{rule} holds `{field.name}` to `{type_label(field.before)}`, and it is `{now}` now"
    return f"{rule} lets no new field in, and `{field.name}` (`{now}`) is new"


def _phrases(violation: Violation) -> str:
    table, column = f"`{violation.table}`", f"`{violation.column}`"
    rule = f"the contract `{violation.entity}: {violation.mode}`"
    if violation.entity is Entity.TABLES:
        return f"{rule} lets no new table in, and {table} is new"
    if violation.entity is Entity.COLUMNS:
        return f"{rule} of {table} lets no new column in, and {column} (`{violation.found}`) is new"
    if violation.variant_of is not None:
        return (
            f"{rule} of {table} holds `{violation.variant_of}` to `{violation.expected}`, and the variant {column} "
            f"lets `{violation.found}` in"
        )
    return f"{rule} of {table} holds {column} to `{violation.expected}`, and it is `{violation.found}` now"


RULE = Rule(
    title="contract violated",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="The schema itself promises, by its `schema_contract`, that this does not happen. Data that asked for the "
    "change would be refused or dropped by dlt, so it counts whatever compatibility is asked for.",
    fix="Take the change back, or change the contract first, in a review of its own, where those who count on it can "
    "object. The contract of the base schema decides, so changing both at once does not help.",
    find=find,
    is_contract=True,
)
