from schemactl.review.keys import key_changes
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import key, place


def find(comparison: Comparison) -> Matches:
    """Yield each table whose primary key is gone or lacks columns that it had; others may have come in their place."""
    for change in key_changes(comparison, "primary_key"):
        verb, sides = "changes" if change.added else "shrinks", f"from {key(change.before)} to {key(change.after)}"
        if not change.after:
            yield change.match(f"{place(change.table)} has no primary key any more; it was {key(change.before)}")
        elif change.removed:
            sentence = f"the primary key of {place(change.table)} {verb} {sides}"
            yield change.match(sentence, impact=BREAKS_ALL if change.added else None)


RULE = Rule(
    title="primary key reduced",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="With a smaller key, dlt's merge takes rows for equal that were not, and the next load deletes all but one of "
    "them. Without a key, merge appends: the same row is stored again at every load, and readers that join by the key "
    "get duplicates.",
    fix="Keep the key. If it has to change, write into a new table with the new key and move readers over.",
    find=find,
)
