from schemactl.review.keys import key_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import key, place


def find(comparison: Comparison) -> Matches:
    """Yield each table with another merge key."""
    for change in key_changes(comparison, "merge_key"):
        where, before, after = place(change.table), key(change.before), key(change.after)
        if not change.before:
            yield change.match(f"{where} has a merge key now: {after}")
        elif not change.after:
            yield change.match(f"{where} has no merge key any more; it was {before}")
        else:
            yield change.match(f"the merge key of {where} changes from {before} to {after}")


RULE = Rule(
    title="merge key changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt's merge deletes every stored row whose merge key is among the new rows before it inserts them. With "
    "another key the next load deletes other rows than before: too many, or none.",
    fix="Load the table anew with the new key, or write into a new table. Do not change the key of a table that goes "
    "on being merged.",
    find=find,
)
