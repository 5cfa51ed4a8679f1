from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule
from schemactl.schema.changes import ColumnAdded, ColumnsReordered


def find(comparison: Comparison) -> Matches:
    """Yield each table whose columns stand in another order among each other; where a new one stands says nothing."""
    added = {(change.table, change.column.name) for change in comparison.of(ColumnAdded)}
    for change in comparison.of(ColumnsReordered):
        before, after = (
            tuple(name for name in order if (change.table, name) not in added)
            for order in (change.before, change.after)
        )
        if before != after:
            places = enumerate(zip(before, after, strict=True), 1)
            moved = next(f"number {at} is `{new}`, no longer `{old}`" for at, (old, new) in places if old != new)
            sentence = f"the columns of `{change.table}` stand in another order: {moved}"
            yield Match.of(change, sentence, before=list(before), after=list(after))


RULE = Rule(
    title="columns reordered",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="The order of columns is part of dlt's hash, so the version counts on. Queries that name their columns do "
    "not notice. A table that is there already keeps its order, a table that is made anew has the new one: then "
    "`SELECT *` and `INSERT ... SELECT *` by position meet other columns.",
    fix="Name the columns in queries that depend on their order.",
    find=find,
)
