from schemactl.review.added_removed import Removal, removed_tables
from schemactl.review.announcements import table_last_day
from schemactl.review.comparison import is_stored
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import counted
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Table


def find(comparison: Comparison) -> Matches:
    """Yield each table that was removed without notice, or before the end of its notice.

    One whose columns have no data type is in no destination. dlt's own tables are the dataset's: where a whole schema
    goes, the others of the dataset keep them.
    """
    for change in removed_tables(comparison, Removal.PLAIN):
        table = change.table
        last_day = table_last_day(comparison.base.schema, table.name)
        until = f", though it was to stay until {last_day}" if last_day else ""
        yield Match.of(
            change,
            f"table `{table.name}` with {counted(len(table.columns), 'column')} is gone{until}",
            impact=None if _is_missed(comparison, table) else BREAKS_NOBODY,
        )


def _is_missed(comparison: Comparison, table: Table) -> bool:
    if not comparison.head.schema.tables and table.name.startswith(system_prefix(naming_of(comparison.base.schema))):
        return False
    return any(map(is_stored, table.columns.values()))


RULE = Rule(
    title="table removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="Queries that select from the table fail once it is dropped, and its rows are lost. A pipeline that still "
    "sends the data makes the table anew. dlt drops no table on its own, so until somebody does, the table stays at "
    "the destination, and gets no new rows.",
    fix="Keep the table until nobody reads it. Announce its end with `x-removed-tables: {TABLE: DATE}` at the top of "
    "the schema, where DATE is the last day on which it is there; after that day its removal is rule T103. (dlt "
    "leaves out `x-` keys at the top when it exports a schema: keep the announcement in the import schema.)",
    find=find,
)
