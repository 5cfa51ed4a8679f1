"""N401: a column must not be null any more."""

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
    """Yield each column that may not be null any more; one without a data type has no rows yet (rule C211)."""
    for change in comparison.of(NullabilityChanged):
        if not change.is_restated and change.after is False:
            column = comparison.base_column(change.table, change.column)
            has_rows = column is None or is_stored(column)
            yield Match(
                sentence=f"{place(change.table, change.column)} must not be null any more",
                table=change.table,
                column=change.column,
                keys=("tables", change.table, "columns", change.column, "nullable"),
                before=plain(change.before),
                after=plain(change.after),
                impact=None if has_rows else _NEVER_STORED,
                question="null" if has_rows else None,
            )


RULE = Rule(
    id="N401",
    title="null forbidden",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="A pipeline that sends a null fails with `CannotCoerceNullException`. One that leaves the key out is not "
    "checked by dlt, which never alters the column of a destination: nulls go on arriving there until it is migrated. "
    "Rows with nulls that are stored already stand in the way of that.",
    fix="Count the nulls by giving the data (`--data`), fill them, and have every pipeline send a value. Forbid nulls "
    "only then.",
    find=find,
)
