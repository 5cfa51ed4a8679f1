"""T101: a table is new."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.added_removed import Addition, added_tables
from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import counted


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each added table; its columns are not reported one by one."""
    for change in added_tables(comparison, Addition.PLAIN):
        table = change.table
        nested = f", nested in `{table.parent}`" if table.parent else ""
        yield Match(
            sentence=f"table `{table.name}` is new, with {counted(len(table.columns), 'column')}{nested}",
            table=table.name,
            after=table.to_dict(),
        )


RULE = Rule(
    id="T101",
    title="table added",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Nobody reads or writes a table that was not there. dlt makes it with the next load. Where the schema's "
    "contract freezes `tables`, rule X703 reports that as well.",
    fix="Nothing has to be done.",
    find=find,
)
