from schemactl.review.added_removed import Removal, removed_columns, variant_of
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import quote_value, typed


def find(comparison: Comparison) -> Matches:
    """Yield each removed variant at the column that has to hold its values."""
    for change in removed_columns(comparison, Removal.FOLDED):
        of = variant_of(comparison, change)
        column = comparison.head_column(change.table, of) if of else None
        if column is not None:
            yield Match(
                sentence=f"variant {typed(change.column)} is gone from `{change.table}`: `{of}` "
                f"({quote_value(column.properties.get('data_type'))}) has to hold its values",
                table=change.table,
                column=of,
                before=change.column.to_dict(),
                after=column.to_dict(),
                question="type",
            )


RULE = Rule(
    title="variant column folded in",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="Queries that read the variant, for example with `coalesce`, fail once it is dropped. Its values are lost "
    "unless they are copied into the column first, and they are copied only as far as they fit its type. A pipeline "
    "that meets such a value again makes the variant anew.",
    fix="Count the values against the column's type (`--data`). Copy them into the column at the destination "
    "before the variant is dropped, and give the column a type that holds them all.",
    find=find,
)
