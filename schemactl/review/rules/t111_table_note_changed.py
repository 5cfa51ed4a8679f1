from schemactl.review.hints import property_rule
from schemactl.review.rule import BREAKS_NOBODY, Direction, Rule
from schemactl.review.wording import from_to
from schemactl.schema.changes import TablePropertyChanged


def _sentence(change: TablePropertyChanged) -> str:
    sides = "" if change.name == "description" else f", {from_to(change.before, change.after)}"
    return f"`{change.name}` of `{change.table}` changed{sides}"


RULE = Rule(
    title="description or file format changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The description is for people, and the file format is that of the files between dlt and the destination. The "
    "table itself stays as it is.",
    fix="Nothing has to be done.",
    find=property_rule(TablePropertyChanged, "description", "file_format", says=_sentence),
)
