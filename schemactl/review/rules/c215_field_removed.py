from schemactl.review.announcements import column_last_day
from schemactl.review.contracts import freezes_fields
from schemactl.review.last_day import is_expired
from schemactl.review.nested_fields import FieldEvent, field_changes, type_label
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each field that is gone; those inside of it are not reported as well."""
    for found in field_changes(comparison, FieldEvent.REMOVED):
        assert found.before is not None
        table = found.change.table
        until = column_last_day(comparison.base_table(table), found.name)
        if is_expired(until, comparison.today):
            notice = f", as announced: its last day was {until}"
            impact: Impact | None = Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN)  # of C205
        else:
            notice = f", though it was to stay until {until}" if until else ""
            impact = BREAKS_ALL if freezes_fields(comparison.head.schema, table) else None
        yield found.match(f"field {found.where} (`{type_label(found.before)}`) is gone{notice}", impact)


RULE = Rule(
    title="field removed inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A query that selects the field fails once it is dropped, and its values are lost. A pipeline that still sends "
    "the field makes it anew; where the contract freezes `data_type`, which fields count for, its loads fail. No load "
    "and no step of a migration drops a field, so until somebody does, it stays at the destination, and is null in "
    "new rows.",
    fix="Keep the field in `x-spark-type` (in the data, where dlt states `x-nested-type`) until nobody reads it any "
    "more. Announce its end with `x-removed-columns: {COLUMN.FIELD: DATE}` on the table (`lines[].price` in a list), "
    "where DATE is the last day on which it is there.",
    find=find,
)
