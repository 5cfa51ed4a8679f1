from schemactl.review.names import columns_newly_named, tables_newly_named, warehouses_reserving
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column with such a name."""
    for table in tables_newly_named(comparison):
        yield from _match(table, None)
    for table, column in columns_newly_named(comparison):
        yield from _match(table, column)


def _match(table: str, column: str | None) -> Matches:
    name = table if column is None else column
    warehouses = warehouses_reserving(name)
    if warehouses:
        yield Match(
            sentence=f"{place(table, column)} is a reserved word in {', '.join(warehouses)}",
            table=table,
            column=column,
            after=name,
        )


RULE = Rule(
    title="reserved word",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.NONE,
    why="dlt and schemactl quote all names, so loads go on. A query that names it without quotes is refused, or means "
    "something else: `SELECT user FROM orders` is the name of the session's user in PostgreSQL. Looked at are "
    "BigQuery, Databricks, DuckDB, PostgreSQL, Redshift and Snowflake, whichever of them is in use.",
    fix="Choose another name while nobody reads it: `order_no` for `order`. Else inform the readers to quote it.",
    find=find,
)
