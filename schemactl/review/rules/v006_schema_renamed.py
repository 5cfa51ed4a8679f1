from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.renames import is_related


def find(comparison: Comparison) -> Matches:
    """Yield a match where the name at the top changed; not where one schema stands in the place of another."""
    for change in comparison.of(HeaderChanged, "name"):
        if is_related(comparison.base.schema, comparison.head.schema):
            yield Match.of(change, f"the schema `{change.before}` is called `{change.after}` now")


RULE = Rule(
    title="schema renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt cannot rename a schema: a new name is a new schema with a history of its own, in many set-ups with a "
    "dataset of its own. Readers of the old dataset get no new rows, and pipelines start without the state they had.",
    fix="Keep the name. Where it has to change, load into both for a while, and move the readers before the old "
    "schema is dropped.",
    find=find,
)
