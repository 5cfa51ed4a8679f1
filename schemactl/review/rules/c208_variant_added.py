from schemactl.review.added_removed import Addition, added_columns, variant_of
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import quote_value, typed


def find(comparison: Comparison) -> Matches:
    """Yield each added variant, by its mark or by its name."""
    for change in added_columns(comparison, Addition.VARIANT):
        of = variant_of(comparison, change)
        column = comparison.head_column(change.table, of) if of else None
        beside = f" beside `{of}` (which is {quote_value(column.properties.get('data_type'))})" if column else ""
        yield Match.of(change, f"variant {typed(change.column)} is new in `{change.table}`{beside}")


RULE = Rule(
    title="variant column added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.LOOSENS,
    why="Values came that do not fit the column's type. dlt puts them into a variant column and leaves the column "
    "null in those rows: queries on the column miss them without any error.",
    fix="Look at the values. Repair the source, or give the column a type that holds all of them and fold the "
    "variant in. With `schema_contract: {data_type: freeze}` such a load fails instead.",
    find=find,
)
