from typing import Final

from schemactl.review.keys import STRATEGY, merge_strategy
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import quote_value
from schemactl.schema.changes import TablePropertyChanged
from schemactl.schema.dispositions import Strategy
from schemactl.schema.types import Table

_OF_SCD2: Final = Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.WARN)
_LACKS_KEY: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.WARN)


def find(comparison: Comparison) -> Matches:
    """Yield each table that merges by another strategy; to merge at all or no more is T108, unless by another one."""
    changed = (change.table for change in comparison.of(TablePropertyChanged, "write_disposition", STRATEGY))
    for name in dict.fromkeys(changed):
        head = comparison.head.schema.tables.get(name)
        before, after = merge_strategy(comparison.base_table(name)), merge_strategy(head)
        is_special = Strategy.SCD2 in (before, after) or after in (Strategy.INSERT_ONLY, Strategy.UPSERT)
        if before == after or (None in (before, after) and not is_special):
            continue
        phrase, impact = _effect(before, after, head)
        yield Match(
            sentence=f"rows of `{name}` are merged by {_named(after)} now, before by {_named(before)}{phrase}",
            table=name,
            keys=("tables", name, STRATEGY),
            before=before,
            after=after,
            impact=impact,
        )


def _effect(before: str | None, after: str | None, head: Table | None) -> tuple[str, Impact | None]:
    has_key = head is None or any(column.properties.get("primary_key") for column in head.columns.values())
    if after in (Strategy.INSERT_ONLY, Strategy.UPSERT) and not has_key:
        return ", which needs a primary key, and there is none", _LACKS_KEY
    if Strategy.SCD2 in (before, after):
        return "", _OF_SCD2
    if after == Strategy.INSERT_ONLY:
        return ": rows that changed keep their old values", _OF_SCD2
    return "", None


def _named(strategy: str | None) -> str:
    return quote_value(strategy) if strategy else "no strategy"


RULE = Rule(
    title="merge strategy changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.NONE,
    why="Which stored rows the next load replaces, keeps or deletes is another matter under each strategy. `scd2` "
    "keeps every version of a row, with the columns `_dlt_valid_from` and `_dlt_valid_to`: queries that expect one "
    "row a key count some rows several times. Without it, the old versions stay among the current rows. `insert-only` "
    "leaves stored rows as they are, so readers see old values. `upsert` and `insert-only` fail without a primary key.",
    fix="Try the new strategy on a copy of the table. For `scd2`, give readers a view of the current rows (those "
    "whose `_dlt_valid_to` is null) under the old name.",
    find=find,
)
