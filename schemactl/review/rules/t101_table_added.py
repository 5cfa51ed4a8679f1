from schemactl.review.added_removed import Addition, added_tables
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import counted


def find(comparison: Comparison) -> Matches:
    """Yield each added table; its columns are not reported one by one."""
    for change in added_tables(comparison, Addition.PLAIN):
        table = change.table
        nested = f", nested in `{table.parent}`" if table.parent else ""
        yield Match.of(change, f"table `{table.name}` is new, with {counted(len(table.columns), 'column')}{nested}")


RULE = Rule(
    title="table added",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="Nobody reads or writes a table that was not there. dlt makes it with the next load. Where the schema's "
    "contract freezes `tables`, rule X703 reports that as well.",
    fix="Nothing has to be done.",
    find=find,
)
