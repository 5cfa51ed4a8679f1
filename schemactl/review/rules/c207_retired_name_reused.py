from schemactl.review.added_removed import Addition, added_columns, added_tables
from schemactl.review.announcements import column_last_day, own_last_day
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import typed


def find(comparison: Comparison) -> Matches:
    """Yield each new column or table whose name the base schema has retired."""
    for added in added_tables(comparison, Addition.REVIVED):
        name = added.table.name
        since = own_last_day(comparison.base.schema, name)
        yield Match.of(added, f"table `{name}` is new, but the name is retired since {since}")
    for change in added_columns(comparison, Addition.REVIVED):
        column = change.column
        since = column_last_day(comparison.base_table(change.table), column.name)
        yield Match.of(
            change, f"column {typed(column)} is new in `{change.table}`, but the name is retired since {since}"
        )


RULE = Rule(
    title="retired name used again",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="The base schema names it in `x-removed-columns` or `x-removed-tables`. Where it was never dropped at the "
    "destination, dlt goes on with what is there: old values of another meaning, maybe of another type, stand beside "
    "the new ones. Old queries and pipelines take the new thing for the old.",
    fix="Choose another name. Where it truly is the old thing that comes back, take its name out of "
    "`x-removed-columns` or `x-removed-tables` first, in a change of its own.",
    find=find,
)
