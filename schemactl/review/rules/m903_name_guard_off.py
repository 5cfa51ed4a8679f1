from typing import Final

from schemactl.review.hints import is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.changes import NormalizerChanged

_FLAG: Final = "allow_identifier_change_on_table_with_data"


def find(comparison: Comparison) -> Matches:
    """Yield the flag where it is set and was not."""
    for change in comparison.of(NormalizerChanged, _FLAG):
        if is_unset(change.before) and not is_unset(change.after):
            yield Match.of(change, f"`{_FLAG}` is set: tables with data may get other names")


RULE = Rule(
    title="guard of names switched off",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.LOOSENS,
    why="With this flag dlt no longer raises `TableIdentifiersFrozen` when the naming convention of a schema with data "
    "changes: it goes on under the new names, and the old tables stay behind with the old rows. dlt stores the flag "
    "in the schema, where it stays.",
    fix="Set it only for the one change that needs it, and take it out of the schema afterwards.",
    find=find,
)
