from schemactl.review.hints import property_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity
from schemactl.review.wording import from_to
from schemactl.schema.changes import TablePropertyChanged

RULE = Rule(
    title="table format changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR),
    direction=Direction.NONE,
    why="dlt does not convert a stored table. The next load meets a table in the old format and fails, or starts a "
    "new one without the rows and the snapshots of the old. Readers may need another engine or connector.",
    fix="Copy the table into the new format under a new name, move the readers, and change the schema then.",
    find=property_rule(
        TablePropertyChanged,
        "table_format",
        says=lambda change: f"`table_format` of `{change.table}` goes {from_to(change.before, change.after)}",
    ),
)
