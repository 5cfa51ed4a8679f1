"""M908: two names differ in case alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.new_names import columns_newly_named, tables_newly_named
from schemactl.review.places import place
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each new or renamed table and column whose name another one has in another case."""
    tables = comparison.head.schema.tables
    for table in tables_newly_named(comparison):
        if other := _other(table, sorted(tables)):
            yield Match(
                sentence=f"table `{table}` differs from `{other}` in case alone",
                table=table,
                keys=("tables", table),
                after=other,
            )
    for table, column in columns_newly_named(comparison):
        if other := _other(column, tables[table].columns):
            yield Match(
                sentence=f"{place(table, column)} differs from `{other}` in case alone",
                table=table,
                column=column,
                keys=("tables", table, "columns", column),
                after=other,
            )


def _other(name: str, names: Iterable[str]) -> str | None:
    return next((each for each in names if each != name and each.casefold() == name.casefold()), None)


RULE = Rule(
    id="M908",
    title="names that differ in case alone",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.NONE,
    why="BigQuery, Databricks, DuckDB and Redshift take both for one name, and refuse the table or the query. "
    "Snowflake and PostgreSQL tell them apart only where every query quotes them. dlt's naming conventions fold case, "
    "except `direct`, `duck_case` and those whose names end in `_cs_v1`.",
    fix="Give one of the two another name, or use a naming convention that folds case (`snake_case`, `sql_ci_v1`).",
    find=find,
)
