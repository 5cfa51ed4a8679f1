from typing import Final

from schemactl.review.keys import reordered_keys
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule
from schemactl.review.wording import key, place

_KEYS: Final = (("primary_key", "primary key"), ("merge_key", "merge key"))


def find(comparison: Comparison) -> Matches:
    """Yield each composite key whose columns are the same in another order."""
    for hint, name in _KEYS:
        for change in reordered_keys(comparison, hint):
            yield change.match(f"the {name} of {place(change.table)} is {key(change.after)} now, in another order")


RULE = Rule(
    title="key order changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="A key is a set: dlt merges by all of its columns, in whatever order. Only an index that a destination makes "
    "of the key may serve other queries than before.",
    fix="Nothing has to be done. To keep the order, keep the columns of the table in their order.",
    find=find,
)
