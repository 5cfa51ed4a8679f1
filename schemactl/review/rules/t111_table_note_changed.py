"""T111: a property of a table changed that no reader or writer sees."""

from typing import Final

from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import plain, shown
from schemactl.schema.changes import TablePropertyChanged

_PROPERTIES: Final = ("description", "file_format")


def find(comparison: Comparison) -> Matches:
    """Yield each change of a table's description or file format."""
    for change in comparison.of(TablePropertyChanged):
        before, after = plain(change.before), plain(change.after)
        if change.name in _PROPERTIES and before != after:
            phrase = "" if change.name == "description" else f", from {shown(before)} to {shown(after)}"
            yield Match.of(change, f"`{change.name}` of `{change.table}` changed{phrase}")


RULE = Rule(
    id="T111",
    title="description or file format changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The description is for people, and the file format is that of the files between dlt and the destination. The "
    "table itself stays as it is.",
    fix="Nothing has to be done.",
    find=find,
)
