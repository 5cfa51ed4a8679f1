"""T110: a table is stored in another format."""

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import plain, shown
from schemactl.schema.changes import TablePropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each table with another ``table_format``."""
    for change in comparison.of(TablePropertyChanged):
        if change.name == "table_format" and plain(change.before) != plain(change.after):
            yield Match.of(
                change, f"`table_format` of `{change.table}` goes from {shown(change.before)} to {shown(change.after)}"
            )


RULE = Rule(
    id="T110",
    title="table format changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR),
    direction=Direction.NONE,
    why="dlt does not convert a stored table. The next load meets a table in the old format and fails, or starts a "
    "new one without the rows and the snapshots of the old. Readers may need another engine or connector.",
    fix="Copy the table into the new format under a new name, move the readers, and change the schema then.",
    find=find,
)
