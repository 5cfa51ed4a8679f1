from schemactl.review.keys import key_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import key, place


def find(comparison: Comparison) -> Matches:
    """Yield each table whose primary key has more columns, and all it had before."""
    for change in key_changes(comparison, "primary_key"):
        if change.removed:
            continue
        if change.before:
            grown = f"grows from {key(change.before)} to {key(change.after)}"
            yield change.match(f"the primary key of {place(change.table)} {grown}")
        else:
            yield change.match(f"{place(change.table)} has a primary key now: {key(change.after)}")


RULE = Rule(
    title="primary key extended",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="With the write disposition `merge`, dlt deletes and inserts by the whole key: rows that replaced each other "
    "before stand side by side now, and readers that join by the old key get several rows. A first key replaces rows "
    "that were kept before. Key columns must not be null.",
    fix="Make sure that every pipeline sends all columns of the key and that stored rows have values in them. Load the "
    "table anew, or remove duplicates by the new key, in the same release.",
    find=find,
)
