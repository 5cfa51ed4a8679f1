from schemactl.review.names import NamingChange, naming_changes, new_convention, new_names
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import listed


def find(comparison: Comparison) -> Matches:
    """Yield the change of convention, with the names that it changes."""
    for change in naming_changes(comparison):
        yield Match(
            sentence=f"the naming convention changes from `{change.before}` to `{change.after}`: "
            f"{_effect(comparison, change)}",
            keys=("normalizers", "names"),
            before=change.before,
            after=change.after,
        )


def _effect(comparison: Comparison, change: NamingChange) -> str:
    naming = new_convention(change)
    if naming is None:
        return "it is not installed here, so nobody knows which names change"
    old = [f"{table}.{column}" if column else table for table, column, _ in new_names(comparison, naming)]
    return f"{listed(old)} would get other names" if old else "no name changes by it"


RULE = Rule(
    title="naming convention changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt names every table and column anew. Where a table has received data (`seen-data`) it raises "
    "`TableIdentifiersFrozen` instead, even if no name changes. Names that do change are new tables and columns in "
    "the destination; the old ones stay there with the old rows.",
    fix="Keep the convention of a schema that has data. For another one, start a new schema and dataset, load it anew, "
    "and move the readers over.",
    find=find,
)
