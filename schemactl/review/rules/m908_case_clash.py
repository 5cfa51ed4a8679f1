from collections.abc import Iterable, Mapping, Sequence

from schemactl.review.names import columns_newly_named, tables_newly_named
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column whose name another one has in another case."""
    tables = comparison.head.schema.tables
    of_tables = _by_case(sorted(tables))
    of_columns: dict[str, Mapping[str, Sequence[str]]] = {}
    for table in tables_newly_named(comparison):
        if other := _other(table, of_tables):
            yield Match(sentence=f"table `{table}` differs from `{other}` in case alone", table=table, after=other)
    for table, column in columns_newly_named(comparison):
        if table not in of_columns:
            of_columns[table] = _by_case(tables[table].columns)
        if other := _other(column, of_columns[table]):
            yield Match(
                sentence=f"{place(table, column)} differs from `{other}` in case alone",
                table=table,
                column=column,
                after=other,
            )


def _by_case(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.casefold(), []).append(name)
    return found


def _other(name: str, by_case: Mapping[str, Sequence[str]]) -> str | None:
    return next((each for each in by_case[name.casefold()] if each != name), None)


RULE = Rule(
    title="names that differ in case alone",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.NONE,
    why="BigQuery, Databricks, DuckDB and Redshift take both for one name, and refuse the table or the query. "
    "Snowflake and PostgreSQL distinguish them only where every query quotes them. dlt's naming conventions fold case, "
    "except `direct`, `duck_case` and those whose names end in `_cs_v1`.",
    fix="Give one of the two another name, or use a naming convention that folds case (`snake_case`, `sql_ci_v1`).",
    find=find,
)
