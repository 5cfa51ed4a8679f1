from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import advice
from schemactl.schema.changes import ColumnRenamed


def find(comparison: Comparison) -> Matches:
    """Yield each renamed column."""
    for change in comparison.of(ColumnRenamed):
        verb = "is" if change.is_stated else "seems to be"
        base = comparison.base_table(change.table)
        is_taken = base is not None and change.after in base.columns
        ending = f", and `{change.after}` was another column: queries on it read other values" if is_taken else ""
        yield Match.of(
            change,
            f"column `{change.before}` of `{change.table}` {verb} called `{change.after}` now{ending}",
            impact=BREAKS_ALL if is_taken else None,
            advice="" if change.is_stated else advice(change.before, change.after),
        )


RULE = Rule(
    title="column renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt knows no renames: it adds a column with the new name, null in all stored rows, and leaves the old one, "
    "null in all new rows. Queries on either name see half of the values, and pipelines that still send the old name "
    "fill the old column. Where columns swap their names, or one takes the name of another, no query fails and all "
    "read other values.",
    fix="Rename the column at the destination before the next load, and give readers a view or a generated column "
    "with the old name. State `x-renamed-from: OLD` on the column, so that nobody has to guess; where it is a new "
    "column, `x-renamed-from: []`.",
    find=find,
)
