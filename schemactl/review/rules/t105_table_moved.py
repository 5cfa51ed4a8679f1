from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import plain
from schemactl.schema.changes import TablePropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each table whose parent is another; a parent's new name alone is no such change."""
    for change in comparison.of(TablePropertyChanged, "parent"):
        before, after = plain(change.before) or None, plain(change.after) or None
        if before != after:
            yield Match.of(
                change,
                f"table `{change.table}` {_place(after)} now; before, it {_place(before, 'was')}",
                before=before,
                after=after,
            )


def _place(parent: str | None, verb: str = "is") -> str:
    return f"{verb} nested in `{parent}`" if parent else f"{verb} a root table"


RULE = Rule(
    title="table moved",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`_dlt_parent_id` of the stored rows points into the old parent, so joins along the new one find nothing. A "
    "pipeline whose schema has the old parent stops with `TablePropertiesConflictException`.",
    fix="Make a new table for the new place, load it from the source again, and remove the old one when nobody reads "
    "it any more.",
    find=find,
)
