from typing import Final

from schemactl.review.keys import key_changes
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Matches, Rule
from schemactl.review.wording import key, place

_LINKS: Final = (("row_key", "row key"), ("parent_key", "parent key"), ("root_key", "root key"))


def find(comparison: Comparison) -> Matches:
    """Yield each table with another row key, parent key or root key."""
    for hint, name in _LINKS:
        for change in key_changes(comparison, hint):
            before, after = (key(side) if side else "nothing" for side in (change.before, change.after))
            yield change.match(f"the {name} of {place(change.table)} changes from {before} to {after}")


RULE = Rule(
    title="links between nested rows changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt fills these columns itself, and nested tables are joined to their parents by them. Rows that are stored "
    "already keep the old links, so joins lose them, and dlt's merge deletes nested rows by the root key.",
    fix="Leave these hints to dlt. If they have to change, load the table and all tables nested in it anew.",
    find=find,
)
