"""C211: a column that had hints only has a data type now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemactl.review.added_removed import BACKFILL
from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import plain
from schemactl.schema.changes import ColumnRetyped

_WHERE_REQUIRED: Final = Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR)
_WHERE_BACKFILLED: Final = Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.WARN)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column that got its first data type; dlt adds it to the table now, so it may be required."""
    for change in comparison.of(ColumnRetyped):
        data_type = plain(change.after.get("data_type"))
        if plain(change.before.get("data_type")) is not None or data_type is None:
            continue
        impact = _impact(comparison, change)
        required = ", and may not be null" if impact else ""
        yield Match(
            sentence=f"column `{change.column}` of `{change.table}` has a data type now, `{data_type}`{required}",
            table=change.table,
            column=change.column,
            keys=("tables", change.table, "columns", change.column, "data_type"),
            before=dict(change.before),
            after=dict(change.after),
            impact=impact,
        )


def _impact(comparison: Comparison, change: ColumnRetyped) -> Impact | None:
    """Return what a required column does to a table that has rows."""
    column = comparison.head.schema.tables[change.table].columns[change.column]
    if column.nullable or not comparison.has_stored_rows(change.table):
        return None
    return _WHERE_REQUIRED if column.properties.get(BACKFILL) is None else _WHERE_BACKFILLED


RULE = Rule(
    id="C211",
    title="column completed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="dlt does not make a column without a data type at the destination. With one it does, with the next load: "
    "stored rows get nulls, and where the column may not be null most databases refuse it on a table with rows.",
    fix="Nothing has to be done for a nullable column. Make a required one nullable first, and forbid nulls when all "
    "rows have a value.",
    find=find,
)
