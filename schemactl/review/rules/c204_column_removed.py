from schemactl.review.added_removed import Removal, removed_columns
from schemactl.review.announcements import column_last_day
from schemactl.review.comparison import is_stored
from schemactl.review.rule import (
    BREAKS_ALL,
    BREAKS_NOBODY,
    Comparison,
    Direction,
    Impact,
    Match,
    Matches,
    Rule,
    Severity,
)
from schemactl.schema.contract import Mode, contract_for


def find(comparison: Comparison) -> Matches:
    """Yield each column that was removed without notice, or before the end of its notice.

    One without a data type is in no table; a contract takes it for new when data brings it, stated or not.
    """
    for change in removed_columns(comparison, Removal.PLAIN):
        name, table = change.column.name, change.table
        announced = column_last_day(comparison.base_table(table), name)
        until = f", though it was to stay until {announced}" if announced else ""
        is_frozen = contract_for(comparison.head.schema, table).columns is Mode.FREEZE
        has_rows = is_stored(change.column)
        untyped = "" if has_rows else ", and never had a data type"
        yield Match.of(
            change,
            f"column `{name}` is gone from `{table}`{until}{untyped}",
            impact=(BREAKS_ALL if is_frozen else None) if has_rows else BREAKS_NOBODY,
        )


RULE = Rule(
    title="column removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A query that selects the column fails once it is dropped, and its values are lost. A pipeline that still "
    "sends the column makes it anew; where the contract freezes `columns`, its loads fail. dlt drops no column on its "
    "own, so until somebody does, it stays at the destination, and is null in new rows.",
    fix="Keep the column, nullable, until nobody reads it any more. Announce its end with "
    "`x-removed-columns: {COLUMN: DATE}` on the table, where DATE is the last day on which it is there; after that "
    "day its removal is rule C205.",
    find=find,
)
