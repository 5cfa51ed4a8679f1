from collections.abc import Mapping
from typing import Final

from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import Direction, Impact, Rule, Severity
from schemactl.schema.changes import ColumnPropertyChanged

_ROLES: Final[Mapping[str, str]] = {
    "dedup_sort": "the order in which duplicates are dropped (`dedup_sort`)",
    "hard_delete": "the mark of deleted rows (`hard_delete`)",
    "incremental": "the incremental cursor (`incremental`)",
}


def _phrases(change: ColumnPropertyChanged) -> str:
    role = _ROLES[change.name]
    if is_unset(change.after):
        return f"is no longer {role}"
    if is_unset(change.before):
        return f"is now {role}" + (f": `{change.after}`" if isinstance(change.after, str) else "")
    return f"changes {role} from `{change.before}` to `{change.after}`"


RULE = Rule(
    title="choice of rows changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="These hints decide which rows survive the next load: which of several duplicates dlt's merge keeps, which "
    "rows it deletes in the destination, and from where an incremental resource goes on. A wrong one loses rows or "
    "loads them twice, without an error.",
    fix="Try the change on a copy of the table. Load the table anew where a cursor changes, because the stored state "
    "belongs to the old one.",
    find=hint_rule(*_ROLES, says=_phrases),
)
