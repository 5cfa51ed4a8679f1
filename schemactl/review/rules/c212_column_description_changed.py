from schemactl.review.hints import property_rule
from schemactl.review.rule import BREAKS_NOBODY, Direction, Rule
from schemactl.schema.changes import ColumnPropertyChanged

RULE = Rule(
    title="column description changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The description is for people; it is part of dlt's hash, so the version counts on. A new description may "
    "report that the meaning of the values is another, which no rule can see.",
    fix="Nothing has to be done, if the values still mean the same. If they do not, use a new column.",
    find=property_rule(
        ColumnPropertyChanged,
        "description",
        says=lambda change: f"the description of column `{change.column}` of `{change.table}` changed",
    ),
)
