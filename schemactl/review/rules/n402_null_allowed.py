"""N402: a column may be null now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemactl.review.comparison import Comparison, is_stored
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import place, plain
from schemactl.schema.changes import NullabilityChanged

_NEVER_STORED: Final = Impact(readers=Severity.INFO, writers=Severity.INFO)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column that may be null, and might not before; nobody reads one that has no data type yet."""
    for change in comparison.of(NullabilityChanged):
        if not change.is_restated and change.before is False:
            column = comparison.base_column(change.table, change.column)
            yield Match(
                sentence=f"{place(change.table, change.column)} may be null now",
                table=change.table,
                column=change.column,
                keys=("tables", change.table, "columns", change.column, "nullable"),
                before=plain(change.before),
                after=plain(change.after),
                impact=None if column is None or is_stored(column) else _NEVER_STORED,
            )


RULE = Rule(
    id="N402",
    title="null allowed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers relied on a value in every row: joins drop rows with null, `count(column)` and averages change, and "
    "typed clients fail on the first null. dlt does not drop the `NOT NULL` of a destination's column, so loads of "
    "nulls fail there until it is migrated.",
    fix="Keep the column not nullable and have the pipeline send a value that says `unknown`. Or inform the readers, "
    "let them handle nulls, and only then allow them.",
    find=find,
)
