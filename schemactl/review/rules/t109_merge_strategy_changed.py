"""T109: rows are merged in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemactl.review.additions import base_table
from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import shown
from schemactl.schema.changes import TablePropertyChanged
from schemactl.schema.types import Table

STRATEGY: Final = "x-merge-strategy"
_DEFAULT: Final = "delete-insert"
_SCD2: Final = "scd2"

_OF_SCD2: Final = Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.WARN)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each table that merges by another strategy; to merge at all or no more is T108, unless by scd2."""
    changed = (change.table for change in comparison.of(TablePropertyChanged) if change.name in _TRIGGERS)
    for name in dict.fromkeys(changed):
        before = _strategy(base_table(comparison, name))
        after = _strategy(comparison.head.schema.tables.get(name))
        is_scd2 = _SCD2 in (before, after)
        if before == after or (None in (before, after) and not is_scd2):
            continue
        yield Match(
            sentence=f"rows of `{name}` are merged by {_named(after)} now, before by {_named(before)}",
            table=name,
            keys=("tables", name, STRATEGY),
            before=before,
            after=after,
            impact=_OF_SCD2 if is_scd2 else None,
        )


_TRIGGERS: Final = ("write_disposition", STRATEGY)


def _strategy(table: Table | None) -> str | None:
    """Return how rows are merged, None where they are not."""
    if table is None or table.properties.get("write_disposition") != "merge":
        return None
    return str(table.properties.get(STRATEGY) or _DEFAULT)


def _named(strategy: str | None) -> str:
    return shown(strategy) if strategy else "no strategy"


RULE = Rule(
    id="T109",
    title="merge strategy changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.NONE,
    why="Which stored rows the next load replaces, keeps or deletes is another matter under each strategy. `scd2` "
    "keeps every version of a row, with the columns `_dlt_valid_from` and `_dlt_valid_to`: queries that expect one "
    "row a key count some rows several times. Without it, the old versions stay among the current rows.",
    fix="Try the new strategy on a copy of the table. For `scd2`, give readers a view of the current rows (those "
    "whose `_dlt_valid_to` is null) under the old name.",
    find=find,
)
