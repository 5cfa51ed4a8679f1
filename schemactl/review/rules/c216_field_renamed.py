from schemactl.review.nested_fields import FieldEvent, field_changes
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each field that seems to be called otherwise; a guess that is made as with columns."""
    for found in field_changes(comparison, FieldEvent.RENAMED):
        new = found.path[-1]
        yield found.match(f"field {found.old_where} seems to be called `{new}` now")


RULE = Rule(
    title="field renamed inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="No load and no step of a migration knows such renames: the new field is added, null in all stored rows, and "
    "the old one stays, null in all new rows. Queries on either name see half of the values, and pipelines that still "
    "send the old name make that field anew. Both have the same type and much the same name; where they are two "
    "things, the one is gone (C215) and the other new (C214).",
    fix="Keep the old field beside the new one until nobody reads it, or load the table anew. Give readers a view that "
    "takes whichever of the two is not null.",
    find=find,
)
